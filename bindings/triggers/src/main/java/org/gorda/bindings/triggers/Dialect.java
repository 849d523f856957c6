package org.gorda.bindings.triggers;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import org.gorda.gapi.Generator;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;

/** An open database, and what it does in its own way. Thread-safe; what is done with a connection is confined to who uses that. */
public interface Dialect {

    /** What executing a statement means. */
    enum Kind {
        /** It reads, or changes the session: its transaction goes on. */
        READ,
        /** It reads, and locks rows or takes values of generators. */
        READ_FOR_UPDATE,
        /** It waits until nobody else changes anything; more than that the database is not asked for. */
        LOCK,
        /** It may change rows. */
        ROWS,
        /** It changes the schema, alike on all replicas. */
        SCHEMA,
        COMMIT,
        ROLLBACK,
        SAVEPOINT,
        ROLLBACK_TO_SAVEPOINT,
        RELEASE_SAVEPOINT,
        AUTOCOMMIT_ON,
        AUTOCOMMIT_OFF
    }

    /**
     * A table that is captured.
     *
     * @param unique columns that are in the primary key or another unique index, counted from 1
     * @param keyMayNotChange whether what follows an update of a key could not be told apart from what precedes it
     */
    record Captured(TableShape shape, Set<Integer> unique, boolean keyMayNotChange) {}

    /** How far a generator has come. */
    record Generated(Generator generator, long last) {}

    /** The table of positions, as SQL names it: IDX, which is its key, TERM, HIGH and LOW. */
    default String positions() {
        return TriggeredDatabase.SCHEMA + ".POSITION";
    }

    /** What stores a position there: its index, its term, and its group's two halves. */
    default String storing() {
        return "INSERT INTO " + positions() + " VALUES (?, ?, ?, ?)";
    }

    /** What makes that table if it is not there. Who commits writes to it; by a statement of a client it is not changed. */
    default List<String> installation() {
        return List.of(
                "CREATE SCHEMA IF NOT EXISTS " + TriggeredDatabase.SCHEMA,
                "CREATE TABLE IF NOT EXISTS " + positions()
                        + " (IDX BIGINT NOT NULL PRIMARY KEY, TERM BIGINT NOT NULL, HIGH BIGINT NOT NULL, LOW BIGINT NOT NULL)",
                "GRANT INSERT ON " + positions() + " TO PUBLIC");
    }

    /** A connection of a client, whose changes are told to {@code capture}. Not in autocommit mode. */
    Connection connect(Properties properties, RowCapture capture) throws SQLException;

    /** A connection of our own, whose changes are not captured. Not in autocommit mode. */
    Connection connect() throws SQLException;

    /**
     * To be called before a text is given to the database in any other way.
     *
     * @throws SQLException with 0A000 if it is not even to be compiled
     */
    void check(String sql) throws SQLException;

    /**
     * What a statement would do, of which only one is to be executed.
     *
     * @throws SQLException if it cannot be compiled, or with 0A000 if it cannot be replicated
     */
    Kind kind(Connection connection, String sql) throws SQLException;

    /** A transaction of a client begins, who has done nothing in it yet. */
    default void beginning(Connection connection) throws SQLException {}

    /** A transaction of a client, who may have read in it and has set no savepoint, is about to change something. */
    default void beginsToChange(Connection connection) throws SQLException {}

    /**
     * A statement of a client begins, or has ended: whatever commits in this session within it fails.
     *
     * @param sql empty if it changes a row by a result set; null if the statement has ended
     */
    void inStatement(Connection connection, @Nullable String sql) throws SQLException;

    /** Whether rows have ended because the database closed them, although there may be more. */
    default boolean wereCut(ResultSet rows) throws SQLException {
        return false;
    }

    /**
     * Tells the connection's capture of rows that it was not told of yet: what its transaction has changed is about to be ordered.
     *
     * @throws SQLException if it cannot be committed, or with 0A000 if it cannot be replicated
     */
    default void tellRows(Connection connection) throws SQLException {}

    /**
     * Whether the driver takes a BLOB or CLOB, of which no row can be replicated, from its client only while it executes the statement, which would hold up others for as
     * long as the client likes.
     */
    default boolean takesLargeObjectsLate() {
        return false;
    }

    /** A failure of the driver as clients are told of it, with a SQLSTATE. */
    default SQLException told(Connection connection, SQLException failure) {
        return failure;
    }

    /**
     * From now on, or no longer, what is done on the connection is our own: it is not captured, and no time-out of its client, which other
     * replicas do not have, ends it.
     */
    void ours(Connection connection, boolean ours);

    /** Whether who only reads keeps others from changing the schema, or from writing to the database's files, so that no statement may begin meanwhile. */
    default boolean readersAreInTheWay() {
        return false;
    }

    /** All tables of clients. */
    ClientTables tables();

