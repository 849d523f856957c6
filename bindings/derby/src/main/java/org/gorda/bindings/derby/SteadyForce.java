package org.gorda.bindings.derby;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/**
 * Forces to disk, step by step and in a thread of its own, what somebody else writes below a directory. Otherwise the system keeps all of it
 * in memory up to the end, and who commits then waits until the disk has taken all at once. Confined to the thread that makes it.
 */
final class SteadyForce implements AutoCloseable {

    /** The means of forcing a file. */
    interface Disk {
        void force(Path file) throws IOException;
    }

    /** A disk takes so much while a commit can wait for it. */
    static final long STEP_BYTES = 16L << 20;

    /** How often files are looked at, as nobody tells that they grow: less than it takes to write a step. */
    private static final long LOOK_MILLIS = 20;

    private final Path directory;
    private final Disk disk;
    private final Map<Path, Long> forcedBytes = new HashMap<>();
    private final CountDownLatch ended = new CountDownLatch(1);
    private final Thread thread;
    private volatile @Nullable Exception failure;

    /** Begins. The directory need not be there yet. */
    SteadyForce(Path directory) {
        this(directory, SteadyForce::force);
    }

    SteadyForce(Path directory, Disk disk) {
        this.directory = directory;
        this.disk = disk;
        thread = new Thread(this::run, "gorda-force-" + directory.getFileName());
        thread.setDaemon(true);
        thread.start();
    }

    private static void force(Path file) throws IOException {
        try (FileChannel channel = FileChannel.open(file, StandardOpenOption.WRITE)) {
            channel.force(false);
        }
    }

    private void run() {
        try {
            while (!ended.await(LOOK_MILLIS, TimeUnit.MILLISECONDS)) {
                look();
            }
        } catch (IOException | RuntimeException e) {
            failure = e;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt(); // nobody does
        }
    }

    private void look() throws IOException {
        for (Path file : files()) {
            long bytes = file.toFile().length(); // 0 if it was deleted meanwhile
            if (bytes - forcedBytes.getOrDefault(file, 0L) >= STEP_BYTES) {
                try {
                    disk.force(file);
                } catch (NoSuchFileException e) {
                    continue; // deleted meanwhile
                }
                forcedBytes.put(file, bytes);
            }
        }
    }

    private List<Path> files() throws IOException {
        try (Stream<Path> files = Files.walk(directory)) {
            return files.toList();
        } catch (NoSuchFileException e) {
            return List.of();
        } catch (UncheckedIOException e) {
            if (e.getCause() instanceof NoSuchFileException) {
                return List.of(); // changed meanwhile: the next look sees more
            }
            throw e;
        }
    }

    /**
     * Ends it, when all is written.
     *
     * @throws IOException if the disk failed
     */
    void end() throws IOException {
        close();
        Exception failed = failure;
        if (failed != null) {
            throw new IOException(
                    "what was written to " + directory + " could not be forced to disk: " + failed, failed);
        }
    }

    /** Ends it. No file is touched afterwards. */
    @Override
    public void close() {
        ended.countDown();
        boolean interrupted = false;
        while (thread.isAlive()) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                interrupted = true; // at most one file is being forced
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }
}
