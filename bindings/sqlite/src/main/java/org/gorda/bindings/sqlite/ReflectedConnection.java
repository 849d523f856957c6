package org.gorda.bindings.sqlite;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.Statement;
import java.util.Properties;
import org.gorda.bindings.triggers.Refused;
import org.gorda.bindings.triggers.RowCapture;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;
import org.sqlite.Function;
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
    }

    private final class Touched extends Function {
        @Override
        protected void xFunc() throws SQLException {
            if (capture == null) {
                return;
            }
            String table = value_text(0);
            try {
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

    @Override
    public Statement createStatement(int type, int concurrency, int holdability) throws SQLException {
        checkOpen();
        checkCursor(type, concurrency, holdability);
        return new JDBC4Statement(this) {
            @Override
            public ResultSet getGeneratedKeys() throws SQLException {
                return generatedKeys(sql);
            }
        };
    }

    @Override
    public PreparedStatement prepareStatement(String text, int type, int concurrency, int holdability)
            throws SQLException {
        checkOpen();
        checkCursor(type, concurrency, holdability);
        return new JDBC4PreparedStatement(this, text) {
            @Override
            public ResultSet getGeneratedKeys() throws SQLException {
                return generatedKeys(sql);
            }
        };
    }

    /**
     * The number of the row that was put in last. The driver would ask for it after each statement, and keep the answer's rows open: a statement that is interrupted, or a rollback, would have to wait for
     * their end.
     */
    private ResultSet generatedKeys(@Nullable String sql) throws SQLException {
        Statement statement = createStatement();
        statement.closeOnCompletion();
        return statement.executeQuery(
                sql != null && SqliteStatements.inserts(sql) ? "SELECT last_insert_rowid()" : "SELECT 1 WHERE FALSE");
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

    /**
     * Whether SQLite has ended the transaction by itself, as it does for some failures; another one has begun then. If that cannot be had the connection is closed: without one, what is
     * done next would be committed at once.
     */
    boolean hasLostTransaction() {
        try {
            return begins();
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

    /** Rolls back, also if SQLite has done so already, and begins another transaction. If that cannot be had the connection is closed. */
    @Override
    public void rollback() throws SQLException {
        checkOpen();
        synchronized (ending) {
            SQLException failed = null;
            try {
                getDatabase().exec("rollback;", false);
            } catch (SQLException e) {
                failed = e; // there is none, or it cannot be ended
            }
            try {
                if (!begins() && failed != null) {
                    throw failed;
                }
            } catch (SQLException e) {
                closeFor(e);
                throw new SQLException("the transaction cannot be rolled back: the connection was closed", "08006", e);
            }
            ended();
        }
    }

    @Override
    public void commit() throws SQLException {
        synchronized (ending) {
            try {
                super.commit();
            } catch (SQLException e) {
                throw notEnded(e);
            }
            ended();
        }
    }

    private void ended() throws SQLException {
        touched.clear();
        isChanging = false;
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
        getDatabase().exec("rollback;", false);
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
        getDatabase().exec("rollback;", false);
        getDatabase().exec("pragma foreign_keys=" + checked + ";", false);
        getDatabase().exec("begin;", false);
        checksForeignKeys = checked;
    }

    // -------------------------------------------------------------------------------------------------------- the end

    /** Ends what a thread is executing, soon; called by another one. */
    void cancel() throws SQLException {
        synchronized (ending) {
            if (!isClosed()) {
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
