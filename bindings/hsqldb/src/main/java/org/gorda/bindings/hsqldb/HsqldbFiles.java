package org.gorda.bindings.hsqldb;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.gorda.bindings.triggers.DatabaseDirectory;
import org.gorda.gapi.ReflectionException;

/**
 * The files of an open database: a script of all that there was at some moment, and a log of what was committed since, transaction after transaction. Of the log a crash leaves a
 * beginning. Thread-safe.
 */
final class HsqldbFiles implements AutoCloseable {

    private static final String NAME = "database";
    private static final String SCRIPT = NAME + ".script";
    private static final String LOG = NAME + ".log";
    private static final String PROPERTIES = NAME + ".properties";
    private static final String LOCK = NAME + ".lock";

    static final DatabaseDirectory DIRECTORY = new DatabaseDirectory("HSQLDB", SCRIPT);

    private final Path directory;
    private final FileChannel lock;

    /** Takes hold of a database's directory, which is made if it is not there. */
    HsqldbFiles(String location) {
        this.directory = Path.of(location).toAbsolutePath();
        if (location.indexOf(';') >= 0) {
            throw new ReflectionException(
                    "an HSQLDB database's directory has no ';' in its name, behind which HSQLDB would read settings: "
                            + location);
        }
        try {
            Files.createDirectories(directory);
            this.lock = FileChannel.open(directory.resolve(LOCK), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            try {
                lockOrRefuse();
                cutLog();
            } catch (IOException | RuntimeException e) {
                lock.close();
                throw e;
            }
        } catch (IOException e) {
            throw new ReflectionException("the directory " + directory + " cannot be used: " + e, e);
        }
    }

    private void lockOrRefuse() throws IOException {
        FileLock held;
        try {
            held = lock.tryLock();
        } catch (OverlappingFileLockException e) {
            throw new ReflectionException(directory + " is open already in this process", e);
        }
        if (held == null) {
            throw new ReflectionException(directory + " is open already in another process");
        }
    }

    /** A line that has no end may be read as another statement than was written. */
    private void cutLog() throws IOException {
        Path log = directory.resolve(LOG);
        if (!Files.exists(log)) {
            return;
        }
        try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "rw")) {
            long end = file.length();
            while (end > 0) {
                file.seek(end - 1);
                if (file.read() == '\n') {
                    break;
                }
                end--;
            }
            file.setLength(end);
        }
    }

    /** The database as HSQLDB's URLs name it. */
    String url() {
        return "jdbc:hsqldb:file:" + directory.resolve(NAME);
    }

    /** How much of the log is in its file. */
    long logBytes() {
        return directory.resolve(LOG).toFile().length();
    }

    /** Copies what is there, while it may be added to the log, but no new script is written. */
    void snapshot(Path target) {
        DIRECTORY.snapshot(target, copy -> {
            Files.copy(directory.resolve(SCRIPT), copy.resolve(SCRIPT));
            if (Files.exists(directory.resolve(LOG))) {
                Files.copy(directory.resolve(LOG), copy.resolve(LOG));
            }
            Files.copy(directory.resolve(PROPERTIES), copy.resolve(PROPERTIES)); // after what it tells of
        });
    }

    @Override
    public void close() {
        try {
            lock.close();
        } catch (IOException e) {
            throw new ReflectionException(directory + " cannot be let go of: " + e, e);
        }
    }
}
