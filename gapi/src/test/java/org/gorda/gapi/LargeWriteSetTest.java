package org.gorda.gapi;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.StringReader;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** Write sets that do not fit into memory: they wait in a file, and are the same as if they did not. */
class LargeWriteSetTest {

    private static final TableShape TABLE = new TableShape(
            "APP",
            "T",
            List.of(new TableShape.Column("ID", SqlType.BIGINT), new TableShape.Column("B", SqlType.BLOB)),
            List.of(1));

    @TempDir
    Path directory;

    private WriteSetWriter writer;

    @BeforeEach
    void open() {
        writer = new WriteSetWriter(16, 64 << 20, directory.resolve("spool"));
    }

    private static byte[] noise(int length, long seed) {
        byte[] bytes = new byte[length];
        new SplittableRandom(seed).nextBytes(bytes);
        return bytes;
    }

    private void insert(long id, byte[] value) {
        writer.insert(TABLE, 2);
        writer.putInteger(SqlType.BIGINT, id);
        writer.putBytes(SqlType.BLOB, value, 0, value.length);
    }

    private long files() throws IOException {
        if (!Files.exists(directory.resolve("spool"))) {
            return 0;
        }
        try (Stream<Path> all = Files.list(directory.resolve("spool"))) {
            return all.count();
        }
    }

    /** As another replica gets it: what precedes it comes from somewhere else. */
    private static WriteSet travelled(WriteSet origin) throws IOException {
        byte[] preceding = origin.preceding().stream(0).readAllBytes();
        assertThat(preceding).hasSize((int) origin.precedingLength());
        ByteBuffer encoded = origin.bytes();
        byte[] copy = new byte[encoded.remaining()];
        encoded.get(copy);
        return WriteSet.decode(ByteBuffer.wrap(copy), content(preceding));
    }

    private static Content content(byte[] bytes) {
        return (position, target, offset, length) -> {
            int count = (int) Math.max(0, Math.min(Math.min(length, 100_000), bytes.length - position));
            System.arraycopy(bytes, (int) Math.min(position, bytes.length), target, offset, count);
            return count;
        };
    }

    private static void assertInsert(WriteSetReader reader, long id, byte[] value) {
        assertThat(reader.next()).isEqualTo(WriteSetReader.Kind.INSERT);
        assertThat(reader.count()).isEqualTo(2);
        assertThat(reader.readValue()).isEqualTo(id);
        assertThat(Arrays.equals((byte[]) reader.readValue(), value)).isTrue();
    }

    @Test
    void isTheSameOnTheOtherSide() throws IOException {
        for (int i = 0; i < 8; i++) {
            insert(i, noise(700_000, i));
        }
        WriteSet origin = writer.finish();
        assertThat(origin.precedingLength()).isGreaterThan(4 << 20);
        assertThat(origin.bytes().remaining()).isLessThan(WriteSetWriter.MEMORY_BYTES + 1000);
        assertThat(files()).isOne();
        WriteSetReader reader = new WriteSetReader(travelled(origin));
        for (int i = 0; i < 8; i++) {
            assertInsert(reader, i, noise(700_000, i));
        }
        assertThat(reader.next()).isNull();
        writer.clear();
        assertThat(files()).isZero();
    }

