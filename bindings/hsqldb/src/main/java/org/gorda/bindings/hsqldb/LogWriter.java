package org.gorda.bindings.hsqldb;

import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.OutputStream;
import org.hsqldb.lib.FileAccess.FileSync;
import org.jspecify.annotations.Nullable;

/**
 * Where HSQLDB's log goes through. HSQLDB leaves out what it could not write, says nothing, and writes what comes next when there is room again: a log with a hole in
 * its midst, which it would execute as if there were none. Here nothing is written any more behind what has failed, so that the log is a beginning of what was committed. Thread-safe.
 */
final class LogWriter extends FilterOutputStream implements FileSync {

    private final FileSync disk;

    /** HSQLDB's own, which its timer may hold since before this was put in its place; and who writes holds this one's. */
    private final OutputStream lock;

    private @Nullable IOException failure;

    /** @param disk forces what was written through */
    LogWriter(OutputStream out, FileSync disk) {
        super(out);
        this.disk = disk;
        this.lock = out;
    }

    private interface Work {
        void run() throws IOException;
    }

    private void unlessFailed(Work work) throws IOException {
        synchronized (lock) {
            check();
            try {
                work.run();
            } catch (IOException e) {
                failure = e;
                throw e;
            }
        }
    }

    /** Whether anything has failed until now. */
    boolean hasFailed() {
        synchronized (lock) {
            return failure != null;
        }
    }

    /** @throws IOException if anything has failed until now */
    void check() throws IOException {
        synchronized (lock) {
            if (failure != null) {
                throw new IOException("the log could not be written: " + failure, failure);
            }
        }
    }

    @Override
    public void write(int one) throws IOException {
        unlessFailed(() -> out.write(one));
    }

    @Override
    public void write(byte[] bytes, int offset, int length) throws IOException {
        unlessFailed(() -> out.write(bytes, offset, length));
    }

    @Override
    public void flush() throws IOException {
        unlessFailed(out::flush);
    }

    @Override
    public void sync() throws IOException {
        unlessFailed(disk::sync);
    }

    /** What has failed stays open: to close it would write what is left in its buffer. */
    @Override
    public void close() throws IOException {
        unlessFailed(out::close);
    }
}
