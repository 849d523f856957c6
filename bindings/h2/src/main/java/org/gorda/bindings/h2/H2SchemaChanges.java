package org.gorda.bindings.h2;

import java.io.IOException;
import java.nio.file.Path;
import java.util.Comparator;
import java.util.List;
import java.util.UUID;
import java.util.concurrent.Semaphore;
import java.util.stream.Stream;
import org.gorda.bindings.triggers.TriggeredDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.TableShape;
import org.h2.api.ErrorCode;
import org.h2.command.Prepared;
import org.h2.engine.Database;
import org.h2.engine.SessionLocal;
import org.h2.expression.Expression;
import org.h2.message.DbException;
import org.h2.schema.Sequence;
import org.h2.schema.TriggerObject;
import org.h2.table.Column;
import org.h2.table.Table;
import org.h2.table.TableType;
import org.h2.table.TableView;
import org.h2.util.TimeZoneProvider;
import org.jspecify.annotations.Nullable;

/**
 * Makes changes of the schema, each as a whole: in the database, and in its file. H2 alters a table by copying it to a new one, dropping the first, and giving
 * its name to the copy, and commits between; and when it writes its file in the midst of that, who opens that file after a kill finds it damaged (2.5.252, also alone).
 * Therefore
 *
 * <ul>
 *   <li>it writes nothing by itself while it changes the schema, unless what it copies would need too much memory; then a copy of its file is put aside, and
 *       taken in place of the file when the database is opened before the change is committed and on disk;
 *   <li>when a change has failed, the tables that were not there before are dropped;
 *   <li>while a change is not whole, and for good if it cannot be taken back, the database is only closed without a word to its file.
 * </ul>
 *
 * <p>Used by one thread at a time, while nobody else changes anything.
 */
final class H2SchemaChanges {

    /** How names of our triggers begin. */
    private static final String TRIGGER = "GORDA$";

    private final Database database;
    private final H2Store store;
    private final H2Files files;

    /** What a copied row takes in memory until it is written, whatever is in it: measured with narrow rows. */
    private static final long ROW_BYTES = 250;

    private static final long ROW_BYTES_FOR_EACH_INDEX = 50;

    /** What else it takes there, in its bytes on disk: strings and large numbers are objects. */
    private static final long BYTES_ON_DISK = 2;

    private final long copiedInMemoryMax = Runtime.getRuntime().maxMemory() / 4;

    /** Had by who copies the file, or lets H2 write parts of a change to it. */
    private final Semaphore writesParts = new Semaphore(1);

    private boolean mayWriteParts;
    private volatile boolean isHalfMade;
    private volatile boolean isOver;

    H2SchemaChanges(Database database, H2Store store, H2Files files) {
        this.database = database;
        this.store = store;
        this.files = files;
    }

    static boolean isOurs(String trigger) {
        return trigger.startsWith(TRIGGER);
    }

    private static Stream<Table> all(Database database) {
        return database.getAllSchemasNoMeta().stream().flatMap(schema -> schema.getAllTablesAndViews(null).stream());
    }

    static Stream<Table> tables(Database database) {
        return all(database).filter(table -> table.getTableType() == TableType.TABLE && !table.isTemporary());
    }

    static boolean isClients(Table table) {
        return !table.getSchema().getName().equals(TriggeredDatabase.SCHEMA)
                && !table.getSchema().getName().equals("INFORMATION_SCHEMA");
    }

    /**
     * Makes a change, and has tables captured that are new; what H2 has not committed before is to be committed with that, and {@link #committed} called.
     *
     * @throws DbException if it fails, and has changed nothing then
     * @throws ReflectionException if that cannot be said
     * @throws org.h2.mvstore.MVStoreException if the file cannot be written
     */
    void make(SessionLocal session, String schema, String sql) {
        store.write(); // so that all there is to write is of the change, and that does not make H2 write
        List<Table> before = tables(database).toList();
        Runnable restore = () -> {};
        boolean isWhole = false;
        TimeZoneProvider zone = session.currentTimeZone();
        isHalfMade = true;
        if (isOver) { // looked at only now: of this thread and who ends it, one sees the other
            throw DbException.get(ErrorCode.DATABASE_IS_CLOSED);
        }
        try {
            session.setCurrentSchemaName(schema);
            session.setTimeZone(TimeZoneProvider.UTC); // machines have zones of their own
            Prepared change = session.prepare(sql.strip().replaceAll(";+$", ""));
            restore = restoring(H2Statements.altered(change), session);
            Table copied = H2Statements.copied(change, session);
            if (copied != null && copyBytes(copied, session) > copiedInMemoryMax) {
                store.force();
                writesParts.acquireUninterruptibly();
                mayWriteParts = true;
                files.putAside(store);
                store.writesByItself(true);
            }
            change.update();
            // As when the database is opened: what a view that has lost its columns keeps from being dropped must not
            // depend on when that was.
            all(database)
                    .filter(TableView.class::isInstance)
                    .forEach(view -> ((TableView) view).recompile(session, true, false));
            captureAll(session);
            isWhole = true;
        } catch (DbException e) {
            store.writesByItself(false);
            if (!H2Dialect.isTheEnd(e.getSQLException())) {
                takeBack(restore, before, session);
                isWhole = true;
            }
            throw e;
        } finally {
            session.setTimeZone(zone);
            store.writesByItself(false);
            if (!isWhole) {
                database.shutdownImmediately(); // so that nobody goes on with what is left, and the file is as it was
                endParts();
            }
        }
    }