    @Test
    void aLongValueCanBeReadAgainAtOnceAndLater() throws IOException {
        byte[] binary = noise(5_000_000, 1);
        String text = "a\u00e9\u20ac\ud83d\ude00\u0000".repeat(400_000);
        writer.insert(TABLE, 3);
        LongValue first = writer.putBinary(SqlType.BLOB, new ByteArrayInputStream(binary));
        LongValue second = writer.putText(SqlType.CLOB, new StringReader(text));
        writer.putInteger(SqlType.BIGINT, 7);
        assertThat(first.bytes()).isEqualTo(binary.length);
        assertThat(second.characters()).isEqualTo(text.length());
        for (int i = 0; i < 2; i++) {
            assertThat(Arrays.equals(first.binary().readAllBytes(), binary)).isTrue();
            assertThat(read(second)).isEqualTo(text);
        }
        WriteSetReader reader = new WriteSetReader(travelled(writer.finish()));
        assertThat(reader.next()).isEqualTo(WriteSetReader.Kind.INSERT);
        assertThat(reader.count()).isEqualTo(3);
        assertThat(reader.type()).isEqualTo(SqlType.BLOB);
        assertThat(reader.isLong()).isTrue();
        LongValue binaryThere = reader.readLongValue();
        assertThat(reader.type()).isEqualTo(SqlType.CLOB);
        LongValue textThere = reader.readLongValue();
        assertThat(reader.readValue()).isEqualTo(7L);
        assertThat(textThere.characters()).isEqualTo(text.length());
        assertThat(read(textThere)).isEqualTo(text);
        assertThat(Arrays.equals(binaryThere.binary().readAllBytes(), binary)).isTrue();
    }

    private static String read(LongValue value) throws IOException {
        StringBuilder text = new StringBuilder();
        char[] buffer = new char[1000];
        var reader = value.text();
        for (int read = reader.read(buffer); read >= 0; read = reader.read(buffer)) {
            text.append(buffer, 0, read);
        }
        return text.toString();
    }

    @Test
    void aRollbackToAMarkReachesIntoTheFile() throws IOException {
        insert(1, noise(10, 1));
        insert(2, noise(3_000_000, 2));
        WriteSetWriter.Mark late = writer.mark();
        insert(3, noise(2_000_000, 3));
        writer.cutBack(late);
        insert(4, noise(2_500_000, 4));
        WriteSetReader reader = new WriteSetReader(travelled(writer.finish()));
        assertInsert(reader, 1, noise(10, 1));
        assertInsert(reader, 2, noise(3_000_000, 2));
        assertInsert(reader, 4, noise(2_500_000, 4));
        assertThat(reader.next()).isNull();
        writer.clear();
        insert(5, noise(10, 5));
        WriteSetWriter.Mark early = writer.mark();
        insert(6, noise(3_000_000, 6));
        assertThat(files()).isOne();
        writer.cutBack(early);
        insert(7, noise(10, 7));
        WriteSet small = writer.finish();
        assertThat(small.length()).isLessThan(200);
        reader = new WriteSetReader(travelled(small));
        assertInsert(reader, 5, noise(10, 5));
        assertInsert(reader, 7, noise(10, 7));
        assertThat(reader.next()).isNull();
    }

    @Test
    void aTransactionThatChangesTooMuchIsRefused() {
        writer = new WriteSetWriter(16, 5 << 20, directory.resolve("spool"));
        insert(1, noise(4 << 20, 1));
        WriteSetWriter.Mark mark = writer.mark();
        assertThatThrownBy(() -> {
                    insert(2, noise(2 << 20, 2));
                    writer.finish();
                })
                .isInstanceOfSatisfying(
                        RefusedException.class,
                        e -> assertThat(e.refusal().cause()).isEqualTo(Refusal.Cause.TOO_LARGE))
                .hasMessageContaining("5242880 bytes")
                .hasMessageContaining("write-set-bytes-max");
        writer.cutBack(mark);
        insert(3, noise(10, 3));
        assertThat(writer.finish().length()).isLessThan(5 << 20);
    }

    /** They are not kept until it is asked for its commit, which would need the memory for them. */
    @Test
    void aTransactionOfMoreKeysThanCanBeNamedIsRefusedBeforeItsCommit() {
        assertThatThrownBy(() -> {
                    for (int i = 0; i <= WriteSet.ENCODED_BYTES_MAX / 9 + 1; i++) {
                        writer.key(KeyMode.WRITTEN, i);
                    }
                })
                .isInstanceOfSatisfying(
                        RefusedException.class,
                        e -> assertThat(e.refusal().cause()).isEqualTo(Refusal.Cause.TOO_LARGE))
                .hasMessageContaining("commit more often");
        writer.clear();
        writer.key(KeyMode.WRITTEN, 1);
        insert(1, noise(10, 1));
        assertThat(writer.finish().length()).isLessThan(200);
    }

