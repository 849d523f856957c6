package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.EOFException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Random;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogReaderTest {

    private static final int BYTES = 5 * LogReader.WINDOW_BYTES / 2 + 3;

    @TempDir
    private Path directory;

    private Path file;

    @BeforeEach
    void write() throws IOException {
        file = directory.resolve("log1.dat");
        byte[] bytes = new byte[BYTES];
        new Random(1).nextBytes(bytes);
        Files.write(file, bytes);
    }

    @Test
    void readsWhatTheFileHoldsWhereverAndHoweverMuchIsAskedFor() throws IOException {
        Random random = new Random(2);
        try (LogReader reader = new LogReader(file.toFile());
                RandomAccessFile plain = new RandomAccessFile(file.toFile(), "r")) {
            for (int i = 0; i < 20_000; i++) {
                int length = random.nextInt(i % 100 == 0 ? 2 * LogReader.WINDOW_BYTES : 64);
                long near = plain.getFilePointer() + random.nextInt(400) - 200;
                long place = i % 50 == 0 ? random.nextInt(BYTES) : Math.max(0, near);
                place = Math.min(place, BYTES - Math.max(length, Long.BYTES));
                reader.seek(place);
                plain.seek(place);
                byte[] read = new byte[length];
                byte[] expected = new byte[length];
                switch (i % 3) {
                    case 0 -> {
                        reader.readFully(read);
                        plain.readFully(expected);
                        assertThat(read).isEqualTo(expected);
                    }
                    case 1 -> assertThat(reader.readInt()).isEqualTo(plain.readInt());
                    default -> assertThat(reader.readLong()).isEqualTo(plain.readLong());
                }
                assertThat(reader.getFilePointer()).isEqualTo(plain.getFilePointer());
            }
        }
    }

    @Test
    void endsWhereTheFileDoesAndGoesOnOnceThereIsMore() throws IOException {
        try (LogReader reader = new LogReader(file.toFile());
                RandomAccessFile more = new RandomAccessFile(file.toFile(), "rw")) {
            reader.seek(BYTES - 2);
            assertThatThrownBy(reader::readInt).isInstanceOf(EOFException.class);
            assertThat(reader.read()).isEqualTo(-1);
            more.seek(BYTES);
            more.writeInt(42);
            reader.seek(BYTES);
            assertThat(reader.readInt()).isEqualTo(42);
            assertThatThrownBy(() -> reader.seek(-1)).isInstanceOf(IOException.class);
        }
    }
}