    /** Whether a change has begun that is neither committed nor taken back. Thread-safe. */
    boolean isHalfMade() {
        return isHalfMade;
    }

    /** No change begins any more, unless it is half made. Thread-safe. */
    void end() {
        isOver = true;
    }

    /** Copies the file, when it has no part of a change. Thread-safe. */
    void copy(Path target) throws IOException {
        writesParts.acquireUninterruptibly();
        try {
            store.copy(target);
        } finally {
            writesParts.release();
        }
    }

    /** What was made is committed: from now on it is not taken back. */
    void committed() {
        if (files.isAside()) {
            store.write();
            store.force();
            files.forget();
        }
        endParts();
        isHalfMade = false;
    }

    private void endParts() {
        if (mayWriteParts) {
            mayWriteParts = false;
            writesParts.release();
        }
    }

    private static long copyBytes(Table table, SessionLocal session) {
        long rowBytes =
                ROW_BYTES + ROW_BYTES_FOR_EACH_INDEX * table.getIndexes().size();
        return table.getRowCountApproximation(session) * rowBytes + BYTES_ON_DISK * table.getDiskSpaceUsed(true, true);
    }

    /** H2 takes from a column what its new type will not have before it knows whether it can have that, and keeps that from its catalogue. */
    private static Runnable restoring(@Nullable Column column, SessionLocal session) {
        if (column == null) {
            return () -> {};
        }
        Sequence sequence = column.getSequence();
        boolean isGeneratedAlways = column.isGeneratedAlways();
        Expression value = column.getDefaultExpression();
        boolean isVisible = column.getVisible();
        return () -> {
            if (sequence != null) {
                column.setSequence(sequence, isGeneratedAlways);
            } else if (isGeneratedAlways) {
                column.setGeneratedExpression(value);
            } else {
                column.setDefaultExpression(session, value);
            }
            column.setVisible(isVisible);
        };
    }

    private void takeBack(Runnable restore, List<Table> before, SessionLocal session) {
        try {
            session.rollback();
            restore.run();
            List<Table> now = tables(database).toList();
            List<Table> made =
                    now.stream().filter(table -> !before.contains(table)).toList();
            if (!made.isEmpty() && !now.containsAll(before)) {
                throw new ReflectionException("a schema change has failed when H2 had put "
                        + made.get(0).getSQL(0) + " in the place of another table: start the replica again");
            }
            for (Table left : made) {
                session.prepare("DROP TABLE " + left.getSQL(0) + " CASCADE").update();
            }
            session.commit(true);
            committed();
        } catch (DbException e) {
            throw new ReflectionException(
                    "what a schema change has left that failed cannot be taken back: " + e.getMessage(), e);
        }
    }

    /** Only what is committed with its trigger is ever seen by anybody: H2 commits a schema change when it is told to. */
    void captureAll(SessionLocal session) {
        for (Table table : tables(database).toList()) {
            boolean isCaptured = table.getSchema().getAllTriggers().stream()
                    .anyMatch(trigger -> trigger.getTable().equals(table) && isOurs(trigger.getName()));
            if (!isCaptured) {
                String events = " INSERT, UPDATE, DELETE";
                trigger(session, table, "AFTER" + events, " FOR EACH ROW", CaptureTrigger.class);
                trigger(session, table, "AFTER" + events + ", ROLLBACK", " FOR EACH ROW", RollbackTrigger.class);
                trigger(session, table, "BEFORE" + events, "", StatementTrigger.class);
            }
        }
    }

    /**
     * What another trigger does is told behind the change that it is called for. H2 calls them in the order of their numbers once the database was opened anew, and a new one may
     * have been given a low number that had become free.
     */
    void putOursFirst() {
        database.getAllSchemasNoMeta().stream()
                .flatMap(schema -> schema.getAllTriggers().stream())
                .filter(trigger -> !isOurs(trigger.getName()))
                .sorted(Comparator.comparing(TriggerObject::getId))
                .forEach(trigger -> {
                    trigger.getTable().removeTrigger(trigger);
                    trigger.getTable().addTrigger(trigger);
                });
    }

    private static void trigger(SessionLocal session, Table table, String when, String each, Class<?> action) {
        String name = table.getSchema().getSQL(0) + "." + TableShape.quoted(TRIGGER + UUID.randomUUID());
        session.prepare("CREATE TRIGGER " + name + ' ' + when + " ON " + table.getSQL(0) + each + " CALL '"
                        + action.getName() + "'")
                .update();
    }
}
