package org.gorda.jgcs.ratis;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.EnumSet;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.apache.ratis.grpc.server.GrpcServices;
import org.apache.ratis.proto.RaftProtos.AppendEntriesRequestProto;
import org.apache.ratis.proto.RaftProtos.InstallSnapshotRequestProto;
import org.apache.ratis.proto.RaftProtos.RaftClientRequestProto;
import org.apache.ratis.proto.RaftProtos.RaftRpcRequestProto;
import org.apache.ratis.proto.RaftProtos.RequestVoteRequestProto;
import org.apache.ratis.proto.RaftProtos.StartLeaderElectionRequestProto;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.thirdparty.io.grpc.CallOptions;
import org.apache.ratis.thirdparty.io.grpc.ForwardingServerCall.SimpleForwardingServerCall;
import org.apache.ratis.thirdparty.io.grpc.ForwardingServerCallListener.SimpleForwardingServerCallListener;
import org.apache.ratis.thirdparty.io.grpc.ManagedChannel;
import org.apache.ratis.thirdparty.io.grpc.Metadata;
import org.apache.ratis.thirdparty.io.grpc.MethodDescriptor;
import org.apache.ratis.thirdparty.io.grpc.ServerCall;
import org.apache.ratis.thirdparty.io.grpc.ServerCallHandler;
import org.apache.ratis.thirdparty.io.grpc.ServerInterceptor;
import org.apache.ratis.thirdparty.io.grpc.ServerServiceDefinition;
import org.apache.ratis.thirdparty.io.grpc.Status;
import org.apache.ratis.thirdparty.io.grpc.netty.NettyChannelBuilder;
import org.apache.ratis.thirdparty.io.grpc.netty.NettyServerBuilder;
import org.apache.ratis.thirdparty.io.grpc.stub.ClientCalls;
import org.apache.ratis.thirdparty.io.grpc.stub.ServerCalls;
import org.apache.ratis.thirdparty.io.grpc.stub.StreamObserver;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.jspecify.annotations.Nullable;

/**
 * What members tell each other beside Ratis, by a service of its own on Ratis's server: who they are, and what their users send to one of
 * them alone. And what Ratis is not to hear or say: it is asked under the name of the directory it has, and says nothing any more once its
 * disk has failed, and is not asked by clients before it knows the group. Thread-safe.
 */
final class Peers implements GrpcServices.Customizer, ServerInterceptor, AutoCloseable {

    /** What a member says of itself. */
    record Hello(MemberId member, long admission, GroupId history, Map<MemberId, Long> founders) {

        private byte[] encode(String group) {
            byte[] text = String.join("\n", group, member.name(), Identity.text(founders))
                    .getBytes(StandardCharsets.UTF_8);
            ByteBuffer bytes = ByteBuffer.allocate(3 * Long.BYTES + text.length);
            bytes.putLong(admission).putLong(history.high()).putLong(history.low());
            return bytes.put(text).array();
        }

        /** Null if it is not of this group. */
        private static @Nullable Hello decode(byte[] encoded, String group) {
            ByteBuffer bytes = ByteBuffer.wrap(encoded);
            try {
                long admission = bytes.getLong();
                GroupId history = new GroupId(bytes.getLong(), bytes.getLong());
                String[] text = StandardCharsets.UTF_8.decode(bytes).toString().split("\n", -1);
                return text.length == 3 && text[0].equals(group)
                        ? new Hello(new MemberId(text[1]), admission, history, Identity.founders(text[2]))
                        : null;
            } catch (BufferUnderflowException | IllegalArgumentException | IndexOutOfBoundsException e) {
                return null;
            }
        }
    }

    /** Whom the service serves. */
    interface Host {

        Hello hello();

        void direct(MemberId from, ByteBuffer payload);

        /** Whether what Ratis would answer now may be untrue. */
        boolean isBroken();

        /** Whether Ratis knows the group here. */
        boolean isOpen();
    }

