package org.gorda.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.gorda.bench.workload.BenchException;
import org.gorda.gapi.FileTree;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Option;

/** Where the replicas of a command keep everything: a new directory, which is deleted afterwards unless it was given. */
final class WorkDirectory {

    private static final Path MEMORY = Path.of("/dev/shm");
    private static final Duration END_WAIT = Duration.ofSeconds(30);
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);

    @Option(names = "--dir", description = "Where the replicas keep everything; a new temporary one if not given.")
    private @Nullable Path given;

    private @Nullable Path parent;

    /** Makes it in a file system in memory, unless it is given. */
    void inMemory() {
        if (given == null && !Files.isDirectory(MEMORY)) {
            throw new BenchException(
                    "there is no file system in memory at " + MEMORY + ": give a directory in one by --dir");
        }
        parent = MEMORY;
    }

    /**
     * Works in the directory, and keeps it if that fails.
     *
     * @param proved whether the result is what was to be shown
     */
    <T> T work(Output output, Function<Path, T> work, Predicate<T> proved) throws IOException {
        Path chosen = given;
        if (chosen != null && Files.exists(chosen) && !isEmpty(chosen)) {
            throw new BenchException("--dir " + chosen + " is not empty: give a new directory");
        }
        Path used = chosen == null ? temporary() : chosen;
        Thread end = new Thread(() -> deleteAtEnd(used), "end-of-directory");
        if (chosen == null && parent != null) {
            Runtime.getRuntime().addShutdownHook(end);
        }
        T result;
        try {
            result = work.apply(used);
        } catch (RuntimeException e) {
            if (chosen == null && parent != null) {
                delete(used, output); // it would take memory as long as it is there
            } else {
                output.line("what the replicas wrote is in " + used);
            }
            throw e;
        } finally {
            forget(end);
        }
        if (!proved.test(result)) {
            output.line("THE PROOF FAILED; what the replicas wrote is in " + used);
        } else if (chosen == null) {
            delete(used, output);
        }
        return result;
    }

    private static void forget(Thread hook) {
        try {
            Runtime.getRuntime().removeShutdownHook(hook);
        } catch (IllegalStateException e) {
            // This program is ending: the hook runs.
        }
    }

    private Path temporary() throws IOException {
        return parent == null ? Files.createTempDirectory("gorda") : Files.createTempDirectory(parent, "gorda");
    }

    private static boolean isEmpty(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.findAny().isEmpty();
        }
    }

    /** The result is not lost if that fails. */
    private static void delete(Path directory, Output output) {
        try {
            FileTree.delete(directory);
        } catch (IOException | UncheckedIOException e) {
            output.line(directory + " could not be deleted: " + e);
        }
    }

    /** Of a command that is interrupted: whoever writes there is being ended meanwhile. */
    private static void deleteAtEnd(Path directory) {
        long end = System.nanoTime() + END_WAIT.toNanos();
        while (Files.exists(directory) && System.nanoTime() < end) {
            try {
                FileTree.delete(directory);
            } catch (IOException | UncheckedIOException e) {
                LockSupport.parkNanos(POLL_NANOS);
            }
        }
    }
}
