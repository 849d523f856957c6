package org.gorda.gapi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.management.ThreadMXBean;
import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.StringReader;
import java.io.UncheckedIOException;
import java.lang.management.ManagementFactory;
import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.zip.CRC32C;
import org.junit.jupiter.api.Test;

/**
 * Whatever bytes are given for a write set, they are one or give a {@link MalformedWriteSetException}, and take no more memory than
 * a write set of that length. The checksum is made to fit after most mutations, so that what lies behind it is reached.
 */
class WriteSetFuzzTest {

    private static final int RUNS = 60_000;

    /** The write sets here are far shorter; an exception and its trace take some, and buffers for long values. */
    private static final long ALLOCATED_BYTES_MAX = 200 << 10;

    private static final ThreadMXBean THREADS = (ThreadMXBean) ManagementFactory.getThreadMXBean();
    private static final TableShape ACCOUNT = new TableShape(
            "APP",
            "ACCOUNT",
            List.of(
                    new TableShape.Column("ID", SqlType.BIGINT),
                    new TableShape.Column("NOTE", SqlType.VARCHAR),
                    new TableShape.Column("BALANCE", SqlType.DECIMAL)),
            List.of(1));

    private static byte[] valid() {
        WriteSetWriter writer = new WriteSetWriter(0, 1 << 20, Path.of("unused"));
        writer.statement("ALICE", "", "APP", "CREATE TABLE T(I INT)", List.of("SQL1", "SQL2"));
        writer.insert(ACCOUNT, 16);
        writer.putInteger(SqlType.BIGINT, -7_000_000_000L);
        writer.putString(SqlType.VARCHAR, "note \u00e9 \u20ac \ud800");
        writer.putDecimal(new BigDecimal("-123456789.0123456789"));
        writer.putNull();
        writer.putBoolean(true);
        writer.putReal(1.5f);
        writer.putDouble(-0.0);
        writer.putBytes(SqlType.BLOB, new byte[] {1, 2, 3}, 0, 3);
        writer.putDate(2024, 2, 29);
        writer.putTime(86_399, 999_999_999);
        writer.putTimestamp(-44, 3, 15, 43_200, 1);
        writer.putString(SqlType.CLOB, "");
        writer.putInteger(SqlType.SMALLINT, 12);
        writer.putString(SqlType.XML, "<a/>");
        putLongValues(writer);
        writer.update(ACCOUNT);
        writer.putInteger(SqlType.BIGINT, 4);
        writer.changed(1);
        writer.column(2);
        writer.putString(SqlType.VARCHAR, "other");
        writer.endOfStatement();
        writer.delete(ACCOUNT);
        writer.putInteger(SqlType.BIGINT, 5);
        writer.generated(true, "APP", "ACCOUNT", 17);
        writer.key(KeyMode.WRITTEN, 1);
        writer.key(KeyMode.REMOVED, 2);
        writer.key(KeyMode.REFERENCED, 3);
        ByteBuffer bytes = writer.finish().bytes();
        byte[] encoded = new byte[bytes.remaining()];
        bytes.get(encoded);
        return encoded;
    }