    private static final String SERVICE = "org.gorda.jgcs.ratis.Peers";
    private static final MethodDescriptor<byte[], byte[]> HELLO = method("Hello");
    private static final MethodDescriptor<byte[], byte[]> DIRECT = method("Direct");

    /** On their way to one member; what is more is lost. */
    private static final int DIRECT_BYTES_MAX = 8 << 20;

    private static final class Link {
        private final ManagedChannel channel;
        private final AtomicInteger bytes = new AtomicInteger();

        Link(ManagedChannel channel) {
            this.channel = channel;
        }
    }

    private final GroupConfiguration configuration;
    private final Optional<ServerInterceptor> outer;
    private final Host host;
    private final int frameBytesMax;
    private final Map<MemberId, Link> links = new ConcurrentHashMap<>();
    private volatile boolean closed;

    Peers(GroupConfiguration configuration, int frameBytesMax, Optional<ServerInterceptor> outer, Host host) {
        this.configuration = configuration;
        this.frameBytesMax = frameBytesMax;
        this.outer = outer;
        this.host = host;
    }

    /** Ratis's name for a member with this directory. */
    static RaftPeerId peerId(MemberId member, long admission) {
        return RaftPeerId.valueOf(member.name() + '/' + Long.toHexString(admission));
    }

    static MemberId member(RaftPeerId peer) {
        String name = peer.toString();
        return new MemberId(name.substring(0, name.lastIndexOf('/')));
    }

    // ------------------------------------------------------------------------------------------------------- serving

    @Override
    public NettyServerBuilder customize(NettyServerBuilder builder, EnumSet<GrpcServices.Type> types) {
        // The last one is asked first.
        builder.addService(service()).intercept(this);
        outer.ifPresent(builder::intercept);
        return builder;
    }

    private ServerServiceDefinition service() {
        return ServerServiceDefinition.builder(SERVICE)
                .addMethod(HELLO, ServerCalls.asyncUnaryCall((request, reply) -> {
                    reply.onNext(host.hello().encode(configuration.group()));
                    reply.onCompleted();
                }))
                .addMethod(DIRECT, ServerCalls.asyncUnaryCall((request, reply) -> {
                    ByteBuffer bytes = ByteBuffer.wrap(request);
                    byte[] name = new byte[Math.min(bytes.remaining(), bytes.get() & 0xff)];
                    bytes.get(name);
                    host.direct(new MemberId(new String(name, StandardCharsets.UTF_8)), bytes.slice());
                    reply.onNext(new byte[0]);
                    reply.onCompleted();
                }))
                .build();
    }

    @Override
    public <Q, A> ServerCall.Listener<Q> interceptCall(
            ServerCall<Q, A> call, Metadata headers, ServerCallHandler<Q, A> next) {
        ServerCall<Q, A> answers = new SimpleForwardingServerCall<>(call) {
            @Override
            public void sendMessage(A answer) {
                if (!host.isBroken()) {
                    super.sendMessage(answer);
                }
            }
        };
        return new SimpleForwardingServerCallListener<>(next.startCall(answers, headers)) {
            @Override
            public void onMessage(Q message) {
                RaftRpcRequestProto request = request(message);
                if (message instanceof RaftClientRequestProto && !host.isOpen()) {
                    // Ratis would say that there is no such group, after which a client takes nothing more; this has it
                    // try again.
                    call.close(Status.UNAVAILABLE.withDescription("this member looks for its group"), new Metadata());
                } else if (request == null || isForMe(request)) {
                    super.onMessage(message);
                } else {
                    call.close(Status.FAILED_PRECONDITION.withDescription("this is another directory"), new Metadata());
                }
            }
        };
    }

    private boolean isForMe(RaftRpcRequestProto request) {
        Hello self = host.hello();
        return RaftPeerId.valueOf(request.getReplyId()).equals(peerId(self.member(), self.admission()));
    }

