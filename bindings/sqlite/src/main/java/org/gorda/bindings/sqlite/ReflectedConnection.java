package org.gorda.bindings.sqlite;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Statement;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.WeakHashMap;
import org.gorda.bindings.triggers.Refused;
import org.gorda.bindings.triggers.RowCapture;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;
import org.sqlite.Function;
import org.sqlite.SQLiteCommitListener;
import org.sqlite.core.CoreResultSet;
import org.sqlite.core.DB;
import org.sqlite.core.SafeStmtPtr;
import org.sqlite.jdbc4.JDBC4Connection;
import org.sqlite.jdbc4.JDBC4PreparedStatement;
import org.sqlite.jdbc4.JDBC4Statement;

/**
 * A connection whose triggers tell of rows that are touched, if it is a client's, and do nothing otherwise. Any other connection lacks the functions that triggers call: what it would change
 * is refused. Thread-safe, as the driver's connections are.
 */
final class ReflectedConnection extends JDBC4Connection {

    /** What our triggers call, with their table and the numbers of its rows, or with none if replicas could not find them. */
    static final String TOUCHED = "gorda_touched";

    /** What clients' triggers ask before they do anything. */
    static final String FIRES = "gorda_fires";

    /** The name of the one schema that a database has. */
    static final String SCHEMA = "main";

    private static final String FOREIGN_KEYS = "foreign_keys";

    private final @Nullable RowCapture capture;
    private final TouchedRows touched;

    /** Held while a transaction or the connection is ended, which nobody interrupts. The driver has the connection's own lock while any statement is executed. */
    private final Object ending = new Object();

    /** Whether its client wants foreign keys checked, and whether SQLite does so. */
    private final boolean wantsForeignKeys;

    private boolean checksForeignKeys;

    /** Whether {@link #beginToChange} has taken the lock. */
    private boolean isChanging;

    private final Set<Rows> statements = Collections.synchronizedSet(Collections.newSetFromMap(new WeakHashMap<>()));

    /** Whether an interruption may be in force yet. */
    private volatile boolean wasCancelled;

    /** Whether SQLite has rolled back by itself. */
    private volatile boolean hasLost;

    private volatile boolean isRollingBack;

    private boolean firesAgain;

    private boolean ignoresChecks;

    /** What a trigger has refused, of which SQLite keeps no more than the text. */
    private @Nullable SQLException refused;

    /**
     * Opens a database, which is made if it is not there.
     *
     * @param capture who is to be told of rows; null if nobody
     * @param touchedMax how many rows a transaction may touch
     */
    ReflectedConnection(String file, Properties settings, @Nullable RowCapture capture, long touchedMax)
            throws SQLException {
        super("jdbc:sqlite:" + file, file, settings);
        this.capture = capture;
        this.touched = new TouchedRows(touchedMax);
        this.wantsForeignKeys = Boolean.parseBoolean(settings.getProperty(FOREIGN_KEYS));
        this.checksForeignKeys = wantsForeignKeys;
        Function.create(this, TOUCHED, new Touched());
        Function.create(this, FIRES, new Fires());
        if (capture != null) {
            addCommitListener(new SQLiteCommitListener() {
                @Override
                public void onCommit() {}

                @Override
                public void onRollback() {
                    hasLost |= !isRollingBack;
                }
            });
        }
    }

    private final class Touched extends Function {
        @Override
        protected void xFunc() throws SQLException {
            if (capture == null) {
                return;
            }
            String table = value_text(0);
            if (table == null) {
                return; // a client asks
            }
            try {
                if (hasLost) {
                    throw lost();
                }
                if (args() == 1) {
                    throw Refused.unsupported(
                            "a row of " + TableShape.quoted(table)
                                    + " cannot be changed: the table has no primary key, by which replicas find a row; add one");
                }
                for (int i = 1; i < args(); i++) {
                    touched.add(table, value_long(i));
                }
            } catch (SQLException e) {
                refused = e;
                throw e;
            }
        }
    }

    private final class Fires extends Function {
        @Override
        protected void xFunc() throws SQLException {
            result(capture == null ? 0 : 1);
        }
    }

    /** Who is told of rows; null if nobody. */
    @Nullable
    RowCapture capture() {
        return capture;
    }

    TouchedRows touched() {
        return touched;
    }

    /** What a trigger has refused since this was asked last; null if nothing. */
    @Nullable
    SQLException takeRefused() {
        SQLException taken = refused;
        refused = null;
        return taken;
    }

    @Override
    public String getSchema() {
        return SCHEMA;
    }

    // ----------------------------------------------------------------------------------------------------- statements

    /** A statement, whose rows may be closed by the end of a transaction. */
    private interface Rows {
        void closeRows() throws SQLException;

        boolean wereCut();
    }

    /**
     * What statements of both kinds do alike. The number of the row that was put in last is asked for when it is wanted: the driver would ask after each statement, and keep the answer's rows open. Whoever cancels
     * goes by {@link #cancel}.
     */
    private final class PlainStatement extends JDBC4Statement implements Rows {
        private boolean cut;

        PlainStatement() {
            super(ReflectedConnection.this);
        }

