package org.gorda.bindings.derby;

import java.io.File;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.SyncFailedException;
import java.io.UncheckedIOException;
import org.apache.derby.io.StorageRandomAccessFile;

/**
 * Writes a file of Derby's log, which is on disk when {@link #sync} was called and not before. It grows by steps of zeros, which Derby takes for the end of
 * its log: to force a file that has grown takes the disk about twice as long. Confined to one thread at a time, as Derby uses it.
 */
final class LogWriter extends RandomAccessFile implements StorageRandomAccessFile {

    static final int STEP_BYTES = 1 << 20;

    private final File path;
    private long allocated;

    LogWriter(File path) throws IOException {
        super(path, "rw");
        this.path = path;
        this.allocated = length();
    }

    /** What cannot be written Derby tries to write again, some times, and wherever it is then: at the same place. */
    @Override
    public void write(byte[] source, int offset, int length) throws IOException {
        long from = getFilePointer();
        try {
            if (from + length > allocated) {
                allocate(from + length + STEP_BYTES);
                seek(from);
            }
            super.write(source, offset, length);
        } catch (IOException e) {
            seek(from);
            throw e;
        }
    }

    private void allocate(long to) throws IOException {
        long end = length(); // not less than allocated: numbers are written past us
        if (to > end) {
            seek(end);
            super.write(new byte[Math.toIntExact(to - end)]);
        }
        allocated = Math.max(to, end);
    }

    @Override
    public void write(byte[] source) throws IOException {
        write(source, 0, source.length);
    }

    @Override
    public void setLength(long length) throws IOException {
        super.setLength(length);
        allocated = length;
    }

    /** @throws IOException of a kind upon which Derby stops: after a SyncFailedException it tries again, and succeeds though what was written is lost */
    @Override
    public void sync() throws IOException {
        try {
            getFD().sync();
        } catch (SyncFailedException e) {
            throw new IOException(path + " could not be forced to disk", e);
        }
    }

    @Override
    public LogWriter clone() {
        try {
            return new LogWriter(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
