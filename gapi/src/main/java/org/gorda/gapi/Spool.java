package org.gorda.gapi;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.atomic.AtomicLong;
import org.jspecify.annotations.Nullable;

/**
 * Where the front of a write set waits for its commit when it is too large for memory: a file that is made when it is needed and
 * deleted with its transaction. {@code RandomAccessFile} and not a channel, because an interrupt of the client's thread closes a
 * channel. Thread-safe.
 */
final class Spool implements Content {

    private static final String SUFFIX = ".spool";
    private static final AtomicLong LAST_NUMBER = new AtomicLong();

    private final Path directory;
    private @Nullable Path path;
    private @Nullable RandomAccessFile file;
    private long length;

    Spool(Path directory) {
        this.directory = directory;
    }

    /** Deletes what transactions have left behind that a crash has ended; called when no transaction runs. */
    static void clear(Path directory) throws IOException {
        if (!Files.isDirectory(directory)) {
            return;
        }
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*" + SUFFIX)) {
            for (Path left : files) {
                Files.delete(left);
            }
        }
    }

    /**
     * Adds bytes at the end.
     *
     * @throws RefusedException if the disk does not take them; the spool is as it was
     */
    synchronized void append(byte[] bytes, int offset, int count) {
        try {
            RandomAccessFile open = file;
            if (open == null) {
                Files.createDirectories(directory);
                Path made = directory.resolve(LAST_NUMBER.incrementAndGet() + SUFFIX);
                path = made;
                open = new RandomAccessFile(made.toFile(), "rw");
                file = open;
            }
            open.seek(length);
            open.write(bytes, offset, count);
            length += count;
        } catch (IOException e) {
            throw new RefusedException(new Refusal(
                    Refusal.Cause.DISK_FULL,
                    "the transaction's changes do not fit into memory and cannot be kept in " + path + " ("
                            + e.getMessage() + "): it did not happen; make room on the disk of " + directory));
        }
    }

    /** Forgets what lies behind {@code newLength}. */
    synchronized void cutBack(long newLength) {
        length = Math.min(length, newLength);
        if (length == 0) {
            close();
        }
    }

    @Override
    public synchronized int read(long position, byte[] target, int offset, int count) {
        int wanted = (int) Math.min(count, length - position);
        RandomAccessFile open = file;
        if (wanted <= 0 || open == null) {
            return 0;
        }
        try {
            open.seek(position);
            open.readFully(target, offset, wanted);
            return wanted;
        } catch (IOException e) {
            throw new RefusedException(new Refusal(
                    Refusal.Cause.DISK_FULL,
                    "the transaction's changes cannot be read again from " + path + " (" + e.getMessage()
                            + "): it did not happen"));
        }
    }

    private void close() {
        RandomAccessFile open = file;
        Path made = path;
        file = null;
        path = null;
        try {
            if (open != null) {
                open.close();
            }
            if (made != null) {
                Files.deleteIfExists(made);
            }
        } catch (IOException ignored) {
            // Nobody reads it any more; it takes room until the next start.
        }
    }
}
