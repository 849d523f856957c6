package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.nio.file.Path;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Types;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;
import org.assertj.core.api.AbstractThrowableAssert;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.gorda.gapi.Applier;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSet;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.extension.ExtendWith;
import org.junit.jupiter.api.io.TempDir;

/**
 * What the suites of the contract for bindings share. An origin and a replica are opened; what is done at the origin is captured,
 * encoded, decoded and applied to the replica, which must then hold the same rows in the same schema. A binding runs all suites of
 * {@link TckTable#SUITES}, each by a subclass that names its {@link TckBinding}.
 */
@Timeout(120)
@ExtendWith(TckTable.class)
public abstract class BindingTck {

    protected final ExecutorService clients = Executors.newCachedThreadPool();
    protected MetaLevel meta;
    protected ReflectedDatabase origin;
    protected MetaLevel replicaMeta;
    protected ReflectedDatabase replica;
    protected Applier applier;
    protected long applied;

    @TempDir
    protected Path directory;

    protected abstract TckBinding tested();

    /** Whether users other than the databases' owner need privileges. */
    protected boolean withPrivileges() {
        return false;
    }

    @BeforeEach
    final void open() throws SQLException {
        meta = new MetaLevel();
        replicaMeta = new MetaLevel();
        tested().create(configuration("origin"), withPrivileges());
        tested().create(configuration("replica"), withPrivileges());
        origin = tested().binding().open(configuration("origin"), meta);
        replica = tested().binding().open(configuration("replica"), replicaMeta);
        applier = replica.applier();
    }

    /** Lets go of the databases, too: JUnit keeps the instance until all tests of its class are through. */
    @AfterEach
    @SuppressWarnings("NullAway")
    final void close() {
        clients.shutdownNow();
        origin.close();
        replica.close();
        assertThat(meta.ended())
                .as("each transaction that began was told to have ended")
                .isEqualTo(meta.begun());
        origin = null;
        replica = null;
        applier = null;
        meta = null;
        replicaMeta = null;
    }

    protected final DatabaseConfiguration configuration(String name) {
        return tested().configuration(directory, name);
    }

    // ------------------------------------------------------------------------------------------------------- clients

    protected final Connection connect() throws SQLException {
        return connect(origin, new Properties());
    }

    protected final Connection connectAs(String user) throws SQLException {
        Properties properties = new Properties();
        properties.setProperty("user", user);
        return connect(origin, properties);
    }

    protected static Connection connect(ReflectedDatabase database, Properties properties) throws SQLException {
        Connection connection = database.connect(properties);
        connection.setAutoCommit(false);
        return connection;
    }

    /** Executes statements in one transaction and commits. */
    protected final void execute(String... statements) throws SQLException {
        executeAndClose(connect(), statements);
    }

    protected final void executeAs(String user, String... statements) throws SQLException {
        executeAndClose(connectAs(user), statements);
    }

    private static void executeAndClose(Connection opened, String... statements) throws SQLException {
        try (Connection connection = opened) {
            try (Statement statement = connection.createStatement()) {
                for (String sql : statements) {
                    statement.execute(sql);
                }
                connection.commit();
            } finally {
                if (!connection.isClosed()) {
                    connection.rollback();
                }
            }
        }
    }

    protected static int count(ReflectedDatabase database, String table) throws SQLException {
        return Integer.parseInt(query(database, "SELECT COUNT(*) FROM " + table).get(0));
    }

    /** The first column of all rows, as text. */
    protected static List<String> query(ReflectedDatabase database, String sql) throws SQLException {
        List<String> found = new ArrayList<>();
        try (Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            while (rows.next()) {
                found.add(rows.getString(1));
            }
        }
        return found;
    }

