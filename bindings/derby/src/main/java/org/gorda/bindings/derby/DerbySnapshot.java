package org.gorda.bindings.derby;

import java.io.File;
import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.file.AtomicMoveNotSupportedException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Objects;
import java.util.stream.Stream;
import org.gorda.gapi.ReflectionException;

/**
 * Snapshots by Derby's own online backup: the files and the log up to the end of the backup, which the first start of the copy works off. The position
 * is a row in it, changed by each transaction with what else that changes, so that it is right for whatever the log ends with. Stateless.
 */
final class DerbySnapshot {

    /** So much of the disk stays free. */
    private static final long ROOM_LEFT = 64L << 20;

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
            delete(unfinished);
            try {
                backup(connection, unfinished);
                Files.move(unfinished.resolve(real(database).getFileName()), target, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                delete(unfinished);
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
        long needed = ROOM_LEFT + bytes(database.toFile());
        Path parent = target.toAbsolutePath().getParent();
        long usable = Files.getFileStore(parent == null ? database : parent).getUsableSpace();
        if (usable < needed) {
            throw new ReflectionException("a snapshot of " + database + " cannot be written to " + target
                    + ": it may take " + (needed >> 20) + " MB, and that disk has room for " + (usable >> 20)
                    + " MB: make room there");
        }
    }

    /** Of what is there, while files come and go: nothing of one that was dropped meanwhile. */
    private static long bytes(File path) {
        File[] within = path.listFiles();
        return within == null
                ? path.length()
                : Arrays.stream(within).mapToLong(DerbySnapshot::bytes).sum();
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
            delete(unfinished(database)); // left by a drop or a load that was interrupted
            forceAll(snapshot);
            try {
                Files.move(snapshot, database, StandardCopyOption.ATOMIC_MOVE);
            } catch (AtomicMoveNotSupportedException e) { // it lies on another disk
                copy(snapshot, database);
            }
            force(parent);
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
                delete(unfinished);
                Files.move(database, unfinished, StandardCopyOption.ATOMIC_MOVE);
                delete(unfinished);
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
            forceAll(unfinished);
            Files.move(unfinished, database, StandardCopyOption.ATOMIC_MOVE);
        } finally {
            delete(unfinished);
        }
    }

    private static void forceAll(Path tree) throws IOException {
        for (Path path : everythingIn(tree)) {
            force(path);
        }
    }

    private static void force(Path path) throws IOException {
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    private static void delete(Path tree) throws IOException {
        if (Files.exists(tree)) {
            for (Path file : everythingIn(tree).stream()
                    .sorted(Comparator.reverseOrder())
                    .toList()) {
                Files.delete(file);
            }
        }
    }

    /** Directories before what is in them, the top one first. */
    private static List<Path> everythingIn(Path tree) throws IOException {
        try (Stream<Path> files = Files.walk(tree)) {
            return files.toList();
        }
    }
}
