package org.gorda.bindings.h2;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.Objects;
import org.gorda.gapi.ReflectionException;

/**
 * The directory of a database, which has one file, and snapshots of it: what a crash at its moment would have left, the row with the position in it.
 * Stateless.
 */
final class H2Files {

    private static final String NAME = "database";
    private static final String FILE = NAME + ".mv.db";

    private H2Files() {}

    /** The database as H2's URLs name it. */
    static String url(String location) {
        if (location.indexOf(';') >= 0) {
            throw new ReflectionException(
                    "an H2 database's directory has no ';' in its name, behind which H2 would read settings: "
                            + location);
        }
        return "jdbc:h2:file:" + Path.of(location).toAbsolutePath().resolve(NAME);
    }

    static void snapshot(H2Store store, Path target) {
        if (Files.exists(target)) {
            throw new ReflectionException("a snapshot cannot be written to " + target + ", which exists");
        }
        Path unfinished = unfinished(target);
        try {
            delete(unfinished);
            try {
                Files.createDirectories(unfinished);
                store.copy(unfinished.resolve(FILE));
                Files.move(unfinished, target, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                delete(unfinished);
            }
        } catch (IOException e) {
            throw new ReflectionException("a snapshot cannot be written to " + target + ": " + e, e);
        }
    }

    static void load(Path snapshot, Path database) {
        if (!Files.isRegularFile(snapshot.resolve(FILE))) {
            throw new ReflectionException(snapshot + " is no snapshot of an H2 database: it has no " + FILE);
        }
        if (Files.exists(database)) {
            throw new ReflectionException(
                    "a snapshot cannot be loaded to " + database + ", which exists: move it out of the way first");
        }
        Path unfinished = unfinished(database);
        Path parent = Objects.requireNonNull(database.toAbsolutePath().getParent());
        try {
            delete(unfinished); // left by a drop or a load that was interrupted
            Files.createDirectories(parent);
            force(snapshot.resolve(FILE));
            try {
                Files.move(snapshot, database, StandardCopyOption.ATOMIC_MOVE);
            } catch (AtomicMoveNotSupportedException e) { // it lies on another disk
                Files.createDirectory(unfinished);
                Files.copy(snapshot.resolve(FILE), unfinished.resolve(FILE));
                force(unfinished.resolve(FILE));
                Files.move(unfinished, database, StandardCopyOption.ATOMIC_MOVE);
            }
            force(database);
            force(parent);
        } catch (IOException e) {
            throw new ReflectionException(
                    "the snapshot " + snapshot + " cannot be loaded to " + database + ": " + e, e);
        }
    }

    static void drop(Path database) {
        try {
            if (Files.exists(database)) {
                Path unfinished = unfinished(database);
                delete(unfinished);
                Files.move(database, unfinished, StandardCopyOption.ATOMIC_MOVE);
                delete(unfinished);
            }
        } catch (IOException e) {
            throw new ReflectionException("the database " + database + " cannot be deleted: " + e, e);
        }
    }

    private static Path unfinished(Path target) {
        return target.resolveSibling(target.getFileName() + ".unfinished");
    }

    private static void force(Path path) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    private static void delete(Path directory) throws IOException {
        if (Files.exists(directory)) {
            try (DirectoryStream<Path> files = Files.newDirectoryStream(directory)) {
                for (Path file : files) {
                    Files.delete(file);
                }
            }
            Files.delete(directory);
        }
    }
}
