package org.gorda.jgcs.raft.member;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.management.ThreadMXBean;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.zip.CRC32C;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.History;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.raft.core.Checkpoint;
import org.gorda.jgcs.raft.core.Configuration;
import org.gorda.jgcs.raft.core.CorruptEntryException;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.raft.core.RaftMessage;
import org.junit.jupiter.api.Test;

/**
 * Whatever bytes a decoder is given, it gives a value or a {@link CorruptEntryException}, and holds no more than the bytes could
 * describe. Where a checksum protects them, it is made to fit after the mutation, so that what lies behind it is reached.
 */
class DecodersFuzzTest {

    private static final int RUNS = 20_000;

    /** The messages here are far shorter; an exception and its trace take some. */
    private static final long ALLOCATED_BYTES_MAX = 40 << 10;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final MemberId SELF = new MemberId("db1:7800");
    private static final MemberId OTHER = new MemberId("db2:7800");
    private static final GroupId GROUP = new GroupId(3, 4);
    private static final Configuration MEMBERS = new Configuration(
            GROUP, 6, List.of(new Configuration.Member(SELF, 1, true), new Configuration.Member(OTHER, 2, false)));

    private static FrameCodec codec() {
        FrameCodec codec = new FrameCodec("bank", 7, SELF, 5);
        codec.history(new History(GROUP, 6));
        return codec;
    }

    private static List<Entry> entries() {
        return List.of(
                Entry.of(2, 9, Entry.Kind.NO_OP, new byte[0]),
                Entry.of(2, 10, Entry.Kind.CONFIGURATION, MEMBERS.encode()),
                Entry.of(2, 11, Entry.Kind.MESSAGE, new byte[70]));
    }

    private static Checkpoint checkpoint() {
        return new Checkpoint(8, 2, MEMBERS, ByteBuffer.wrap(new byte[40]));
    }

    private static List<Frame> frames() {
        List<Frame> frames = new ArrayList<>();
        for (RaftMessage message : List.of(
                new RaftMessage.Append(2, 8, 1, 8, 9, 3, 4, true, entries()),
                new RaftMessage.Append(2, 8, 1, 8, 9, 3, 4, true, List.of()),
                new RaftMessage.AppendReply(2, true, 9, 8, 1, 3),
                new RaftMessage.VoteRequest(2, 9, 1, true, false),
                new RaftMessage.VoteReply(2, true, false, true),
                new RaftMessage.Install(2, checkpoint(), 3),
                new RaftMessage.TimeoutNow(2),
                new RaftMessage.Hello(2, true, MEMBERS, false))) {
            frames.add(new Frame.Core(message));
        }
        frames.add(new Frame.Propose(1, 2, List.of(ByteBuffer.allocate(20), ByteBuffer.allocate(0))));
        frames.add(new Frame.Open(4));
        frames.add(new Frame.Expected(4, 5));
        frames.add(new Frame.Ask(6, Question.ADD, OTHER));
        frames.add(new Frame.Answer(6, -1));
        frames.add(new Frame.Direct(ByteBuffer.wrap(new byte[] {1, 2, 3})));
        return frames;
    }

    /** Changes a few bytes, a length or the end. */
    private static byte[] mutate(byte[] valid, SplittableRandom random) {
        byte[] bytes = valid.clone();
        if (random.nextInt(4) == 0) {
            bytes = Arrays.copyOf(bytes, random.nextInt(bytes.length + 9));
        }
        for (int changes = random.nextInt(4); changes > 0 && bytes.length > 0; changes--) {
            int at = random.nextInt(bytes.length);
            if (bytes.length - at >= 4 && random.nextInt(3) == 0) {
                int[] extreme = {-1, Integer.MAX_VALUE, Integer.MIN_VALUE, 0, 0x7fff_0000, 0xffff, bytes.length};
                ByteBuffer.wrap(bytes).putInt(at, extreme[random.nextInt(extreme.length)]);
            } else {
                bytes[at] = (byte) random.nextInt();
            }
        }
        return bytes;
    }

    private static byte[] noise(SplittableRandom random) {
        byte[] bytes = new byte[random.nextInt(120)];
        random.nextBytes(bytes);
        return bytes;
    }

