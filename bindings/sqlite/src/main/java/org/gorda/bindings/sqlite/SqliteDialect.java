package org.gorda.bindings.sqlite;

import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLTransactionRollbackException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.gorda.bindings.triggers.ClientTables;
import org.gorda.bindings.triggers.Dialect;
import org.gorda.bindings.triggers.Owner;
import org.gorda.bindings.triggers.RowCapture;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectionException;
import org.jspecify.annotations.Nullable;
import org.sqlite.SQLiteErrorCode;
import org.sqlite.SQLiteException;

/** An SQLite database, open. Thread-safe. */
final class SqliteDialect implements Dialect {

    private static final String POSITIONS = "\"GORDA$POSITION\"";

    /** A row of a write set has no fewer bytes. */
    private static final int ROW_BYTES = 8;

    /** So long our own connections wait for the lock of changes before who has it is asked to give it up. */
    private static final String PATIENCE_MILLIS = "10";

    /** What clients may set for their connections. */
    private static final Set<String> SETTINGS =
            Set.of("busy_timeout", "cache_size", "date_class", "date_precision", "date_string_format");

    /** What SQLite takes for a no. */
    private static final Set<String> NO = Set.of("0", "no", "false", "off");

    private static final Set<SQLiteErrorCode> STOPPED = Set.of(
            SQLiteErrorCode.SQLITE_CANTOPEN,
            SQLiteErrorCode.SQLITE_CORRUPT,
            SQLiteErrorCode.SQLITE_FULL,
            SQLiteErrorCode.SQLITE_IOERR,
            SQLiteErrorCode.SQLITE_NOMEM,
            SQLiteErrorCode.SQLITE_NOTADB,
            SQLiteErrorCode.SQLITE_READONLY);

    private final SqliteFiles files;
    private final long touchedMax;
    private final Set<ReflectedConnection> connections = ConcurrentHashMap.newKeySet();

    /** Never in a transaction: what it reads is committed. Its own lock is held meanwhile. */
    private final ReflectedConnection committed;

    private volatile SqliteCatalogue catalogue;

    SqliteDialect(DatabaseConfiguration configuration) throws SQLException {
        Owner.of(configuration, "SQLite", ""); // whose names are of no use there
        this.touchedMax = configuration.writeSetBytesMax() / ROW_BYTES;
        this.files = new SqliteFiles(configuration.location());
        try {
            this.committed = open(new Properties(), null);
            try {
                SqliteCheck.FITNESS.require(committed);
                this.catalogue = SqliteCatalogue.of(committed);
            } catch (SQLException | RuntimeException e) {
                committed.close();
                throw e;
            }
        } catch (SQLException | RuntimeException e) {
            files.close();
            throw e;
        }
    }

    private ReflectedConnection open(Properties settings, @Nullable RowCapture capture) throws SQLException {
        settings.setProperty("journal_mode", "WAL");
        settings.setProperty("synchronous", "NORMAL"); // it is forced to disk when force() says so
        settings.setProperty("recursive_triggers", "false"); // but for statements that may REPLACE
        settings.setProperty("jdbc.get_generated_keys", "false"); // see ReflectedConnection
        return new ReflectedConnection(files.database(), settings, capture, touchedMax);
    }

    /** There is one schema. */
    @Override
    public String positions() {
        return POSITIONS;
    }

    /** Without numbers of its rows, so that a client is told the number of the row that was put in last by itself. */
    @Override
    public List<String> installation() {
        return List.of(
                "CREATE TABLE IF NOT EXISTS " + POSITIONS
                        + " (ONE INTEGER PRIMARY KEY, IDX INTEGER NOT NULL, TERM INTEGER NOT NULL, HIGH INTEGER NOT NULL, LOW INTEGER NOT NULL) WITHOUT ROWID");
    }

    /** In the one row that there is: there is one writer. */
    @Override
    public String storing() {
        return "INSERT OR REPLACE INTO " + POSITIONS + " VALUES (1, ?, ?, ?, ?)";
    }

    @Override
    public Connection connect(Properties properties, RowCapture capture) throws SQLException {
        Properties settings = new Properties();
        for (String name : SETTINGS) {
            String value = properties.getProperty(name);
            if (value != null) {
                settings.setProperty(name, value);
            }
        }
        String checked = properties.getProperty("foreign_keys", "true").toLowerCase(Locale.ROOT);
        settings.setProperty("foreign_keys", String.valueOf(!NO.contains(checked)));
        return begin(open(settings, capture));
    }

    @Override
    public Connection connect() throws SQLException {
        Properties settings = new Properties();
        settings.setProperty("foreign_keys", "false");
        settings.setProperty("busy_timeout", PATIENCE_MILLIS);
        return begin(open(settings, null));
    }