    private static void putLongValues(WriteSetWriter writer) {
        try {
            writer.putText(SqlType.CLOB, new StringReader("long \u00e9 \u20ac"));
            writer.putBinary(SqlType.BLOB, new ByteArrayInputStream(new byte[] {4, 5}));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static void seal(byte[] bytes) {
        if (bytes.length >= 8) {
            CRC32C crc = new CRC32C();
            crc.update(bytes, 8, bytes.length - 8);
            ByteBuffer.wrap(bytes).putInt(4, (int) crc.getValue());
        }
    }

    /** Reads everything there is, as an applier does whose table has a key of one column; how many changes that are. */
    private static int read(byte[] bytes) {
        WriteSet writeSet = WriteSet.decode(ByteBuffer.wrap(bytes), Content.EMPTY);
        for (int i = 0; i < writeSet.keys(); i++) {
            writeSet.keyMode(i);
            writeSet.keyHash(i);
        }
        WriteSetReader reader = new WriteSetReader(writeSet);
        reader.tables();
        int changes = 0;
        for (WriteSetReader.Kind kind = reader.next(); kind != null; kind = reader.next()) {
            changes++;
            switch (kind) {
                case INSERT -> readValues(reader, reader.count());
                case UPDATE -> {
                    reader.readValue();
                    int count = reader.count();
                    for (int i = 0; i < count; i++) {
                        assertThat(reader.column()).isPositive();
                        reader.readValue();
                    }
                }
                case DELETE -> reader.readValue();
                case STATEMENT -> reader.readStatement();
                case END_OF_STATEMENT -> {}
                case GENERATED -> {
                    reader.readBoolean();
                    reader.readText();
                    reader.readText();
                    reader.readInteger();
                }
            }
        }
        return changes;
    }

    private static void readValues(WriteSetReader reader, int count) {
        for (int i = 0; i < count; i++) {
            reader.readValue();
        }
    }

    /** True if the bytes were taken for valid. */
    private static boolean reads(byte[] bytes, String how) {
        return reads(bytes, how, true);
    }

    private static boolean reads(byte[] bytes, String how, boolean mayLoadClasses) {
        long before = THREADS.getCurrentThreadAllocatedBytes();
        boolean taken;
        try {
            read(bytes);
            taken = true;
        } catch (MalformedWriteSetException e) {
            taken = false;
        } catch (RuntimeException | Error e) {
            throw new AssertionError(how + ": " + Arrays.toString(bytes), e);
        }
        long allocated = THREADS.getCurrentThreadAllocatedBytes() - before;
        if (allocated > ALLOCATED_BYTES_MAX && mayLoadClasses) {
            return reads(bytes, how, false);
        }
        if (allocated > ALLOCATED_BYTES_MAX) {
            throw new AssertionError(how + " allocates " + allocated + " bytes: " + Arrays.toString(bytes));
        }
        return taken;
    }

    @Test
    void anyMutationIsValidOrMalformed() {
        byte[] valid = valid();
        assertThat(read(valid)).isEqualTo(6);
        int taken = 0;
        for (int seed = 0; seed < RUNS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            byte[] bytes = valid.clone();
            for (int changes = 1 + random.nextInt(3); changes > 0; changes--) {
                int at = random.nextInt(bytes.length);
                if (random.nextInt(4) == 0 && at + 12 < bytes.length) {
                    // A number that goes on, so that it becomes huge.
                    Arrays.fill(bytes, at, at + 1 + random.nextInt(11), (byte) 0xff);
                } else {
                    bytes[at] = (byte) random.nextInt();
                }
            }
            if (random.nextInt(8) != 0) {
                seal(bytes);
            }
            taken += reads(bytes, "seed " + seed) ? 1 : 0;
        }
        assertThat(taken).isGreaterThan(RUNS / 20);
    }

    @Test
    void anyPartIsMalformed() {
        byte[] valid = valid();
        for (int length = 0; length < valid.length; length++) {
            byte[] cut = Arrays.copyOf(valid, length);
            assertThat(reads(cut, "cut at " + length)).isFalse();
            seal(cut);
            assertThat(reads(cut, "cut at " + length + " and sealed")).isFalse();
        }
    }

    @Test
    void noiseIsMalformed() {
        for (int seed = 0; seed < RUNS; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            byte[] bytes = new byte[random.nextInt(200)];
            random.nextBytes(bytes);
            if (bytes.length >= WriteSetWriter.HEADER_BYTES) {
                // A header that fits, so that the noise behind it is read.
                int tables = 1 + random.nextInt(bytes.length - WriteSetWriter.HEADER_BYTES + 1);
                ByteBuffer.wrap(bytes)
                        .put(WriteSetWriter.MAGIC)
                        .put(WriteSetWriter.VERSION)
                        .putInt(8, bytes.length - WriteSetWriter.HEADER_BYTES - tables)
                        .putInt(12, tables)
                        .putInt(16, 0)
                        .putLong(20, 0);
            }
            seal(bytes);
            reads(bytes, "seed " + seed);
        }
    }

    @Test
    void aFlippedBitIsNeverTaken() {
        byte[] valid = valid();
        for (int bit = 0; bit < valid.length * 8; bit++) {
            byte[] harmed = valid.clone();
            harmed[bit / 8] ^= (byte) (1 << bit % 8);
            if (bit / 8 != 2 && bit / 8 != 3) { // of no meaning
                assertThat(reads(harmed, "bit " + bit)).as("bit " + bit).isFalse();
            }
        }
    }

    @Test
    void aColumnBeyondAllNumbersIsMalformed() {
        byte[] valid = valid();
        // The column of the update is followed by the type, the length and the text of its value.
        int column = -1;
        for (int i = 0; i < valid.length - 8; i++) {
            if (valid[i] == 2 && valid[i + 1] == 9 && valid[i + 2] == 5 && valid[i + 3] == 'o') {
                column = i;
            }
        }
        byte[] longer = new byte[valid.length + 9];
        System.arraycopy(valid, 0, longer, 0, column);
        Arrays.fill(longer, column, column + 9, (byte) 0xff);
        longer[column + 9] = 1;
        System.arraycopy(valid, column + 1, longer, column + 10, valid.length - column - 1);
        ByteBuffer.wrap(longer).putInt(8, ByteBuffer.wrap(valid).getInt(8) + 9);
        seal(longer);
        assertThatThrownBy(() -> read(longer))
                .isInstanceOf(MalformedWriteSetException.class)
                .hasMessageContaining("column");
    }
}
