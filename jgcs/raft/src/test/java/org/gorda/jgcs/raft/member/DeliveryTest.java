package org.gorda.jgcs.raft.member;

import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.List;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.View;
import org.gorda.jgcs.raft.core.Checkpoint;
import org.gorda.jgcs.raft.core.Entry;
import org.jetbrains.lincheck.Lincheck;
import org.junit.jupiter.api.Test;

/** The delivery's thread beside the one that orders, in all orders that few switches between them make. */
class DeliveryTest {

    private static final MemberId SELF = new MemberId("a:1");

    /** Of whom the delivery asks only what does not change. */
    private static final Member MEMBER = new Member(
            GroupConfiguration.builder("bank", SELF, Path.of("unused"))
                    .members(List.of(SELF))
                    .build(),
            storage(List::of),
            new Outbox(100),
            bound -> 0,
            null);

    /** What is there to be read. */
    private interface Entries {
        List<Entry> now();
    }

    private static Storage storage(Entries log) {
        return (Storage) Proxy.newProxyInstance(
                Storage.class.getClassLoader(),
                new Class<?>[] {Storage.class},
                (proxy, method, arguments) -> switch (method.getName()) {
                    case "read" -> read(log.now(), (long) arguments[0], (long) arguments[1]);
                    case "checkpoint" -> Checkpoint.NONE;
                    case "admission" -> 1L;
                    case "equals" -> proxy == arguments[0]; // the model checker asks
                    case "hashCode" -> 1;
                    default -> throw new AssertionError(method);
                });
    }

    private static List<Entry> read(List<Entry> log, long from, long to) {
        int begin = (int) from - 1;
        int end = (int) Math.min(to, log.size());
        return begin < 0 || begin >= end ? List.of() : log.subList(begin, end);
    }

    private static Entry entry(long term, long index) {
        byte[] name = MessageHeader.nameOf(SELF);
        ByteBuffer payload = ByteBuffer.allocate(100);
        MessageHeader.write(payload, name, 7, index);
        return Entry.of(term, index, Entry.Kind.MESSAGE, payload.array());
    }

    private static final Entry FIRST = entry(1, 1);
    private static final Entry SECOND = entry(1, 2);
    private static final Entry OTHER_SECOND = entry(2, 2);

    /** A log whose second entry is replaced by another leader's, and what its user hears. */
    private static final class Replaced implements GroupListener {
        private volatile List<Entry> log = List.of(FIRST, SECOND);
        final Delivery delivery = new Delivery(storage(() -> log), MEMBER, new Outbox(100));
        private String heard = "";

        Replaced() {
            delivery.goAhead(true);
            delivery.join(Position.START);
            delivery.decided(1);
            delivery.held(2);
        }

        void order() {
            log = List.of(FIRST);
            delivery.truncated(2);
            log = List.of(FIRST, OTHER_SECOND);
            delivery.decided(2);
        }

        void deliver(int times) {
            for (int i = 0; i < times && delivery.hasWork(); i++) {
                delivery.deliver(this);
            }
        }

        @Override
        public void onMessage(Message message) {
            heard += message.position().index() + "/" + message.position().term() + " ";
        }

        @Override
        public void onGap(Position firstHeld, String reason) {
            heard += "gap";
        }

        @Override
        public void onCaughtUp(Position upTo) {}

        @Override
        public void onView(View view) {}

        @Override
        public void onStop(GroupException cause) {}
    }

    @Test
    void whoGoesAheadIsToldOfAGapIfWhatItHasHeardIsReplaced() {
        Lincheck.runConcurrentTest(300, () -> {
            Replaced group = new Replaced();
            Thread ordering = new Thread(group::order);
            ordering.start();
            group.deliver(3);
            try {
                ordering.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            group.deliver(10);
            switch (group.heard) {
                case "1/1 2/2 ", "1/1 2/1 gap", "1/1 gap", "gap" -> {}
                default -> throw new AssertionError("heard " + group.heard);
            }
        });
    }
}
