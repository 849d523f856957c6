package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class LogWriterTest {

    @TempDir
    Path directory;

    @Test
    void whatIsWrittenIsFollowedByZeros() throws IOException {
        Path file = directory.resolve("log1.dat");
        byte[] record = new byte[LogWriter.STEP_BYTES / 3];
        Arrays.fill(record, (byte) 7);
        try (LogWriter log = new LogWriter(file.toFile())) {
            log.writeInt(1234); // Derby's header
            for (int i = 0; i < 4; i++) {
                log.write(record, 0, record.length);
            }
            log.sync();
        }
        int end = Integer.BYTES + 4 * record.length;
        byte[] written = Files.readAllBytes(file);
        assertThat(written.length).isGreaterThan(end).isLessThanOrEqualTo(end + 2 * LogWriter.STEP_BYTES);
        assertThat(Arrays.copyOf(written, Integer.BYTES)).containsExactly(0, 0, 1234 >> 8, 1234 & 0xff);
        for (int i = Integer.BYTES; i < written.length; i++) {
            assertThat(written[i]).isEqualTo(i < end ? (byte) 7 : 0);
        }
    }

    @Test
    void whatIsThereStays() throws IOException {
        Path file = directory.resolve("log1.dat");
        Files.write(file, new byte[] {1, 2, 3, 4});
        try (LogWriter log = new LogWriter(file.toFile());
                LogWriter same = log.clone()) {
            same.seek(2);
            same.write(new byte[] {9});
            same.setLength(6);
            same.seek(5);
            same.write(new byte[] {5, 6});
        }
        assertThat(Arrays.copyOf(Files.readAllBytes(file), 8)).containsExactly(1, 2, 9, 4, 0, 5, 6, 0);
    }
}
