package org.gorda.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.gorda.bench.workload.BenchException;

/**
 * A process's own wall clock, which can be moved while it runs. By libfaketime, which is put between a process and its C library, reads
 * from a file how far the clock is off, and leaves the one alone that waits are measured by. Confined to one thread.
 */
final class WallClock {

    private static final List<Path> LIBRARIES = List.of(
            Path.of("/usr/lib/x86_64-linux-gnu/faketime/libfaketime.so.1"),
            Path.of("/usr/lib/aarch64-linux-gnu/faketime/libfaketime.so.1"),
            Path.of("/usr/lib64/faketime/libfaketime.so.1"),
            Path.of("/usr/lib/faketime/libfaketime.so.1"),
            Path.of("/usr/local/lib/faketime/libfaketime.so.1"));

    private final Path library;
    private final Path file;

    /**
     * @param file what is to say how far it is off
     * @throws BenchException if there is no libfaketime
     */
    WallClock(Path file) {
        this.library = LIBRARIES.stream()
                .filter(Files::isReadable)
                .findFirst()
                .orElseThrow(() -> new BenchException("clocks are moved by libfaketime, which is in none of "
                        + LIBRARIES + ": install it (Debian and Ubuntu: the package libfaketime)"));
        this.file = file;
    }

    /** With which the process must be started. */
    Map<String, String> environment() {
        return Map.of(
                "LD_PRELOAD", library.toString(),
                "FAKETIME_TIMESTAMP_FILE", file.toAbsolutePath().toString(),
                "FAKETIME_CACHE_DURATION", "1",
                "FAKETIME_DONT_FAKE_MONOTONIC", "1",
                // Else Java's waits end at once.
                "FAKETIME_FORCE_MONOTONIC_FIX", "0");
    }

    /** Within a second it shows another time. */
    void move(Duration ahead) {
        try {
            Files.createDirectories(file.toAbsolutePath().getParent());
            Path next = Files.createTempFile(file.toAbsolutePath().getParent(), "clock", null);
            Files.writeString(next, (ahead.isNegative() ? "" : "+") + ahead.toSeconds());
            Files.move(next, file, StandardCopyOption.ATOMIC_MOVE);
        } catch (IOException e) {
            throw new BenchException(file + " cannot be written: " + e, e);
        }
    }
}