        @Override
        public ResultSet executeQuery(String text) throws SQLException {
            cut = false;
            return super.executeQuery(text);
        }

        @Override
        public boolean execute(String text) throws SQLException {
            cut = false;
            return super.execute(text);
        }

        /** One statement, and the rows that it may give: the driver would execute all that SQLite finds in the text. */
        @Override
        public long executeLargeUpdate(String text) throws SQLException {
            long before = getDatabase().total_changes();
            try {
                if (!SqliteStatements.isEmpty(text) && execute(text)) {
                    ResultSet rows = getResultSet();
                    while (rows.next()) {
                        // What it changes is not done before.
                    }
                }
                return getDatabase().total_changes() - before;
            } finally {
                internalClose();
            }
        }

        @Override
        public ResultSet getGeneratedKeys() throws SQLException {
            return generatedKeys(sql);
        }

        @Override
        public void cancel() throws SQLException {
            ReflectedConnection.this.cancel();
        }

        @Override
        public void closeRows() throws SQLException {
            cut |= closed(rs, pointer);
        }

        @Override
        public boolean wereCut() {
            return cut;
        }

        @Override
        public void close() throws SQLException {
            statements.remove(this);
            super.close();
        }
    }

    /** As {@link PlainStatement}. */
    private final class Prepared extends JDBC4PreparedStatement implements Rows {
        private boolean cut;

        Prepared(String text) throws SQLException {
            super(ReflectedConnection.this, text);
        }

        @Override
        public ResultSet executeQuery() throws SQLException {
            cut = false;
            return super.executeQuery();
        }

        @Override
        public boolean execute() throws SQLException {
            cut = false;
            return super.execute();
        }

        @Override
        public ResultSet getGeneratedKeys() throws SQLException {
            return generatedKeys(sql);
        }

        @Override
        public void cancel() throws SQLException {
            ReflectedConnection.this.cancel();
        }

        @Override
        public void closeRows() throws SQLException {
            cut |= closed(rs, pointer);
        }

        @Override
        public boolean wereCut() {
            return cut;
        }

        @Override
        public void close() throws SQLException {
            statements.remove(this);
            super.close();
        }
    }

    /** Returns whether there were rows that could have been read. */
    private static boolean closed(CoreResultSet rows, @Nullable SafeStmtPtr statement) throws SQLException {
        if (statement == null || statement.isClosed()) {
            return false; // it was never executed, or is over
        }
        boolean wasOpen = rows.isOpen();
        rows.close();
        if (!statement.isClosed()) {
            statement.safeRunInt(DB::reset);
        }
        return wasOpen;
    }

    @Override
    public Statement createStatement(int type, int concurrency, int holdability) throws SQLException {
        if (statements == null) { // the driver's constructor asks
            return super.createStatement(type, concurrency, holdability);
        }
        checkOpen();
        checkCursor(type, concurrency, holdability);
        return known(new PlainStatement());
    }

    @Override
    public PreparedStatement prepareStatement(String text, int type, int concurrency, int holdability)
            throws SQLException {
        checkOpen();
        checkCursor(type, concurrency, holdability);
        return known(new Prepared(text));
    }

    private <S extends Rows> S known(S statement) {
        statements.add(statement);
        return statement;
    }

    private ResultSet generatedKeys(@Nullable String sql) throws SQLException {
        Statement statement = createStatement();
        statement.closeOnCompletion();
        return statement.executeQuery(
                sql != null && SqliteStatements.inserts(sql) ? "SELECT last_insert_rowid()" : "SELECT 1 WHERE FALSE");
    }

    /**
     * Closes all rows that were not read to their end. As long as there are any, SQLite keeps reading as of an old moment, an interruption is in force for whatever is done, and a schema cannot be changed.
     */
    private void closeRows() throws SQLException {
        for (Rows each : List.copyOf(statements)) {
            each.closeRows();
        }
        wasCancelled = false;
    }

    /** Whether rows have ended because they were closed, and not because there are no more. */
    static boolean wereCut(ResultSet rows) throws SQLException {
        return rows.getStatement() instanceof Rows statement && statement.wereCut();
    }

    /** What {@link #cancel} has asked for meets nothing that is done from now on. */
    void forgetCancel() throws SQLException {
        synchronized (ending) {
            if (wasCancelled && !isClosed()) {
                closeRows();
            }
        }
    }

    /** Has triggers be fired by what they do themselves, and by rows that REPLACE deletes, which are not told otherwise. */
    void firesAgain(boolean again) throws SQLException {
        if (again != firesAgain) {
            getDatabase().exec("pragma recursive_triggers=" + again + ";", false);
            firesAgain = again;
        }
    }

    /** Has rows be what they are elsewhere, whatever CHECK says of them here; or not, where the schema is changed. */
    void ignoresChecks(boolean ignores) throws SQLException {
        if (ignores != ignoresChecks) {
            getDatabase().exec("pragma ignore_check_constraints=" + ignores + ";", false);
            ignoresChecks = ignores;
        }
    }

    // --------------------------------------------------------------------------------------------------- transactions

