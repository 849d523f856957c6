package org.gorda.replicator.engine;

import com.sun.nio.file.ExtendedOpenOption;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.zip.CRC32C;
import org.gorda.gapi.FileTree;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A file that is received from its beginning to its end, and goes on where it was after a restart. It is written past the system's cache
 * where the file system lets it: there it would take the place of what databases beside it use, and pile up until the disk has to
 * take all at once. Confined to one thread.
 */
final class ReceivedFile implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(ReceivedFile.class);
    private static final int WRITE_BYTES = 1 << 20;

    /** Of memory, positions and lengths of writes past the cache; a multiple of what file systems want. */
    private static final int ALIGNMENT_BYTES = 64 << 10;

    /** A disk takes so much while a commit can wait for it. */
    private static final int FORCE_BYTES = 16 << 20;

    private final Path path;
    private final ByteBuffer buffer;
    private final CRC32C crc = new CRC32C();
    private FileChannel channel;
    private boolean pastCache;
    private long written;
    private long forced;

    /**
     * Opens it, or begins it. What is there is read again.
     *
     * @param bytes its length when it is whole
     * @param buffer of {@link #buffer}, which this file alone uses until it is closed
     */
    ReceivedFile(Path path, long bytes, ByteBuffer buffer) throws IOException {
        this.path = path;
        this.buffer = buffer.clear();
        pastCache = takesWritesPastCache(path);
        channel = open();
        try {
            written = channel.size();
            if (written != bytes) {
                written = Math.min(written, bytes) / WRITE_BYTES * WRITE_BYTES;
                channel.truncate(written);
            }
            FileTree.update(crc, path);
        } catch (IOException e) {
            channel.close();
            throw e;
        }
    }

    /** What files are written from, one after the other. */
    static ByteBuffer buffer() {
        return ByteBuffer.allocateDirect(WRITE_BYTES + ALIGNMENT_BYTES)
                .alignedSlice(ALIGNMENT_BYTES)
                .slice(0, WRITE_BYTES);
    }

    private static boolean takesWritesPastCache(Path path) {
        try {
            return Files.getFileStore(path.getParent()).getBlockSize() <= ALIGNMENT_BYTES;
        } catch (UnsupportedOperationException | IOException e) {
            LOG.debug("the file system of {} does not tell its blocks", path, e);
            return false;
        }
    }

    private FileChannel open() throws IOException {
        if (pastCache) {
            try {
                return FileChannel.open(
                        path, StandardOpenOption.CREATE, StandardOpenOption.WRITE, ExtendedOpenOption.DIRECT);
            } catch (UnsupportedOperationException | IOException e) { // a file system in memory, for instance
                LOG.debug("{} is written by way of the cache", path, e);
                pastCache = false;
            }
        }
        return FileChannel.open(path, StandardOpenOption.CREATE, StandardOpenOption.WRITE);
    }

    /** So much of it is here. */
    long bytes() {
        return written + buffer.position();
    }

    /** CRC32C of what is here. */
    int checksum() {
        return (int) crc.getValue();
    }

    /** Takes what follows. */
    void append(ByteBuffer part) throws IOException {
        crc.update(part.duplicate());
        while (part.hasRemaining()) {
            int bytes = Math.min(part.remaining(), buffer.remaining());
            buffer.put(part.slice(part.position(), bytes));
            part.position(part.position() + bytes);
            if (!buffer.hasRemaining()) {
                write();
            }
        }
    }

    /** Nothing follows: all of it is on disk when this returns. */
    void finish() throws IOException {
        long bytes = bytes();
        buffer.position((buffer.position() + ALIGNMENT_BYTES - 1) / ALIGNMENT_BYTES * ALIGNMENT_BYTES);
        write();
        channel.truncate(bytes);
        written = bytes;
        channel.force(true);
    }

    private void write() throws IOException {
        buffer.flip();
        while (buffer.hasRemaining()) {
            try {
                written += channel.write(buffer, written);
            } catch (IOException e) {
                if (!pastCache) {
                    throw e;
                }
                LOG.debug("{} cannot be written past the cache", path, e); // some file systems say so only now
                pastCache = false;
                channel.close();
                channel = open();
            }
        }
        buffer.clear();
        if (written - forced >= FORCE_BYTES) {
            channel.force(false);
            forced = written;
        }
    }

    /** What was taken and not written yet is lost. */
    @Override
    public void close() throws IOException {
        channel.close();
    }
}
