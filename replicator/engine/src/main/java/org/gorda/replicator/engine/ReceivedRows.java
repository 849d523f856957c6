package org.gorda.replicator.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.concurrent.TimeUnit;
import java.util.function.Consumer;
import org.gorda.gapi.Applier;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.NoClients;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSet;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Rows that were received from a database of another kind, or for tables that somebody made here. They take the place of all rows in one transaction, together
 * with their position: an interruption leaves the database as it was. The tables themselves are made by people, who know what a column of this database is to be. Stateless.
 */
final class ReceivedRows {

    /** In what a donor gives. */
    static final String INDEX = "index";

    static final String CHANGES = "changes";

    private static final Logger LOG = LoggerFactory.getLogger(ReceivedRows.class);
    private static final long TELL_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final int COLUMNS_LENGTH_MAX = 4000;
    private static final String REMOVALS = "removals";

    private ReceivedRows() {}

    /**
     * Fills a database that is not open, unless it has those rows already.
     *
     * @param leases whether the values of its generators are leased
     * @param progress is told what a person should know
     * @throws ReplicaException if it cannot hold them, or holds what nobody has replicated
     */
    static void install(
            Path rows,
            DatabaseBinding binding,
            DatabaseConfiguration configuration,
            boolean leases,
            Consumer<String> progress)
            throws IOException {
        RowsIndex index = RowsIndex.load(rows.resolve(INDEX));
        try (ReflectedDatabase database = binding.open(configuration, new NoClients())) {
            Optional<StoredPosition> held = database.storedPosition();
            if (held.equals(Optional.of(index.position()))) {
                return;
            }
            checkPosition(held, index.position(), configuration);
            List<TableShape> tables = database.tables();
            checkTables(index, tables, configuration);
            try (Applier applier = database.applier()) {
                Path removals = rows.resolveSibling(REMOVALS);
                if (writeRemovals(applier, tables, removals, configuration) && held.isEmpty()) {
                    throw new ReplicaException(
                            "the database at " + configuration.location()
                                    + " holds rows, but nothing of this group. Move them away, and the replica will receive the group's");
                }
                apply(removals, applier, "removes the rows that were there before", progress);
                String what = String.format(
                        Locale.ROOT,
                        "puts %,d rows of %,d tables into the database",
                        index.rows(),
                        index.tables().size());
                apply(rows.resolve(CHANGES), applier, what, progress);
                applier.leaseGenerators(leases);
                applier.commit(index.position(), true);
                Files.delete(removals);
            }
            database.flush();
        } catch (SQLException e) {
            throw new ReplicaException(
                    "the rows of " + configuration.location() + " cannot be read: " + e.getMessage(), e);
        } catch (ReflectionException e) {
            throw new ReplicaException(
                    "rows that were received cannot be put into " + configuration.location() + ": " + e.getMessage(),
                    e);
        }
    }

    /** Databases tell the highest position of a group as the one that they hold. */
    private static void checkPosition(
            Optional<StoredPosition> held, StoredPosition received, DatabaseConfiguration configuration) {
        if (held.isPresent() && held.get().index() >= received.index()) {
            throw new ReplicaException(
                    "the database at " + configuration.location() + " holds changes up to "
                            + held.get() + ", and rows as of " + received
                            + " were received, which cannot take their place. Make a new database with the same tables, and the replica will receive its rows again");
        }
    }

    private static void checkTables(RowsIndex index, List<TableShape> tables, DatabaseConfiguration configuration) {
        Map<String, TableShape> here = new HashMap<>();
        tables.forEach(table -> here.put(table.toString(), table));
        List<String> wrong = new ArrayList<>();
        for (RowsIndex.Table wanted : index.tables()) {
            TableShape found = here.remove(wanted.name());
            if (found == null) {
                wrong.add("there is no table " + wanted.name() + ", elsewhere with " + wanted.columns());
            } else if (found.fingerprint() != wanted.fingerprint()) {
                wrong.add("table " + wanted.name() + " has " + columns(found) + ", elsewhere " + wanted.columns());
            }
        }
        here.keySet().stream().sorted().forEach(table -> wrong.add("table " + table + " is here only"));
        if (!wrong.isEmpty()) {
            throw new ReplicaException("rows of the group's tables were received for the database at "
                    + configuration.location() + ", which does not have the same tables: " + String.join("; ", wrong)
                    + ". Make them alike, without rows, and start the replica again");
        }
    }

    /** For people: columns with the types that have to be the same, and the primary key. */
    static String columns(TableShape table) {
        List<String> columns = new ArrayList<>();
        table.columns().forEach(column -> columns.add(TableShape.quoted(column.name()) + " " + column.type()));
        List<String> key = new ArrayList<>();
        table.key()
                .forEach(position -> key.add(
                        TableShape.quoted(table.columns().get(position - 1).name())));
        String all = String.join(", ", columns);
        return (all.length() > COLUMNS_LENGTH_MAX ? all.substring(0, COLUMNS_LENGTH_MAX) + "…" : all)
                + (key.isEmpty() ? " and no primary key" : " and primary key " + String.join(", ", key));
    }

    /** Returns whether there are any rows. */
    private static boolean writeRemovals(
            Applier applier, List<TableShape> tables, Path target, DatabaseConfiguration configuration)
            throws SQLException, IOException {
        Files.deleteIfExists(target);
        long found = 0;
        try (RowsFile.Writer file = new RowsFile.Writer(target)) {
            RowsReader reader = new RowsReader(file, configuration.spoolDirectory());
            for (TableShape table : tables) {
                if (!table.key().isEmpty()) {
                    found += reader.delete(applier.reading(), table);
                } else if (RowsReader.isAny(applier.reading(), table.toString())) {
                    throw new ReplicaException(
                            "table " + table + " of the database at " + configuration.location()
                                    + " holds rows and has no primary key, by which to remove them. Remove them, and start the replica again");
                }
            }
            reader.flush();
        } finally {
            applier.rollback();
        }
        return found > 0;
    }

    private static void apply(Path path, Applier applier, String what, Consumer<String> progress) throws IOException {
        long all = Files.size(path);
        long start = System.nanoTime();
        long told = start;
        long logged = start;
        try (RowsFile.Reader file = new RowsFile.Reader(path)) {
            for (WriteSet next = file.next(); next != null; next = file.next()) {
                applier.apply(next);
                long now = System.nanoTime();
                if (now - told > TELL_NANOS) {
                    told = now;
                    long done = file.position();
                    String text = String.format(
                            Locale.ROOT,
                            "%s: %,d of %,d MB, about %,d s left",
                            what,
                            done >> 20,
                            all >> 20,
                            Math.round((all - done) * ((now - start) / 1e9 / done)));
                    progress.accept(text);
                    if (now - logged > LOG_NANOS) {
                        logged = now;
                        LOG.info("{}", text);
                    }
                }
            }
        }
    }
}
