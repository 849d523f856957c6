package org.gorda.bindings.derby;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.HashSet;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.gorda.gapi.ReflectionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What is left when the creation of a database is interrupted: Derby can neither open it nor create a database over it. It lets nobody
 * in before it has written {@code service.properties}, so that nothing can be in a directory where that is missing or empty.
 */
final class InterruptedCreation {

    private static final Logger LOG = LoggerFactory.getLogger(InterruptedCreation.class);

    private static final String LOCK = "dbex.lck";

    /** What Derby makes before that file. */
    private static final Set<String> MADE_BEFORE =
            Set.of("db.lck", LOCK, "log", "seg0", "tmp", "README_DO_NOT_TOUCH_FILES.txt");

    private static final String MADE_LAST = "service.properties";

    private InterruptedCreation() {}

    /**
     * Moves it out of the way, so that the database can be created. Touches nothing else.
     *
     * @throws ReflectionException if another process is at work there, or if it cannot be moved
     */
    static void setAside(Path database) {
        try {
            if (!Files.isDirectory(database)) {
                return;
            }
            Set<String> names = names(database);
            if (names.contains(MADE_LAST) && Files.size(database.resolve(MADE_LAST)) == 0) {
                names.remove(MADE_LAST);
            }
            if (names.isEmpty()) {
                Files.delete(database);
            } else if (names.contains(LOCK) && MADE_BEFORE.containsAll(names)) {
                requireUnused(database);
                Path aside = free(database);
                Files.move(database, aside);
                LOG.warn(
                        "the creation of {} had been interrupted before anything was in it: it is {} now, which can be deleted, "
                                + "and is created anew",
                        database,
                        aside);
            }
        } catch (IOException e) {
            throw new ReflectionException(
                    "the creation of " + database
                            + " was interrupted, and what is left cannot be moved out of the way (" + e
                            + "): delete it, it holds nothing yet",
                    e);
        }
    }

    private static Set<String> names(Path directory) throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.map(file -> String.valueOf(file.getFileName())).collect(Collectors.toCollection(HashSet::new));
        }
    }

    /** Derby holds a lock on this file while it has the database, be it half made. */
    private static void requireUnused(Path database) throws IOException {
        try (FileChannel channel = FileChannel.open(database.resolve(LOCK), StandardOpenOption.WRITE);
                FileLock lock = channel.tryLock()) {
            if (lock != null) {
                return;
            }
        } catch (OverlappingFileLockException e) {
            LOG.debug("{} is used in this process", database, e);
        }
        throw new ReflectionException("another process is just creating the database " + database
                + ": stop that process, or give each replica a database of its own");
    }

    private static Path free(Path database) {
        int number = 1;
        while (Files.exists(numbered(database, number))) {
            number++;
        }
        return numbered(database, number);
    }

    private static Path numbered(Path database, int number) {
        return database.resolveSibling(database.getFileName() + ".interrupted-" + number);
    }
}