    private Connection begin(ReflectedConnection connection) throws SQLException {
        connections.removeIf(SqliteDialect::isClosed);
        connection.setAutoCommit(false);
        connections.add(connection);
        return connection;
    }

    private static boolean isClosed(ReflectedConnection connection) {
        try {
            return connection.isClosed();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    /** SQLite heeds some pragmas when they are compiled. */
    @Override
    public void check(String sql) throws SQLException {
        SqliteStatements.kind(sql);
    }

    @Override
    public Kind kind(Connection connection, String sql) throws SQLException {
        return SqliteStatements.kind(sql);
    }

    /** A snapshot of the database that somebody has looked at before is not the transaction's. */
    @Override
    public void beginning(Connection connection) throws SQLException {
        ((ReflectedConnection) connection).renew();
    }

    /** What was read before may have changed since, unless the client wants more than SQL's READ COMMITTED; then SQLite refuses the change if it has. */
    @Override
    public void beginsToChange(Connection connection) throws SQLException {
        if (connection.getTransactionIsolation() <= Connection.TRANSACTION_READ_COMMITTED) {
            ((ReflectedConnection) connection).renew();
        }
    }

    /** There are no routines, and whatever would end a transaction is refused. */
    @Override
    public void inStatement(Connection connection, @Nullable String sql) throws SQLException {
        if (sql != null) {
            ((ReflectedConnection) connection).firesAgain(SqliteStatements.replaces(sql));
        }
    }

    @Override
    public boolean wereCut(ResultSet rows) throws SQLException {
        return ReflectedConnection.wereCut(rows);
    }

    @Override
    public void ours(Connection connection, boolean ours) {
        RowCapture capture = ((ReflectedConnection) connection).capture();
        if (capture != null) {
            capture.pause(ours);
        }
    }

    // ----------------------------------------------------------------------------------------------------- catalogue

    /** As it is committed. */
    private SqliteCatalogue known() {
        synchronized (committed) {
            try {
                catalogue = known(committed);
                return catalogue;
            } catch (SQLException e) {
                throw new ReflectionException("the catalogue of the database cannot be read: " + e.getMessage(), e);
            }
        }
    }

    private SqliteCatalogue known(Connection connection) throws SQLException {
        SqliteCatalogue known = catalogue;
        return known.version() == SqliteCatalogue.version(connection) ? known : SqliteCatalogue.of(connection);
    }

    @Override
    public ClientTables tables() {
        return ClientTables.of(known().tables().values().stream(), Object::toString, SqliteCatalogue.Table::captured);
    }

    @Override
    public Captured table(String schema, String name) throws SQLException {
        return described(name).captured();
    }

    SqliteCatalogue.Table described(String name) throws SQLException {
        return known().table(name);
    }

    // ---------------------------------------------------------------------------------------------------- generators

    @Override
    public List<Generated> generators() {
        synchronized (committed) {
            try {
                return generated(known().sequences(committed), Map.of());
            } catch (SQLException e) {
                throw new ReflectionException("the generators of the database cannot be read: " + e.getMessage(), e);
            }
        }
    }

    /** Also of tables that were touched and have not come further: where rows are applied they may. */
    @Override
    public List<Generated> generated(Connection given) throws SQLException {
        ReflectedConnection connection = (ReflectedConnection) given;
        synchronized (committed) {
            SqliteCatalogue known = known(connection);
            Map<String, Long> before = known.sequences(committed);
            before.keySet().removeAll(connection.touched().rows().keySet());
            return generated(known.sequences(connection), before);
        }
    }

    private static List<Generated> generated(Map<String, Long> now, Map<String, Long> before) {
        List<Generated> found = new ArrayList<>();
        now.forEach((table, last) -> {
            if (!last.equals(before.get(table))) {
                found.add(new Generated(new Generator(true, ReflectedConnection.SCHEMA, table), last));
            }
        });
        return found;
    }

    /** They are compared with what is committed. */
    @Override
    public void ordered(List<Generated> generated) {}

    // ---------------------------------------------------------------------------------------------------------- rows

    /** All that was touched, as it is now and was before the transaction, which alone changes anything since: first what leaves its place, then what takes one. */
    @Override
    public void tellRows(Connection given) throws SQLException {
        ReflectedConnection connection = (ReflectedConnection) given;
        RowCapture capture = connection.capture();
        if (capture == null || connection.touched().isEmpty()) {
            return;
        }
        connection.requireStatementsEnded();
        synchronized (committed) {
            SqliteCatalogue known = known(connection);
            Map<String, long[]> inserted = new LinkedHashMap<>();
            for (Map.Entry<String, long[]> touched : connection.touched().rows().entrySet()) {
                SqliteCatalogue.Table table = known.table(touched.getKey());
                inserted.put(touched.getKey(), tellChanged(capture, connection, table, touched.getValue()));
            }
            capture.endOfStatement();
            for (Map.Entry<String, long[]> rows : inserted.entrySet()) {
                tellInserted(capture, connection, known.table(rows.getKey()), rows.getValue());
            }
        }
    }

    /** Returns those that were not there, and may be new. */
    private long[] tellChanged(
            RowCapture capture, ReflectedConnection connection, SqliteCatalogue.Table table, long[] rows)
            throws SQLException {
        int inserted = 0;
        long[] left = new long[rows.length];
        try (PreparedStatement now = connection.prepareStatement(table.select());
                PreparedStatement then = committed.prepareStatement(table.select())) {
            for (long row : rows) {
                SqliteRow before = read(table, then, row, false);
                if (before == null) {
                    left[inserted++] = row;
                } else {
                    capture.changed(table::captured, before, read(table, now, row, true));
                }
            }
        }
        return Arrays.copyOf(left, inserted);
    }

    private static void tellInserted(
            RowCapture capture, ReflectedConnection connection, SqliteCatalogue.Table table, long[] rows)
            throws SQLException {
        try (PreparedStatement now = connection.prepareStatement(table.select())) {
            for (long row : rows) {
                SqliteRow after = read(table, now, row, true);
                if (after != null) {
                    capture.changed(table::captured, null, after);
                }
            }
        }
    }

    private static @Nullable SqliteRow read(
            SqliteCatalogue.Table table, PreparedStatement select, long rowid, boolean isSent) throws SQLException {
        select.setLong(1, rowid);
        try (ResultSet found = select.executeQuery()) {
            return found.next() ? SqliteRow.of(table.shape(), found, isSent) : null;
        }
    }

    @Override
    public Rows rows(Connection connection) {
        return new SqliteRows(this, (ReflectedConnection) connection);
    }

    // -------------------------------------------------------------------------------------------------------- schema

    /** In the connection's transaction, as SQLite can. */
    @Override
    public void changeSchema(Connection given, String schema, String sql) throws SQLException {
        ReflectedConnection connection = (ReflectedConnection) given;
        try (Statement statement = connection.createStatement()) {
            if (!sql.isEmpty()) {
                connection.leaveForeignKeys();
                connection.ignoresChecks(false); // of which rows that are there may be a failure everywhere
                connection.beginToChange();
                SqliteCatalogue.leave(statement);
                requireNoReferrer(connection, sql);
                statement.execute(SqliteStatements.executed(sql)); // of a text what stands before the first end only
            }
            SqliteCatalogue.of(connection).captureAll(statement);
        } catch (SQLException e) {
            if (isLocked(e) || failsEverywhere(e)) {
                throw e;
            }
            throw new ReflectionException("SQLite could not change the schema: " + e.getMessage(), e);
        }
    }

    /** Whether it is by the text and what is in the database that it has failed. */
    private static boolean failsEverywhere(SQLException failure) {
        return !(failure instanceof SQLiteException)
                || isConstraint(failure)
                || (isOf(failure, SQLiteErrorCode.SQLITE_ERROR) && !isInterrupted(failure))
                || isOf(failure, SQLiteErrorCode.SQLITE_MISMATCH)
                || isOf(failure, SQLiteErrorCode.SQLITE_TOOBIG);
    }

    /** SQLite would delete the table's rows first, with what that does to rows that refer to them. */
    private static void requireNoReferrer(Connection connection, String sql) throws SQLException {
        String dropped = SqliteStatements.droppedTable(sql);
        String referrer = dropped == null ? null : SqliteCatalogue.referrer(connection, dropped);
        if (referrer != null) {
            throw new SQLException(
                    "the table " + dropped + " cannot be dropped: " + referrer + " refers to it; drop that first",
                    "2BP01");
        }
    }

    // ------------------------------------------------------------------------------------------------------ failures

    /** There is one lock of changes, and readers have none. */
    @Override
    public boolean isInTheWay(Connection connection, boolean hasBegun) {
        return hasBegun;
    }

    @Override
    public void cancel(Connection connection) {
        try {
            ((ReflectedConnection) connection).cancel();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void forgetCancel(Connection connection) {
        try {
            ((ReflectedConnection) connection).forgetCancel();
        } catch (SQLException e) {
            throw new IllegalStateException(e);
        }
    }

    private static @Nullable SQLiteErrorCode code(SQLException failure) {
        return failure instanceof SQLiteException known ? known.getResultCode() : null;
    }

    private static boolean isOf(SQLException failure, SQLiteErrorCode primary) {
        return (failure.getErrorCode() & 0xff) == primary.code;
    }

    /** Of what is interrupted while it is compiled SQLite tells by a text only. */
    private static boolean isInterrupted(SQLException failure) {
        return isOf(failure, SQLiteErrorCode.SQLITE_INTERRUPT)
                || String.valueOf(failure.getMessage()).endsWith("(interrupted)");
    }

    static boolean isConstraint(SQLException failure) {
        return isOf(failure, SQLiteErrorCode.SQLITE_CONSTRAINT);
    }

    @Override
    public boolean isLocked(SQLException failure) {
        return isOf(failure, SQLiteErrorCode.SQLITE_BUSY) || isOf(failure, SQLiteErrorCode.SQLITE_LOCKED);
    }

    @Override
    public boolean isVictim(Connection connection) {
        return false;
    }

    @Override
    public boolean leavesInDoubt(Connection connection, SQLException failure) {
        return !isClosed((ReflectedConnection) connection) && ((ReflectedConnection) connection).hasLostTransaction();
    }

    @Override
    public boolean hasStopped(SQLException failure) {
        return STOPPED.stream().anyMatch(code -> isOf(failure, code));
    }

    /** The driver tells no SQLSTATE. */
    @Override
    public SQLException told(Connection connection, SQLException failure) {
        SQLException refused = ((ReflectedConnection) connection).takeRefused();
        if (refused != null) {
            return refused;
        }
        if (isLocked(failure)) {
            return new SQLTransactionRollbackException(
                    "another transaction has changed the database since this one began to read, or is changing it: run the transaction again: "
                            + failure.getMessage(),
                    "40001",
                    failure.getErrorCode(),
                    failure);
        }
        SQLiteErrorCode code = code(failure);
        if (code == null) {
            return failure;
        }
        // Of a client's statement it may be a table without free numbers, or a value too large: the next commit finds
        // out.
        boolean isTooMuch = code == SQLiteErrorCode.SQLITE_FULL || code == SQLiteErrorCode.SQLITE_NOMEM;
        return new SQLException(
                failure.getMessage(),
                isInterrupted(failure) ? "57014" : state(code),
                isTooMuch ? 0 : failure.getErrorCode(),
                failure);
    }

    private static String state(SQLiteErrorCode code) {
        return switch (code) {
            case SQLITE_CONSTRAINT_PRIMARYKEY, SQLITE_CONSTRAINT_UNIQUE, SQLITE_CONSTRAINT_ROWID -> "23505";
            case SQLITE_CONSTRAINT_FOREIGNKEY -> "23503";
            case SQLITE_CONSTRAINT_NOTNULL -> "23502";
            case SQLITE_CONSTRAINT_CHECK -> "23514";
            case SQLITE_FULL -> "53100";
            case SQLITE_ERROR -> "42000";
            default -> isConstraint(new SQLException("", "", code.code)) ? "23000" : "HY000";
        };
    }

    // --------------------------------------------------------------------------------------------------------- files

    /** To the log, of which SQLite writes to the database by itself. */
    @Override
    public boolean commitsWrite() {
        return true;
    }

    @Override
    public boolean hasMuchToWrite() {
        return false;
    }

    @Override
    public void write() {}

    @Override
    public void force() throws SQLException {
        try {
            files.force();
        } catch (IOException e) {
            throw new SQLException(
                    "the log cannot be forced to disk: " + e, "58030", SQLiteErrorCode.SQLITE_IOERR.code, e);
        }
    }

    @Override
    public void snapshot(Path directory) {
        SqliteFiles.DIRECTORY.snapshot(directory, this::copy);
    }

    private void copy(Path directory) throws IOException {
        String target = SqliteFiles.databaseIn(directory).toString();
        try (ReflectedConnection connection = open(new Properties(), null);
                Statement statement = connection.createStatement()) {
            statement.execute("VACUUM INTO '" + target.replace("'", "''") + "'");
        } catch (SQLException e) {
            throw new IOException("SQLite cannot copy the database: " + e.getMessage(), e);
        }
    }

    @Override
    public void close() {
        SQLException failed = null;
        connections.add(committed);
        for (ReflectedConnection connection : connections) {
            try {
                connection.close();
            } catch (SQLException e) {
                failed = e;
            }
        }
        files.close();
        if (failed != null) {
            throw new ReflectionException("SQLite was not closed in order: " + failed.getMessage(), failed);
        }
    }
}
