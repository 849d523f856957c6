package org.gorda.replicator.engine;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.gorda.jgcs.DataSession;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.Protocol;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.raft.RaftProtocol;
import org.gorda.replicator.core.ReplicaMessage;

/** A toolkit for tests: {@code raft}, on whose way to the order a member's transactions can be held up, or for which there is no room. Thread-safe. */
public final class HeldSends implements Protocol {

    static final String NAME = "raft with held sends";

    private static final Map<MemberId, Sender> SENDERS = new ConcurrentHashMap<>();

    private final Protocol raft = new RaftProtocol();

    /** What the member sends by, which was opened last. */
    static Sender of(MemberId member) {
        return SENDERS.get(member);
    }

    @Override
    public String name() {
        return NAME;
    }

    @Override
    public Service offers(GroupConfiguration configuration) {
        return raft.offers(configuration);
    }

    @Override
    public Group open(GroupConfiguration configuration, Service required, GroupListener listener) {
        Group group = raft.open(configuration, required, listener);
        Sender sender = new Sender(group);
        SENDERS.put(group.self(), sender);
        return (Group) Proxy.newProxyInstance(
                HeldSends.class.getClassLoader(), new Class<?>[] {Group.class}, (self, method, arguments) -> {
                    try {
                        return method.getName().equals("data") ? sender : method.invoke(group, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    /** Sends at once, or later. */
    static final class Sender implements DataSession {

        private static final Duration WAIT = Duration.ofSeconds(10);

        private final Group group;
        private final List<ByteBuffer> held = new ArrayList<>();
        private boolean holds;
        private volatile boolean isFull;
        private final AtomicInteger turnedAway = new AtomicInteger();

        Sender(Group group) {
            this.group = group;
        }

        @Override
        public MessageId multicast(ByteBuffer payload, Duration wait) {
            boolean isCommit = ReplicaMessage.decode(payload) instanceof ReplicaMessage.Commit;
            if (isCommit && isFull) {
                turnedAway.incrementAndGet();
                LockSupport.parkNanos(wait.toNanos());
                throw new GroupException(GroupException.Disposition.RETRY, "no room");
            }
            return isCommit ? holdOrSend(payload, wait) : group.data().multicast(payload, wait);
        }

        private synchronized MessageId holdOrSend(ByteBuffer payload, Duration wait) {
            if (!holds) {
                return group.data().multicast(payload, wait);
            }
            held.add(payload);
            return new MessageId(group.self(), 0, held.size());
        }

        /** As if nothing of what was sent before were ordered. */
        void full(boolean value) {
            isFull = value;
        }

        /** So often there was no room. */
        int turnedAway() {
            return turnedAway.get();
        }

        synchronized void hold() {
            holds = true;
        }

        synchronized int held() {
            return held.size();
        }

        /** All that it holds, in the order in which it was sent. */
        synchronized void release() {
            holds = false;
            held.forEach(payload -> group.data().multicast(payload, WAIT));
            held.clear();
        }
    }
}
