package org.gorda.bindings.sqlite;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.gorda.bindings.triggers.DatabaseDirectory;
import org.gorda.bindings.triggers.DirectoryLock;
import org.gorda.gapi.FileTree;
import org.gorda.gapi.ReflectionException;

/**
 * The files of an open database: the one that SQLite calls the database, and its write-ahead log, to which each commit writes. Of the log a crash leaves a beginning, of which
 * SQLite takes what ends with a commit. The database's own file is not to be opened here: whoever closes it gives up SQLite's locks of it. Thread-safe.
 */
final class SqliteFiles implements AutoCloseable {

    private static final String FILE = "database.sqlite";

    static final DatabaseDirectory DIRECTORY = new DatabaseDirectory("SQLite", FILE);

    private final Path directory;
    private final DirectoryLock lock;

    /** Takes hold of a database's directory, which is made if it is not there. */
    SqliteFiles(String location) {
        this.directory = Path.of(location).toAbsolutePath();
        if (directory.toString().indexOf('?') >= 0) {
            throw new ReflectionException(
                    "an SQLite database's directory has no '?' in its name, behind which the driver would read settings: "
                            + location);
        }
        this.lock = DirectoryLock.take(directory);
    }

    /** The database, for SQLite. */
    String database() {
        return directory.resolve(FILE).toString();
    }

    /** Where a copy of the database is to be put in a directory. */
    static Path databaseIn(Path directory) {
        return directory.resolve(FILE);
    }

    /** Forces to disk what was committed. */
    void force() throws IOException {
        Path log = directory.resolve(FILE + "-wal");
        if (Files.exists(log)) {
            try (FileChannel channel = FileChannel.open(log, StandardOpenOption.WRITE)) {
                channel.force(true);
            }
        }
        FileTree.force(directory);
    }

    @Override
    public void close() {
        lock.close();
    }
}
