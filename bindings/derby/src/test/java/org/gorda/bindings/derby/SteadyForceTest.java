package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What is forced when, and what becomes of failures. */
@Timeout(60)
class SteadyForceTest {

    private final Queue<Path> forced = new ConcurrentLinkedQueue<>();

    @TempDir
    private Path directory;

    private static Path grow(Path file, long bytes) throws IOException {
        Files.createDirectories(file.getParent());
        try (RandomAccessFile out = new RandomAccessFile(file.toFile(), "rw")) {
            out.setLength(bytes);
        }
        return file;
    }

    @Test
    void aFileIsForcedOnceForEachStepThatItGrows() throws IOException {
        Path written = directory.resolve("later");
        try (SteadyForce force = new SteadyForce(written, forced::add)) {
            Path small = grow(written.resolve("small"), SteadyForce.STEP_BYTES - 1);
            Path large = grow(written.resolve("seg0/large"), SteadyForce.STEP_BYTES);
            Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> forced.contains(large));
            grow(large, 2 * SteadyForce.STEP_BYTES);
            Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> forced.size() >= 2);
            grow(large, 3 * SteadyForce.STEP_BYTES - 1);
            grow(small, SteadyForce.STEP_BYTES);
            Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> forced.contains(small));
            force.end();
            assertThat(forced).containsExactly(large, large, small);
            grow(large, 4 * SteadyForce.STEP_BYTES);
            force.end();
            assertThat(forced).as("nothing is touched after the end").hasSize(3);
        }
    }

    @Test
    void aFileThatIsDeletedMeanwhileIsNoFailure() throws IOException {
        Path deleted = grow(directory.resolve("a"), SteadyForce.STEP_BYTES);
        Path other = grow(directory.resolve("b"), SteadyForce.STEP_BYTES);
        try (SteadyForce force = new SteadyForce(directory, file -> {
            if (file.equals(deleted)) {
                Files.deleteIfExists(file);
                throw new NoSuchFileException(file.toString());
            }
            forced.add(file);
        })) {
            Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> forced.contains(other));
            force.end();
        }
    }

    @Test
    void aDiskThatFailsIsToldAtTheEnd() throws IOException {
        grow(directory.resolve("a"), SteadyForce.STEP_BYTES);
        try (SteadyForce force = new SteadyForce(directory, file -> {
            forced.add(file);
            throw new IOException("no space");
        })) {
            Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> !forced.isEmpty());
            assertThatThrownBy(force::end)
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining(directory.toString())
                    .hasMessageContaining("no space");
        }
    }
}
