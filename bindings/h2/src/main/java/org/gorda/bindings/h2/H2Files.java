package org.gorda.bindings.h2;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import org.gorda.bindings.triggers.DatabaseDirectory;
import org.gorda.gapi.FileTree;
import org.gorda.gapi.ReflectionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The directory of a database, which has one file, and perhaps a copy of it that was put aside. Used by one thread at a time. */
final class H2Files {

    private static final Logger LOG = LoggerFactory.getLogger(H2Files.class);

    private static final String NAME = "database";

    /** The one file. */
    static final String FILE = NAME + ".mv.db";

    static final DatabaseDirectory DIRECTORY = new DatabaseDirectory("H2", FILE);

    private final Path directory;
    private final Path file;
    private final Path aside;
    private final Path unfinished;

    H2Files(String location) {
        if (location.indexOf(';') >= 0) {
            throw new ReflectionException(
                    "an H2 database's directory has no ';' in its name, behind which H2 would read settings: "
                            + location);
        }
        this.directory = Path.of(location).toAbsolutePath();
        this.file = directory.resolve(FILE);
        this.aside = directory.resolve(FILE + ".before");
        this.unfinished = directory.resolve(FILE + ".before.unfinished");
    }

    /** The database as H2's URLs name it: a channel of the usual kind is closed when a client's thread that reads is interrupted, and the database with it. */
    String url() {
        return "jdbc:h2:async:" + directory.resolve(NAME);
    }

    /** Puts a copy of the file aside, which is on disk then. */
    void putAside(H2Store store) {
        if (isAside()) {
            throw new ReflectionException(aside + " is there already: start the replica again");
        }
        try {
            try {
                store.copy(unfinished);
                FileTree.force(unfinished);
                Files.move(unfinished, aside, StandardCopyOption.ATOMIC_MOVE);
                FileTree.force(directory);
            } finally {
                Files.deleteIfExists(unfinished);
            }
        } catch (IOException e) {
            throw new ReflectionException(
                    "no copy of " + file + " can be made, without which a large table is not changed: " + e, e);
        }
    }

    boolean isAside() {
        return Files.exists(aside);
    }

    /** The copy is not needed any more. */
    void forget() {
        try {
            Files.delete(aside);
            FileTree.force(directory);
        } catch (IOException e) {
            throw new ReflectionException(aside + ", which is not needed any more, cannot be deleted: " + e, e);
        }
    }

    /** Takes the copy that is aside in place of the file; one that is not whole is deleted. */
    void restore() {
        try {
            Files.deleteIfExists(unfinished);
        } catch (IOException e) {
            throw new ReflectionException(unfinished + ", which is not needed any more, cannot be deleted: " + e, e);
        }
        if (!isAside()) {
            return;
        }
        try (FileChannel open = FileChannel.open(file, StandardOpenOption.READ, StandardOpenOption.WRITE);
                FileLock lock = open.tryLock()) {
            if (lock == null) {
                throw new ReflectionException(file + " is open already in another process");
            }
            Files.move(aside, file, StandardCopyOption.ATOMIC_MOVE);
            FileTree.force(directory);
            LOG.info("{} is as it was before a change of its schema that did not come to its end", file);
        } catch (OverlappingFileLockException e) {
            throw new ReflectionException(file + " is open already in this process", e);
        } catch (IOException e) {
            throw new ReflectionException(aside + " cannot be taken in place of " + file + ": " + e, e);
        }
    }
}
