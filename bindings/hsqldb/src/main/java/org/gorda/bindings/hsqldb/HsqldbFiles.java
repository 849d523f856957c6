package org.gorda.bindings.hsqldb;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.gorda.bindings.triggers.DatabaseDirectory;
import org.gorda.bindings.triggers.DirectoryLock;
import org.gorda.gapi.ReflectionException;

/**
 * The files of an open database: a script of all that there was at some moment, and a log of what was committed since, transaction after transaction. Of the log a crash leaves a
 * beginning. Thread-safe.
 */
final class HsqldbFiles implements AutoCloseable {

    private static final String NAME = "database";
    private static final String SCRIPT = NAME + ".script";
    private static final String LOG = NAME + ".log";

    /** Of rows that were there before the database was a replica's, and do not change any more. */
    private static final String LARGE_OBJECTS = NAME + ".lobs";

    private static final String PROPERTIES = NAME + ".properties";

    static final DatabaseDirectory DIRECTORY = new DatabaseDirectory("HSQLDB", SCRIPT);

    private final Path directory;
    private final DirectoryLock lock;

    /** Takes hold of a database's directory, which is made if it is not there. */
    HsqldbFiles(String location) {
        this.directory = Path.of(location).toAbsolutePath();
        if (location.indexOf(';') >= 0) {
            throw new ReflectionException(
                    "an HSQLDB database's directory has no ';' in its name, behind which HSQLDB would read settings: "
                            + location);
        }
        this.lock = DirectoryLock.take(directory);
        try {
            cutLog();
        } catch (IOException e) {
            lock.close();
            throw new ReflectionException("the directory " + directory + " cannot be used: " + e, e);
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
            for (String other : List.of(LOG, LARGE_OBJECTS)) {
                if (Files.exists(directory.resolve(other))) {
                    Files.copy(directory.resolve(other), copy.resolve(other));
                }
            }
            Files.copy(directory.resolve(PROPERTIES), copy.resolve(PROPERTIES)); // after what it tells of
        });
    }

    @Override
    public void close() {
        lock.close();
    }
}