    protected static AbstractThrowableAssert<?, ?> assertRefused(String sqlState, ThrowingCallable call) {
        return assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        SQLException.class,
                        e -> assertThat(e.getSQLState()).as(e.toString()).isEqualTo(sqlState));
    }

    // ------------------------------------------------------------------------------------------------------- replicas

    /** Brings the replica up to the origin. */
    protected final void replicate() {
        for (WriteSet writeSet : meta.takeWriteSets()) {
            apply(writeSet);
        }
    }

    protected final void apply(WriteSet writeSet) {
        applier.apply(writeSet);
        applier.commit(position(++applied), false);
        replicaMeta.continueAfter(applied);
    }

    protected static StoredPosition position(long index) {
        return new StoredPosition(1, 2, 3, index);
    }

    /** The same schema at both, and the same rows in all tables. */
    protected final void assertEqual() throws SQLException {
        replicate();
        assertEqual(replica);
    }

    /** As {@link #assertEqual()}, at the origin and at a database that has what the origin did. */
    protected final void assertEqual(ReflectedDatabase other) throws SQLException {
        List<TableShape> tables = origin.tables();
        assertThat(other.tables()).isEqualTo(tables);
        assertThat(catalogue(other)).isEqualTo(catalogue(origin));
        for (TableShape table : tables) {
            assertThat(rows(other, table)).as("rows of %s", table).isEqualTo(rows(origin, table));
            assertUndamaged(origin, table);
            assertUndamaged(other, table);
        }
    }

    private void assertUndamaged(ReflectedDatabase database, TableShape table) throws SQLException {
        try (Connection connection = database.connect(new Properties())) {
            assertThat(tested().damage(connection, table)).isNull();
        }
    }

    protected final List<String> catalogue(ReflectedDatabase database) throws SQLException {
        try (Connection connection = database.connect(new Properties())) {
            return tested().catalogue(connection);
        }
    }

    private static List<List<Object>> rows(ReflectedDatabase database, TableShape table) throws SQLException {
        String order = table.key().isEmpty()
                ? ""
                : " ORDER BY "
                        + String.join(
                                ", ", table.key().stream().map(String::valueOf).toList());
        List<String> columns =
                table.columns().stream().map(BindingTck::selected).toList();
        List<List<Object>> rows = new ArrayList<>();
        try (Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement();
                ResultSet found =
                        statement.executeQuery("SELECT " + String.join(", ", columns) + " FROM " + table + order)) {
            while (found.next()) {
                List<Object> row = new ArrayList<>();
                for (int i = 1; i <= columns.size(); i++) {
                    row.add(comparable(found, i));
                }
                rows.add(row);
            }
        }
        return rows;
    }

    private static String selected(TableShape.Column column) {
        String name = TableShape.quoted(column.name());
        return column.type() == SqlType.XML ? "XMLSERIALIZE(" + name + " AS CLOB)" : name;
    }

    protected static Object comparable(ResultSet found, int column) throws SQLException {
        int type = found.getMetaData().getColumnType(column);
        if (type == Types.BLOB || type == Types.CLOB) {
            return digest(found, column, type == Types.CLOB);
        }
        if (type == Types.BINARY || type == Types.VARBINARY || type == Types.LONGVARBINARY) {
            byte[] bytes = found.getBytes(column);
            return bytes == null ? null : Arrays.toString(bytes);
        }
        return found.getString(column);
    }

    /** Length and digest, through a buffer: a large object may be larger than the heap. */
    private static Object digest(ResultSet found, int column, boolean text) throws SQLException {
        try (InputStream bytes = text ? characters(found.getCharacterStream(column)) : found.getBinaryStream(column)) {
            if (bytes == null) {
                return null;
            }
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            byte[] buffer = new byte[32 << 10];
            long length = 0;
            for (int read = bytes.read(buffer); read >= 0; read = bytes.read(buffer)) {
                digest.update(buffer, 0, read);
                length += read;
            }
            return length + " bytes " + HexFormat.of().formatHex(digest.digest());
        } catch (IOException | NoSuchAlgorithmException e) {
            throw new AssertionError(e);
        }
    }

    /** Each char as two bytes. */
    @SuppressWarnings("InputStreamSlowMultibyteRead") // the reader has a buffer
    private static InputStream characters(Reader reader) {
        return reader == null
                ? null
                : new InputStream() {
                    private int low = -1;

                    @Override
                    public int read() throws IOException {
                        int next = low;
                        low = -1;
                        if (next < 0) {
                            int c = reader.read();
                            next = c < 0 ? -1 : c >> 8;
                            low = c < 0 ? -1 : c & 0xff;
                        }
                        return next;
                    }
                };
    }

    // ---------------------------------------------------------------------------------------------------------- more

    protected static void await(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean()) {
            if (System.nanoTime() > end) {
                throw new AssertionError("not within 30 s: " + what);
            }
            Thread.onSpinWait();
        }
    }

    protected static Refusal conflict(String text) {
        return new Refusal(Refusal.Cause.CONFLICT, text);
    }
}