    private static void sealFrame(byte[] bytes) {
        if (bytes.length < 12) {
            return;
        }
        int covered = ByteBuffer.wrap(bytes).getInt(8);
        if (covered < 12 || covered > bytes.length) {
            return;
        }
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, 4);
        crc.update(bytes, 8, covered - 8);
        ByteBuffer.wrap(bytes).putInt(4, (int) crc.getValue());
    }

    private static void sealEntry(byte[] bytes) {
        if (bytes.length < 8) {
            return;
        }
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, 4);
        crc.update(bytes, 8, bytes.length - 8);
        ByteBuffer.wrap(bytes).putInt(4, (int) crc.getValue());
    }

    /** Runs {@code decoder}; true if it took the bytes for valid. */
    private static boolean decodes(byte[] bytes, Consumer<byte[]> decoder, String how) {
        return decodes(bytes, decoder, how, true);
    }

    private static boolean decodes(byte[] bytes, Consumer<byte[]> decoder, String how, boolean mayLoadClasses) {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        boolean taken;
        try {
            decoder.accept(bytes);
            taken = true;
        } catch (CorruptEntryException e) {
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

    private static void fuzz(String name, List<byte[]> valid, Consumer<byte[]> seal, Consumer<byte[]> decoder) {
        int taken = 0;
        for (byte[] bytes : valid) {
            assertThat(decodes(bytes, decoder, name + ", valid")).isTrue();
            for (int length = 0; length < bytes.length; length++) {
                byte[] cut = Arrays.copyOf(bytes, length);
                decodes(cut, decoder, name + ", cut");
                seal.accept(cut);
                decodes(cut, decoder, name + ", cut and sealed");
            }
        }
        for (int seed = 0; seed < RUNS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            byte[] bytes = random.nextInt(10) == 0 ? noise(random) : mutate(valid.get(seed % valid.size()), random);
            if (random.nextInt(4) != 0) {
                seal.accept(bytes);
            }
            taken += decodes(bytes, decoder, name + ", seed " + seed) ? 1 : 0;
        }
        assertThat(taken).as("mutations of " + name + " that pass").isGreaterThan(RUNS / 100);
    }

    private static int heldBytes(Frame frame) {
        int held = 0;
        if (frame instanceof Frame.Core core && core.message() instanceof RaftMessage.Append append) {
            held = append.entries().stream().mapToInt(Entry::length).sum();
        } else if (frame instanceof Frame.Propose propose) {
            held = propose.payloads().stream().mapToInt(ByteBuffer::remaining).sum();
        }
        return held;
    }

    @Test
    void framesOfAnyBytesAreValidOrCorrupt() {
        FrameCodec codec = codec();
        List<byte[]> valid = frames().stream().map(codec::encode).toList();
        fuzz("frame", valid, DecodersFuzzTest::sealFrame, bytes -> {
            FrameCodec.Received received = codec.decode(bytes);
            assertThat(heldBytes(received.frame())).isLessThan(bytes.length);
        });
    }

    @Test
    void aFrameWithOneFlippedBitIsNeverTaken() {
        FrameCodec codec = codec();
        for (Frame frame : frames()) {
            byte[] bytes = codec.encode(frame);
            for (int bit = 0; bit < bytes.length * 8; bit++) {
                byte[] harmed = bytes.clone();
                harmed[bit / 8] ^= (byte) (1 << bit % 8);
                assertThat(decodes(harmed, codec::decode, "flipped"))
                        .as(frame + ", bit " + bit)
                        .isFalse();
            }
        }
    }

    @Test
    void entriesOfAnyBytesAreValidOrCorrupt() {
        List<byte[]> valid = entries().stream()
                .map(entry -> Arrays.copyOf(entry.bytes(), entry.length()))
                .toList();
        fuzz("entry", valid, DecodersFuzzTest::sealEntry, bytes -> {
            Entry entry = Entry.decode(bytes, 0, bytes.length);
            assertThat(entry.length()).isBetween(Entry.HEADER_BYTES, bytes.length);
            assertThat(entry.payload().remaining()).isEqualTo(entry.length() - Entry.HEADER_BYTES);
        });
    }

    @Test
    void checkpointsOfAnyBytesAreValidOrCorrupt() {
        fuzz("checkpoint", List.of(checkpoint().encode(), Checkpoint.NONE.encode()), bytes -> {}, bytes -> {
            Checkpoint checkpoint = Checkpoint.decode(ByteBuffer.wrap(bytes));
            assertThat(checkpoint.state().remaining()).isLessThan(bytes.length);
        });
    }

    @Test
    void configurationsOfAnyBytesAreValidOrCorrupt() {
        fuzz("configuration", List.of(MEMBERS.encode(), Configuration.EMPTY.encode()), bytes -> {}, bytes -> {
            Configuration configuration = Configuration.decode(ByteBuffer.wrap(bytes));
            assertThat(configuration.members().size() * 11).isLessThan(bytes.length);
        });
    }

    @Test
    void aConfigurationOfFewerThanNoMembersIsCorrupt() {
        byte[] bytes = Configuration.EMPTY.encode();
        ByteBuffer.wrap(bytes).putShort(24, (short) -1);
        assertThat(decodes(bytes, harmed -> Configuration.decode(ByteBuffer.wrap(harmed)), "negative"))
                .isFalse();
    }

    @Test
    void messageHeadersOfAnyBytesAreValidOrCorrupt() {
        byte[] name = MessageHeader.nameOf(OTHER);
        ByteBuffer header = ByteBuffer.allocate(MessageHeader.length(name) + 5);
        MessageHeader.write(header, name, 7, 8);
        fuzz(
                "message header",
                List.of(header.array()),
                bytes -> {},
                bytes -> MessageHeader.read(ByteBuffer.wrap(bytes)));
    }

    @Test
    void incarnationsOfAnyBytesAreValidOrCorrupt() {
        Map<MemberId, Long> spoken = new LinkedHashMap<>();
        spoken.put(SELF, 3L);
        spoken.put(OTHER, 4L);
        Incarnations incarnations = new Incarnations();
        long index = 1;
        for (Map.Entry<MemberId, Long> entry : spoken.entrySet()) {
            byte[] name = entry.getKey().name().getBytes(StandardCharsets.UTF_8);
            ByteBuffer payload = ByteBuffer.allocate(MessageHeader.length(name));
            MessageHeader.write(payload, name, entry.getValue(), 0);
            incarnations.append(Entry.of(1, index++, Entry.Kind.INCARNATION, payload.array()));
        }
        ByteBuffer encoded = incarnations.encode();
        byte[] valid = new byte[encoded.remaining()];
        encoded.get(valid);
        fuzz("incarnations", List.of(valid), bytes -> {}, bytes -> {
            Incarnations decoded = new Incarnations();
            decoded.reset(ByteBuffer.wrap(bytes));
            assertThat(decoded.encode().remaining()).isLessThanOrEqualTo(2 + 3 * bytes.length);
        });
    }
}