    /**
     * A table by its name in the catalogue.
     *
     * @throws SQLException with 0A000 if its rows cannot be replicated
     */
    Captured table(String schema, String name) throws SQLException;

    /** All generators. */
    List<Generated> generators();

    /** Generators that have come further than was {@link #ordered}, by the connection's transaction or whichever. */
    default List<Generated> generated(Connection connection) throws SQLException {
        return generators().stream()
                .filter(one -> !Long.valueOf(one.last()).equals(lastOrdered().get(one.generator())))
                .toList();
    }

    /** So far all replicas know that generators have come. */
    default void ordered(List<Generated> generated) {
        generated.forEach(one -> lastOrdered().put(one.generator(), one.last()));
    }

    /** How far they have come, as {@link #ordered} has it unless a dialect knows otherwise. */
    default Map<Generator, Long> lastOrdered() {
        throw new UnsupportedOperationException();
    }

    /**
     * Changes the schema, within the connection's transaction as far as the database can, and has tables that are new captured.
     *
     * @param sql empty to do no more than the latter
     * @throws SQLException if it fails, as it does on all replicas, or {@linkplain #isLocked needs a lock}
     * @throws org.gorda.gapi.ReflectionException if it fails here for another reason
     */
    void changeSchema(Connection connection, String schema, String sql) throws SQLException;

    /** What {@link #changeSchema} has done is committed, and nobody changes anything yet. */
    default void schemaChanged() throws SQLException {}

    /**
     * Whether the connection's transaction may keep others from changing rows, or the schema.
     *
     * @param hasBegun whether it has begun to change something
     */
    boolean isInTheWay(Connection connection, boolean hasBegun);

    /** Ends what the connection's thread is executing, or its wait for a lock, soon; called by another thread. */
    void cancel(Connection connection);

    /** What {@link #cancel} asked for has no effect any more. */
    void forgetCancel(Connection connection);

    /** Changes rows as others have, on a connection of our own. */
    Rows rows(Connection connection);

    /** Whether those are given long values as {@link org.gorda.gapi.LongValue}, to be read piece by piece, and not as they are in memory. */
    default boolean takesPieces() {
        return false;
    }

    /** Whether something has failed because of another transaction's lock. */
    boolean isLocked(SQLException failure);

    /** Whether the database lets the connection's transaction do nothing any more but be rolled back, because of another one. */
    boolean isVictim(Connection connection);

    /** Whether a failure of a statement leaves open if what it has changed, or more, was taken back. */
    boolean leavesInDoubt(Connection connection, SQLException failure);

    /** Whether a failure means that the database has stopped. */
    boolean hasStopped(SQLException failure);

    /** Whether a commit itself writes what it has changed to the database's files: nobody is waited for to {@link #write} it. */
    default boolean commitsWrite() {
        return false;
    }

    /** Whether so much waits to be written to the database's files that it should not wait longer. */
    boolean hasMuchToWrite();

    /** Writes to the database's files what was changed. Nobody changes anything meanwhile, and the database does not do it by itself. */
    void write() throws SQLException;

    /** Forces to disk what was {@linkplain #write written}. */
    void force() throws SQLException;

    /** As {@link org.gorda.gapi.ReflectedDatabase#snapshot}, of what was {@linkplain #write written} last, or later. */
    void snapshot(Path directory);

    /** Whether a change of the schema has begun that is neither committed nor taken back, whose connection is not to be closed or rolled back by others. By any thread. */
    default boolean isChangingSchema() {
        return false;
    }

    /** Shuts the database down in order; or, in the midst of a change of the schema, so that nothing of that is left. */
    void close();

    /** Changes rows without triggers, cascades and checks. Values are as {@link org.gorda.gapi.WriteSetReader} gives them. */
    interface Rows {

        /** The lock that a change needs is held by another transaction. */
        final class Locked extends Exception {
            private static final long serialVersionUID = 1L;

            public Locked(Throwable cause) {
                super(cause);
            }
        }

        void insert(TableShape table, List<@Nullable Object> values) throws Locked;

        /**
         * Changes columns of a row, counted from 1. Its new keys may be another row's until {@link #endOfStatement}.
         *
         * @return false if there is no such row
         */
        boolean update(
                TableShape table, List<@Nullable Object> key, List<Integer> columns, List<@Nullable Object> values)
                throws Locked;

        /**
         * Deletes a row.
         *
         * @return false if there is no such row
         */
        boolean delete(TableShape table, List<@Nullable Object> key) throws Locked;

        void endOfStatement() throws Locked;

        /** A generator has given a value, elsewhere. */
        void generated(Generator generator, long last) throws Locked;

        /** What was changed is about to be committed together with its position, of which there may be no more than that. */
        default void committing() throws Locked {}

        /** Forgets what was not committed. */
        void rolledBack();
    }
}