    /** Who asks whom, null if one who does so is no other server. */
    static @Nullable RaftRpcRequestProto request(Object message) {
        if (message instanceof AppendEntriesRequestProto append) {
            return append.getServerRequest();
        } else if (message instanceof RequestVoteRequestProto vote) {
            return vote.getServerRequest();
        } else if (message instanceof InstallSnapshotRequestProto install) {
            return install.getServerRequest();
        } else if (message instanceof StartLeaderElectionRequestProto start) {
            return start.getServerRequest();
        }
        return null;
    }

    // -------------------------------------------------------------------------------------------------------- asking

    /** Asks who is there; fails soon if nobody is, or nobody of this group. */
    CompletableFuture<Hello> hello(MemberId member) {
        CompletableFuture<Hello> answer = new CompletableFuture<>();
        call(member, HELLO, new byte[0], new StreamObserver<>() {
            @Override
            public void onNext(byte[] reply) {
                Hello hello = Hello.decode(reply, configuration.group());
                if (hello != null && hello.member().equals(member)) {
                    answer.complete(hello);
                }
            }

            @Override
            public void onError(Throwable failure) {
                answer.completeExceptionally(failure);
            }

            @Override
            public void onCompleted() {
                answer.completeExceptionally(new IOException(member + " belongs to another group"));
            }
        });
        return answer;
    }

    /** Sends to one member, or does not if it takes less than is sent. */
    void direct(MemberId to, ByteBuffer payload) {
        byte[] name = configuration.self().name().getBytes(StandardCharsets.UTF_8);
        ByteBuffer bytes = ByteBuffer.allocate(1 + name.length + payload.remaining());
        bytes.put((byte) name.length).put(name).put(payload.duplicate());
        AtomicInteger onTheWay = link(to).bytes;
        int size = bytes.capacity();
        if (onTheWay.addAndGet(size) > Math.max(DIRECT_BYTES_MAX, size)) {
            onTheWay.addAndGet(-size);
            return;
        }
        call(to, DIRECT, bytes.array(), new StreamObserver<>() {
            @Override
            public void onNext(byte[] reply) {}

            @Override
            public void onError(Throwable failure) {
                onTheWay.addAndGet(-size);
            }

            @Override
            public void onCompleted() {
                onTheWay.addAndGet(-size);
            }
        });
    }

    private void call(
            MemberId to, MethodDescriptor<byte[], byte[]> method, byte[] request, StreamObserver<byte[]> observer) {
        CallOptions options = CallOptions.DEFAULT.withDeadlineAfter(
                2 * configuration.electionTimeout().toMillis(), TimeUnit.MILLISECONDS);
        ManagedChannel channel = link(to).channel;
        channel.resetConnectBackoff(); // who was away for long is not to be waited for when it is back
        ClientCalls.asyncUnaryCall(channel.newCall(method, options), request, observer);
    }

    private Link link(MemberId to) {
        Link link = links.computeIfAbsent(
                to,
                member -> new Link(NettyChannelBuilder.forAddress(member.host(), member.port())
                        .usePlaintext()
                        .maxInboundMessageSize(frameBytesMax)
                        .build()));
        if (closed) {
            link.channel.shutdownNow();
        }
        return link;
    }

    @Override
    public void close() {
        closed = true;
        links.values().forEach(link -> link.channel.shutdownNow());
    }

    private static MethodDescriptor<byte[], byte[]> method(String name) {
        return MethodDescriptor.<byte[], byte[]>newBuilder()
                .setType(MethodDescriptor.MethodType.UNARY)
                .setFullMethodName(MethodDescriptor.generateFullMethodName(SERVICE, name))
                .setRequestMarshaller(new Bytes())
                .setResponseMarshaller(new Bytes())
                .build();
    }

    private static final class Bytes implements MethodDescriptor.Marshaller<byte[]> {
        @Override
        public InputStream stream(byte[] bytes) {
            return new ByteArrayInputStream(bytes);
        }

        @Override
        public byte[] parse(InputStream stream) {
            try {
                return stream.readAllBytes();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }
}
