package org.gorda.jgcs.ratis;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.ratis.proto.RaftProtos.RaftClientRequestProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.thirdparty.io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import org.apache.ratis.thirdparty.io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import org.apache.ratis.thirdparty.io.grpc.Metadata;
import org.apache.ratis.thirdparty.io.grpc.ServerCall;
import org.apache.ratis.thirdparty.io.grpc.ServerCallHandler;
import org.apache.ratis.thirdparty.io.grpc.ServerInterceptor;
import org.apache.ratis.thirdparty.io.grpc.Status;
import org.gorda.jgcs.MemberId;

/**
 * Loses and keeps back what one member sends to another: at the receiver what it asks, at the sender what it answers. A call that has lost
 * something is broken once its link is mended, as a connection is. What our own service tells beside Ratis always arrives. Thread-safe.
 */
final class FaultyLinks {

    private record Link(MemberId from, MemberId to) {}

    private final Set<Link> cut = new HashSet<>();
    private final Set<ServerCall<?, ?>> broken = new HashSet<>();
    private final Map<Link, List<Runnable>> held = new HashMap<>();
    private final Map<Long, MemberId> clients = new ConcurrentHashMap<>();

    /** What a member's server is to have around it. */
    ServerInterceptor at(MemberId self) {
        return new ServerInterceptor() {
            @Override
            public <Q, A> ServerCall.Listener<Q> interceptCall(
                    ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
                MemberId[] asker = {null};
                ServerCall<Q, A> answers = new SimpleForwardingServerCall<>(call) {
                    @Override
                    public void sendMessage(A answer) {
                        pass(call, self, asker[0], () -> super.sendMessage(answer));
                    }
                };
                return new SimpleForwardingServerCallListener<>(next.startCall(answers, headers)) {
                    @Override
                    public void onMessage(Q message) {
                        asker[0] = asker(message);
                        pass(call, asker[0], self, () -> super.onMessage(message));
                    }
                };
            }
        };
    }

    /** The clients of a run are told apart by its directory. */
    void client(MemberId member, long admission) {
        String name = member + "/" + admission;
        clients.put(
                UUID.nameUUIDFromBytes(name.getBytes(StandardCharsets.UTF_8)).getMostSignificantBits(), member);
    }

    private MemberId asker(Object message) {
        if (message instanceof RaftClientRequestProto client) {
            ByteBuffer id = client.getRpcRequest().getRequestorId().asReadOnlyByteBuffer();
            return clients.get(id.getLong());
        }
        RaftRpcRequestProto request = Peers.request(message);
        return request == null ? null : Peers.member(RaftPeerId.valueOf(request.getRequestorId()));
    }

    private void pass(ServerCall<?, ?> call, MemberId from, MemberId to, Runnable message) {
        if (from != null && to != null && !from.equals(to)) {
            synchronized (this) {
                Link link = new Link(from, to);
                if (cut.contains(link)) {
                    broken.add(call);
                    return;
                }
                List<Runnable> waiting = held.get(link);
                if (waiting != null) {
                    waiting.add(message);
                    return;
                }
            }
        }
        message.run();
    }

    synchronized void cut(MemberId from, MemberId to) {
        cut.add(new Link(from, to));
    }

    synchronized void hold(MemberId from, MemberId to) {
        held.putIfAbsent(new Link(from, to), new ArrayList<>());
    }

    void release(MemberId from, MemberId to) {
        List<Runnable> waiting;
        synchronized (this) {
            waiting = held.remove(new Link(from, to));
        }
        if (waiting != null) {
            waiting.forEach(FaultyLinks::late);
        }
    }

    /** It is too late if the call has ended meanwhile. */
    private static void late(Runnable message) {
        try {
            message.run();
        } catch (IllegalStateException e) {
            assertThat(e).hasMessageContaining("call");
        }
    }

    void heal() {
        List<Link> links;
        List<ServerCall<?, ?>> calls;
        synchronized (this) {
            cut.clear();
            links = List.copyOf(held.keySet());
            calls = List.copyOf(broken);
            broken.clear();
        }
        calls.forEach(call -> late(() -> call.close(Status.UNAVAILABLE, new Metadata())));
        links.forEach(link -> release(link.from(), link.to()));
    }
}
