package org.gorda.bindings.derby;

import java.io.IOException;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.gorda.gapi.FileTree;
import org.gorda.gapi.ReflectionException;

/**
 * Snapshots by Derby's own online backup: the files and the log up to the end of the backup, which the first start of the copy works off. The position
 * is a row in it, changed by each transaction with what else that changes, so that it is right for whatever the log ends with. Stateless.
 */
final class DerbySnapshot {

    private static final String SERVICE_PROPERTIES = "service.properties";

    private DerbySnapshot() {}

    /** @throws SQLException what Derby says, upon which nothing is left */
    static void write(Connection connection, Path database, Path target) throws SQLException {
        if (Files.exists(target)) {
            throw new ReflectionException("a snapshot cannot be written to " + target + ", which exists");
        }
        Path unfinished = unfinished(target);
        try {
            requireRoom(database, target);
            FileTree.delete(unfinished);
            try {
                backup(connection, unfinished);
                Files.move(unfinished.resolve(real(database).getFileName()), target, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                FileTree.delete(unfinished);
            }
        } catch (IOException e) {
            throw new ReflectionException(
                    "a snapshot of " + database + " cannot be written to " + target + ": " + e, e);
        }
    }

    private static void backup(Connection connection, Path target) throws SQLException, IOException {
        try (SteadyForce force = new SteadyForce(target);
                CallableStatement backup = connection.prepareCall("CALL SYSCS_UTIL.SYSCS_BACKUP_DATABASE(?)")) {
            backup.setString(1, target.toString());
            PageCacheFactory.copies();
            try {
                backup.execute();
            } finally {
                PageCacheFactory.copied();
            }
            force.end();
        }
    }

    /** Without room for its log the database itself would stop. */
    private static void requireRoom(Path database, Path target) throws IOException {
        long needed = FileTree.ROOM_LEFT + FileTree.bytes(database.toFile());
        Path parent = target.toAbsolutePath().getParent();
        long usable = Files.getFileStore(parent == null ? database : parent).getUsableSpace();
        if (usable < needed) {
            throw new ReflectionException("a snapshot of " + database + " cannot be written to " + target
                    + ": it may take " + (needed >> 20) + " MB, and that disk has room for " + (usable >> 20)
                    + " MB: make room there");
        }
    }

    static void load(Path snapshot, Path location) {
        if (!Files.isRegularFile(snapshot.resolve(SERVICE_PROPERTIES))) {
            throw new ReflectionException(
                    snapshot + " is no snapshot of a Derby database: it has no " + SERVICE_PROPERTIES);
        }
        if (Files.exists(location)) {
            throw new ReflectionException(
                    "a snapshot cannot be loaded to " + location + ", which exists: move it out of the way first");
        }
        try {
            Path database = real(location);
            Path parent = Objects.requireNonNull(database.getParent());
            Files.createDirectories(parent);
            FileTree.delete(unfinished(database)); // left by a drop or a load that was interrupted
            FileTree.forceAll(snapshot);
            try {
                Files.move(snapshot, database, StandardCopyOption.ATOMIC_MOVE);
            } catch (AtomicMoveNotSupportedException e) { // it lies on another disk
                copy(snapshot, database);
            }
            FileTree.force(parent);
        } catch (IOException e) {
            throw new ReflectionException(
                    "the snapshot " + snapshot + " cannot be loaded to " + location + ": " + e, e);
        }
    }

    static void drop(Path location) {
        try {
            Path database = real(location);
            if (Files.exists(database)) {
                Path unfinished = unfinished(database);
                FileTree.delete(unfinished);
                Files.move(database, unfinished, StandardCopyOption.ATOMIC_MOVE);
                FileTree.delete(unfinished);
            }
        } catch (IOException e) {
            throw new ReflectionException("the database " + location + " cannot be deleted: " + e, e);
        }
    }

    /** Where a database is, or is to be, that may be named by a link: the link stays. */
    private static Path real(Path location) throws IOException {
        Path at = location.toAbsolutePath();
        while (Files.isSymbolicLink(at)) {
            at = at.resolveSibling(Files.readSymbolicLink(at));
        }
        return at;
    }

    private static Path unfinished(Path target) {
        return target.resolveSibling(target.getFileName() + ".unfinished");
    }

    private static void copy(Path snapshot, Path database) throws IOException {
        Path unfinished = unfinished(database);
        try {
            try (SteadyForce force = new SteadyForce(unfinished)) {
                for (Path source : everythingIn(snapshot)) {
                    Files.copy(source, unfinished.resolve(snapshot.relativize(source)));
                }
                force.end();
            }
            FileTree.forceAll(unfinished);
            Files.move(unfinished, database, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            FileTree.delete(unfinished);
        }
    }

    /** Directories before what is in them, the top one first. */
    private static List<Path> everythingIn(Path tree) throws IOException {
        try (Stream<Path> files = Files.walk(tree)) {
            return files.toList();
        }
    }
}
