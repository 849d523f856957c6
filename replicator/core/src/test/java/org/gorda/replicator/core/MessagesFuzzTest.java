package org.gorda.replicator.core;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.lang.reflect.Proxy;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.gorda.gapi.Generator;
import org.gorda.gapi.GeneratorState;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.WriteSetWriter;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.Position;
import org.junit.jupiter.api.Test;

/** Whatever bytes are delivered or restored, they are what they should be or give a {@link MalformedMessageException}. */
class MessagesFuzzTest {

    private static final int RUNS = 40_000;

    /** The messages here are far shorter; an exception and its trace take some. */
    private static final long ALLOCATED_BYTES_MAX = 40 << 10;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final MemberId SELF = new MemberId("db1:7800");
    private static final TransactionId LARGE = new TransactionId(new SessionId(4, 5), 6);
    private static final TransactionId TRANSACTION = new TransactionId(new SessionId(1, 2), 3);

    private static final ReplicaMessage LEASE =
            new ReplicaMessage.Lease(3, 2, 100, new GeneratorState(new Generator(true, "S", "T"), 1, 1, 1, 1000));

    private static List<byte[]> messages() {
        List<byte[]> messages = new ArrayList<>();
        for (ReplicaMessage message : List.of(
                new ReplicaMessage.Primary(SELF, 5),
                new ReplicaMessage.Close(TRANSACTION, 6, 7),
                new ReplicaMessage.Abandon(TRANSACTION, new MessageId(SELF, 8, 9)),
                new ReplicaMessage.Verify(8, 3),
                new ReplicaMessage.Durable(SELF, 9),
                LEASE,
                new ReplicaMessage.SchemaTurn(TRANSACTION, true))) {
            messages.add(array(ReplicaMessage.encode(message)));
        }
        ByteBuffer commit = ByteBuffer.allocate(ReplicaMessage.WRITE_SET_HEADER_BYTES + 30);
        ReplicaMessage.putWriteSetHeader(commit, TRANSACTION, 4, 5, 5, 0);
        messages.add(commit.array());
        for (int number = 0; number < 3; number++) {
            ByteBuffer chunk = ByteBuffer.allocate(ReplicaMessage.CHUNK_HEADER_BYTES + 30);
            ReplicaMessage.putChunkHeader(chunk, LARGE, 10, 5, number, 6);
            messages.add(chunk.array());
        }
        return messages;
    }

    private static byte[] array(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.duplicate().get(bytes);
        return bytes;
    }

    private static Effects nothing() {
        return (Effects) Proxy.newProxyInstance(
                Effects.class.getClassLoader(), new Class<?>[] {Effects.class}, (proxy, method, arguments) -> null);
    }

    /** The state after some messages of each kind. */
    private static byte[] checkpoint() {
        ReplicaCore core = new ReplicaCore(SELF, 5, ReplicationProtocol.PRIMARY_BACKUP, nothing());
        long index = 10;
        for (byte[] message : messages()) {
            core.delivered(new Message(
                    new Position(new GroupId(1, 2), 1, index),
                    new MessageId(SELF, 1, index),
                    ByteBuffer.wrap(message)));
            index++;
        }
        return array(core.checkpoint());
    }

    /** The state of a group where every member executes, with keys to certify against. */
    private static byte[] certifyingCheckpoint() {
        WriteSetWriter out = new WriteSetWriter(ReplicaMessage.WRITE_SET_HEADER_BYTES, 1 << 20, Path.of("none"));
        out.insert(new TableShape("S", "T", List.of(), List.of()), 0);
        for (KeyMode mode : KeyMode.values()) {
            out.key(mode, 77);
            out.key(mode, KeyHasher.SCHEMA);
        }
        ByteBuffer commit = out.finish().precededBy(ReplicaMessage.WRITE_SET_HEADER_BYTES);
        ReplicaMessage.putWriteSetHeader(commit, TRANSACTION, 1, 1, 1, 0);
        ReplicaCore core = new ReplicaCore(SELF, 5, ReplicationProtocol.CERTIFICATION, nothing());
        long index = 1;
        for (ByteBuffer message : List.of(
                ReplicaMessage.encode(new ReplicaMessage.Begin(ReplicationProtocol.CERTIFICATION, FirstRows.NONE)),
                commit.rewind(),
                ReplicaMessage.encode(LEASE))) {
            core.delivered(
                    new Message(new Position(new GroupId(1, 2), 1, index), new MessageId(SELF, 1, index), message));
            index++;
        }
        byte[] state = array(core.checkpoint());
        assertThat(state)
                .hasSizeGreaterThan(
                        array(new ReplicaCore(SELF, 5, ReplicationProtocol.CERTIFICATION, nothing()).checkpoint())
                                        .length
                                + 60);
        return state;
    }

