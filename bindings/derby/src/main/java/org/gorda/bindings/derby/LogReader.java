package org.gorda.bindings.derby;

import java.io.File;
import java.io.FileNotFoundException;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import org.apache.derby.io.StorageRandomAccessFile;

/**
 * Reads a file of Derby's log by windows around the place that is asked for, as the next one asked for is near it, in either direction. What is read does not
 * change any more: Derby writes what lies before the place from which it reads on, before it opens the file. Confined to one thread at a time, as Derby uses it.
 */
final class LogReader extends RandomAccessFile implements StorageRandomAccessFile {

    static final int WINDOW_BYTES = 16 << 10;

    private final File path;
    private final byte[] window = new byte[WINDOW_BYTES];
    private long windowStart;
    private int windowLength;
    private long position;

    LogReader(File path) throws FileNotFoundException {
        super(path, "r");
        this.path = path;
    }

    @Override
    public int read() throws IOException {
        if (!isInWindow() && !moveWindow()) {
            return -1;
        }
        int value = window[(int) (position - windowStart)] & 0xff;
        position++;
        return value;
    }

    @Override
    public int read(byte[] target, int offset, int length) throws IOException {
        if (length == 0) {
            return 0;
        }
        if (!isInWindow() && !moveWindow()) {
            return -1;
        }
        int from = (int) (position - windowStart);
        int count = Math.min(length, windowLength - from);
        System.arraycopy(window, from, target, offset, count);
        position += count;
        return count;
    }

    @Override
    public int read(byte[] target) throws IOException {
        return read(target, 0, target.length);
    }

    private boolean isInWindow() {
        return position >= windowStart && position < windowStart + windowLength;
    }

    /** False at the end of the file. */
    private boolean moveWindow() throws IOException {
        windowStart = Math.max(0, position - WINDOW_BYTES / 2);
        windowLength = 0;
        super.seek(windowStart);
        int count = 0;
        while (count >= 0 && windowLength < WINDOW_BYTES) {
            count = super.read(window, windowLength, WINDOW_BYTES - windowLength);
            windowLength += Math.max(count, 0);
        }
        return isInWindow();
    }

    @Override
    public void seek(long to) throws IOException {
        if (to < 0) {
            throw new IOException("a place before the start of " + path + ": " + to);
        }
        position = to;
    }

    @Override
    public long getFilePointer() {
        return position;
    }

    /** Nothing is written. */
    @Override
    public void sync() {}

    @Override
    public LogReader clone() {
        try {
            return new LogReader(path);
        } catch (FileNotFoundException e) {
            throw new UncheckedIOException(e);
        }
    }
}
