package org.gorda.bindings.triggers;

import java.io.IOException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.Objects;
import org.gorda.gapi.FileTree;
import org.gorda.gapi.ReflectionException;

/**
 * The directory of a database that has it alone, and snapshots of it: what a crash at its moment would have left, the row with the position in it. It is there
 * wholly, or not at all. Immutable.
 *
 * @param product for people
 * @param file without which it is no database
 */
public record DatabaseDirectory(String product, String file) {

    /** Copies the database's files to a directory. */
    public interface Copy {
        void to(Path directory) throws IOException;
    }

    /** As {@link org.gorda.gapi.ReflectedDatabase#snapshot}. */
    public void snapshot(Path target, Copy copy) {
        if (Files.exists(target)) {
            throw new ReflectionException("a snapshot cannot be written to " + target + ", which exists");
        }
        Path unfinished = unfinished(target);
        try {
            delete(unfinished);
            try {
                Files.createDirectories(unfinished);
                copy.to(unfinished);
                Files.move(unfinished, target, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                delete(unfinished);
            }
        } catch (IOException e) {
            throw new ReflectionException("a snapshot cannot be written to " + target + ": " + e, e);
        }
    }

    /** As {@link org.gorda.gapi.DatabaseBinding#load}. */
    public void load(Path snapshot, Path database) {
        if (!Files.isRegularFile(snapshot.resolve(file))) {
            throw new ReflectionException(
                    snapshot + " is no snapshot of an " + product + " database: it has no " + file);
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
            FileTree.forceAll(snapshot);
            try {
                Files.move(snapshot, database, StandardCopyOption.ATOMIC_MOVE);
            } catch (AtomicMoveNotSupportedException e) { // it lies on another disk
                copyAll(snapshot, unfinished);
                FileTree.forceAll(unfinished);
                Files.move(unfinished, database, StandardCopyOption.ATOMIC_MOVE);
            }
            FileTree.force(parent);
        } catch (IOException e) {
            throw new ReflectionException(
                    "the snapshot " + snapshot + " cannot be loaded to " + database + ": " + e, e);
        }
    }

    /** As {@link org.gorda.gapi.DatabaseBinding#drop}. */
    public void drop(Path database) {
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

    private static void copyAll(Path from, Path to) throws IOException {
        Files.createDirectory(to);
        try (DirectoryStream<Path> files = Files.newDirectoryStream(from)) {
            for (Path each : files) {
                Files.copy(each, to.resolve(each.getFileName()));
            }
        }
    }

    private static void delete(Path path) throws IOException {
        if (Files.isDirectory(path)) {
            try (DirectoryStream<Path> files = Files.newDirectoryStream(path)) {
                for (Path each : files) {
                    delete(each);
                }
            }
        }
        Files.deleteIfExists(path);
    }
}