    private static byte[] mutate(byte[] valid, SplittableRandom random) {
        byte[] bytes = valid.clone();
        if (random.nextInt(4) == 0) {
            bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length + 9));
        }
        for (int changes = random.nextInt(4); changes > 0 && bytes.length > 0; changes--) {
            int at = random.nextInt(bytes.length);
            bytes[at] = (byte) (random.nextBoolean() ? random.nextInt() : -1);
            if (at + 4 < bytes.length && random.nextInt(4) == 0) {
                int[] extreme = {-1, Integer.MAX_VALUE, Integer.MIN_VALUE, 0xffff, bytes.length};
                ByteBuffer.wrap(bytes).putInt(at, extreme[random.nextInt(extreme.length)]);
            }
        }
        return bytes;
    }

    private static boolean decodes(byte[] bytes, Consumer<ByteBuffer> decoder, String how) {
        return decodes(bytes, decoder, how, true);
    }

    private static boolean decodes(byte[] bytes, Consumer<ByteBuffer> decoder, String how, boolean mayLoadClasses) {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        boolean taken;
        try {
            decoder.accept(ByteBuffer.wrap(bytes));
            taken = true;
        } catch (MalformedMessageException e) {
            taken = false;
        } catch (RuntimeException | Error e) {
            throw new AssertionError(how + ": " + Arrays.toString(bytes), e);
        }
        long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
        if (allocated > ALLOCATED_BYTES_MAX && mayLoadClasses) {
            return decodes(bytes, decoder, how, false);
        }
        if (allocated > ALLOCATED_BYTES_MAX) {
            throw new AssertionError(how + " allocates " + allocated + " bytes: " + Arrays.toString(bytes));
        }
        return taken;
    }

    private static void fuzz(List<byte[]> valid, Consumer<ByteBuffer> decoder) {
        for (byte[] bytes : valid) {
            assertThat(decodes(bytes, decoder, "valid")).isTrue();
            for (int length = 0; length < bytes.length; length++) {
                decodes(Arrays.copyOf(bytes, length), decoder, "cut at " + length);
            }
        }
        for (int seed = 0; seed < RUNS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            byte[] bytes = mutate(valid.get(seed % valid.size()), random);
            if (random.nextInt(20) == 0) {
                random.nextBytes(bytes);
            }
            decodes(bytes, decoder, "seed " + seed);
        }
    }

    @Test
    void aDeliveredMessageOfAnyBytesIsValidOrMalformed() {
        List<byte[]> messages = messages();
        messages.add(array(
                ReplicaMessage.encode(new ReplicaMessage.Begin(ReplicationProtocol.CERTIFICATION, FirstRows.NONE))));
        fuzz(messages, ReplicaMessage::decode);
    }

    @Test
    void aRestoredCheckpointOfAnyBytesIsValidOrMalformed() {
        fuzz(
                List.of(checkpoint(), certifyingCheckpoint()),
                state -> new ReplicaCore(SELF, 5, ReplicationProtocol.PRIMARY_BACKUP, nothing()).restore(state));
    }

    @Test
    void aPartOfACommitsHeaderIsMalformed() {
        byte[] commit = messages().get(7);
        for (int length = 0; length < ReplicaMessage.WRITE_SET_HEADER_BYTES; length++) {
            assertThat(decodes(Arrays.copyOf(commit, length), ReplicaMessage::decode, "cut at " + length))
                    .isFalse();
        }
        byte[] chunk = messages().get(8);
        for (int length = 0; length < ReplicaMessage.CHUNK_HEADER_BYTES; length++) {
            assertThat(decodes(Arrays.copyOf(chunk, length), ReplicaMessage::decode, "cut at " + length))
                    .isFalse();
        }
    }
}