    @Test
    void longStatementsFollowEachOther() throws IOException {
        writer.statement("me", "", "APP", "x".repeat(6_000_000), List.of());
        writer.statement("me", "", "APP", "y".repeat(5_000_000), List.of());
        WriteSetReader reader = new WriteSetReader(travelled(writer.finish()));
        assertThat(reader.next()).isEqualTo(WriteSetReader.Kind.STATEMENT);
        assertThat(reader.readStatement().text()).hasSize(6_000_000);
        assertThat(reader.next()).isEqualTo(WriteSetReader.Kind.STATEMENT);
        assertThat(reader.readStatement().text()).hasSize(5_000_000);
        assertThat(reader.next()).isNull();
    }

    /** What is written to the device gets the same error from the system as a full disk gives. */
    @Test
    @EnabledOnOs(OS.LINUX)
    void aFullDiskIsToldAndOnlyThisTransactionSuffers() throws IOException {
        insert(1, noise(2_000_000, 1));
        String name;
        try (Stream<Path> all = Files.list(directory.resolve("spool"))) {
            name = String.valueOf(all.findFirst().orElseThrow().getFileName());
        }
        long next = Long.parseLong(name.substring(0, name.indexOf('.'))) + 1;
        writer.clear();
        Files.createSymbolicLink(directory.resolve("spool").resolve(next + ".spool"), Path.of("/dev/full"));
        assertThatThrownBy(() -> insert(2, noise(2_000_000, 2)))
                .isInstanceOfSatisfying(
                        RefusedException.class,
                        e -> assertThat(e.refusal().cause()).isEqualTo(Refusal.Cause.DISK_FULL))
                .hasMessageContaining("No space left on device")
                .hasMessageContaining("make room");
        writer.clear();
        insert(3, noise(2_000_000, 3));
        WriteSetReader reader = new WriteSetReader(travelled(writer.finish()));
        assertInsert(reader, 3, noise(2_000_000, 3));
    }

    @Test
    void whatACrashLeftIsDeletedAtTheStart() throws IOException {
        insert(1, noise(2_000_000, 1));
        assertThat(files()).isOne();
        WriteSetWriter.clearSpools(directory.resolve("spool"));
        assertThat(files()).isZero();
        WriteSetWriter.clearSpools(directory.resolve("not there"));
    }

    @Test
    void aMissingPartIsMalformed() throws IOException {
        insert(1, noise(3_000_000, 1));
        WriteSet origin = writer.finish();
        byte[] preceding = origin.preceding().stream(0).readAllBytes();
        for (int length : new int[] {0, 1, 100, preceding.length - 1}) {
            WriteSet cut = WriteSet.decode(origin.bytes(), content(Arrays.copyOf(preceding, length)));
            assertThatThrownBy(() -> {
                        WriteSetReader reader = new WriteSetReader(cut);
                        reader.next();
                        reader.count();
                        reader.readValue();
                        reader.readValue();
                    })
                    .isInstanceOf(MalformedWriteSetException.class)
                    .hasMessageContaining("preceded");
        }
    }

    /** A client's stream may give as little as it likes at a time. */
    @Test
    void aSlowStreamIsReadToItsEnd() throws IOException {
        byte[] value = noise(10_000, 1);
        InputStream slow = new ByteArrayInputStream(value) {
            @Override
            public int read(byte[] target, int offset, int length) {
                return super.read(target, offset, Math.min(length, 7));
            }
        };
        writer.insert(TABLE, 1);
        LongValue written = writer.putBinary(SqlType.BLOB, slow);
        assertThat(written.binary().readAllBytes()).isEqualTo(value);
    }
}