    /**
     * Begins a transaction.
     *
     * @return false if there is one already
     */
    private boolean begins() throws SQLException {
        try {
            getDatabase().exec("begin;", false);
            return true;
        } catch (SQLException e) {
            if (String.valueOf(e.getMessage()).contains("within a transaction")) {
                return false;
            }
            throw e;
        }
    }

    private static SQLException lost() {
        return new SQLTransactionRollbackException("SQLite has rolled back the transaction: run it again", "40001");
    }

    /**
     * Whether SQLite has ended the transaction by itself, as it does for some failures; another one has begun then. If that cannot be had the connection is closed: without one, what is
     * done next would be committed at once.
     */
    boolean hasLostTransaction() {
        try {
            return begins() || hasLost;
        } catch (SQLException e) {
            closeFor(e);
            return true;
        }
    }

    private void closeFor(SQLException failure) {
        try {
            close();
        } catch (SQLException e) {
            failure.addSuppressed(e);
        }
    }

    /**
     * Rolls back, also if SQLite has done so already, and begins another transaction. What is being read ends, whoever does it. If a transaction cannot be had the connection is closed.
     */
    @Override
    public void rollback() throws SQLException {
        checkOpen();
        synchronized (ending) {
            try {
                getDatabase().interrupt();
                closeRows();
                SQLException failed = null;
                try {
                    endByRollback();
                } catch (SQLException e) {
                    failed = e; // there is none, or it cannot be ended
                }
                if (!begins() && failed != null) {
                    throw failed;
                }
                ended();
            } catch (SQLException e) {
                closeFor(e);
                throw new SQLException("the transaction cannot be rolled back: the connection was closed", "08006", e);
            }
        }
    }

    private void endByRollback() throws SQLException {
        isRollingBack = true;
        try {
            getDatabase().exec("rollback;", false);
        } finally {
            isRollingBack = false;
        }
    }

    /** Commits, and begins another transaction; if that cannot be had the connection is closed. */
    @Override
    public void commit() throws SQLException {
        synchronized (ending) {
            if (hasLost) {
                rollback();
                throw lost();
            }
            forgetCancel();
            try {
                getDatabase().exec("commit;", false);
            } catch (SQLException e) {
                throw notEnded(e);
            }
            try {
                begins();
                ended();
            } catch (SQLException e) {
                closeFor(e); // it is committed all the same
            }
        }
    }

    /** What the transaction has read until now, which has changed nothing, is left: it begins here. */
    void renew() throws SQLException {
        synchronized (ending) {
            forgetCancel();
            try {
                getDatabase().exec("commit;", false);
                begins();
            } catch (SQLException e) {
                rollback();
            }
        }
    }

    private void ended() throws SQLException {
        touched.clear();
        isChanging = false;
        hasLost = false;
        if (checksForeignKeys != wantsForeignKeys) {
            setForeignKeys(wantsForeignKeys);
        }
    }

    /**
     * Takes the lock of changes, if the transaction has not. What it has read before is left.
     *
     * @throws SQLException that SQLite is busy if another has it
     */
    void beginToChange() throws SQLException {
        if (isChanging) {
            return;
        }
        endByRollback();
        try {
            getDatabase().exec("begin immediate;", false);
            isChanging = true;
        } finally {
            if (!isChanging) {
                begins();
            }
        }
    }

    /**
     * Refuses to go on to the commit with rows that a statement that changes rows gives, and that were not read: SQLite would refuse the commit itself. The transaction has a savepoint from now
     * on.
     */
    void requireStatementsEnded() throws SQLException {
        if (hasLost) {
            throw lost();
        }
        try {
            getDatabase().exec("savepoint \"GORDA$COMMIT\";", false);
        } catch (SQLException e) {
            throw notEnded(e);
        }
    }

    private static SQLException notEnded(SQLException failure) {
        if (!String.valueOf(failure.getMessage()).contains("statements in progress")) {
            return failure;
        }
        return new SQLFeatureNotSupportedException(
                "not all rows that a statement returns with RETURNING were read: read them, and close its result set, before the commit, and do not execute it in autocommit mode",
                "0A000",
                failure);
    }

    /** Has foreign keys not be checked until the transaction ends, as it is on all replicas. There is nothing in it yet. */
    void leaveForeignKeys() throws SQLException {
        if (checksForeignKeys) {
            setForeignKeys(false);
        }
    }

    /** SQLite does not listen to it within transactions. */
    private void setForeignKeys(boolean checked) throws SQLException {
        endByRollback();
        getDatabase().exec("pragma foreign_keys=" + checked + ";", false);
        getDatabase().exec("begin;", false);
        checksForeignKeys = checked;
    }

    // -------------------------------------------------------------------------------------------------------- the end

    /** Ends what a thread is executing, soon; called by another one. */
    void cancel() throws SQLException {
        synchronized (ending) {
            if (!isClosed()) {
                wasCancelled = true;
                getDatabase().interrupt();
            }
        }
    }

    @Override
    public void close() throws SQLException {
        synchronized (ending) {
            if (!isClosed()) {
                getDatabase().interrupt();
                super.close();
            }
        }
    }
}
