package org.gorda.jdbc;

import java.io.IOException;
import java.lang.reflect.Field;
import java.lang.reflect.Method;
import java.net.Socket;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.Statement;
import java.util.Arrays;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.gorda.gapi.TransactionId;
import org.gorda.replicator.engine.Tls;
import org.jspecify.annotations.Nullable;

/** By Derby's client. What that knows but does not tell is read by reflection, here alone. */
final class DerbyConnection extends EngineConnection {

    private record Key(Class<?> type, String name) {}

    /** In the properties of a login: whether it only reads. */
    private static final String READS = "gorda.reads";

    /** How the URL of a server with TLS ends. */
    private static final String TLS = ";ssl=basic";

    /** Of rows that were closed, by their reader or by a rollback. */
    static final String ROWS_CLOSED = "XCL16";

    /** What commits what is open. */
    private static final Pattern ISOLATION = Pattern.compile("\\bisolation\\b", Pattern.CASE_INSENSITIVE);

    /** Asks for a lock, upon which a transaction that is refused is told so. */
    static final String ASK_REFUSAL = "SELECT 1 FROM SYSIBM.SYSDUMMY1";

    private static final Map<Key, Field> FIELDS = new ConcurrentHashMap<>();
    private static final Map<Class<?>, Method> COMMITTED = new ConcurrentHashMap<>();

    private @Nullable PreparedStatement commitAs;

    DerbyConnection(NodeInfo replica, Connection jdbc) {
        super(replica, jdbc);
    }

    /** As {@link EngineConnection#open}. */
    static Connection open(String url, Properties properties, @Nullable Tls tls) throws SQLException {
        if (tls != null) {
            return DerbyTrust.connect(url, properties, tls.trust());
        }
        if (url.endsWith(TLS)) {
            throw new SQLNonTransientConnectionException(
                    url
                            + " speaks TLS, and Derby's client would trust whoever answers: set tls-authority to the file with the certificate of the replicas' authority",
                    "08001");
        }
        return DriverManager.getConnection(url, properties);
    }

    /** As {@link EngineConnection#onlyReads}: Derby's client passes over that a connection is set read-only. */
    static void onlyReads(Properties properties) {
        properties.setProperty(READS, "true");
    }

    @Override
    Effect effect(String sql) {
        return switch (firstWord(fromFirstWord(sql))) {
            case "set" -> ISOLATION.matcher(sql).find() ? Effect.OWN : Effect.ALONE; // of the schema or the role
            case "select", "values" -> Effect.READS;
            default -> Effect.CHANGES;
        };
    }

    @Override
    boolean inTransaction() {
        try {
            return field(jdbc().getClass(), "inUnitOfWork_").getBoolean(jdbc());
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    void commitAs(TransactionId id) throws SQLException {
        PreparedStatement call = commitAs;
        if (call == null) {
            call = jdbc().prepareStatement("CALL GORDA.COMMIT_AS(?, ?)");
            commitAs = call;
        }
        call.setString(1, id.session().toString());
        call.setLong(2, id.number());
        call.execute();
        committed();
    }

    /** The driver does not know yet, and closes rows and frees LOBs on its side. */
    private void committed() {
        try {
            COMMITTED
                    .computeIfAbsent(jdbc().getClass(), DerbyConnection::committedMethod)
                    .invoke(jdbc());
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Method committedMethod(Class<?> type) {
        try {
            return type.getMethod("completeLocalCommit");
        } catch (NoSuchMethodException e) {
            throw unknownVersion(type, "completeLocalCommit", e);
        }
    }

    @Override
    void autoCommit(boolean value) {
        try {
            field(jdbc().getClass(), "autoCommit_").setBoolean(jdbc(), value);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    boolean readsRowsInTransaction() {
        return true;
    }

    @Override
    boolean outlivesFailures() {
        return true;
    }

    @Override
    boolean hasOwnTransaction() {
        return false;
    }

    @Override
    boolean commitsBySettingIsolation() {
        return true;
    }

    @Override
    boolean hasRowsBeside(Statement statement, @Nullable ResultSet rows) {
        try {
            Object one = field(statement.getClass(), "resultSet_").get(statement);
            Object all = field(statement.getClass(), "resultSetList_").get(statement);
            Stream<?> open = all instanceof Object[] several ? Arrays.stream(several) : Stream.of(one);
            return open.anyMatch(other -> other instanceof ResultSet found && found != rows && !isClosed(found));
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static boolean isClosed(ResultSet rows) {
        try {
            return rows.isClosed();
        } catch (SQLException e) {
            return true;
        }
    }

    /**
     * A transaction that is rolled back while its client does nothing loses its rows first, so that reading on fails for a reason that says
     * nothing: the refusal is behind that, and told to the next statement.
     */
    @Override
    SQLException meaning(SQLException failure) {
        if (!ROWS_CLOSED.equals(failure.getSQLState())
                || !inTransaction()) { // its own fault, and asking would begin one
            return failure;
        }
        try (Statement statement = jdbc().createStatement()) {
            statement.executeQuery(ASK_REFUSAL).close();
            return failure;
        } catch (SQLException e) {
            return Replay.isRefusal(e) ? e : failure;
        }
    }

    @Override
    boolean isOfBackup(SQLException failure) {
        return BACKUP.equals(failure.getSQLState());
    }

    @Override
    Settings settings() throws SQLException {
        Connection from = jdbc();
        Settings settings = new Settings(
                from.getAutoCommit(), from.getTransactionIsolation(), from.getHoldability(), from.getSchema(), 0);
        endRead();
        return settings;
    }

    @Override
    void set(Settings settings) throws SQLException {
        jdbc().setTransactionIsolation(settings.isolation());
        jdbc().setHoldability(settings.holdability());
        jdbc().setSchema(settings.schema());
        endRead();
    }

    @Override
    void readWith(Settings settings) throws SQLException {
        jdbc().setAutoCommit(settings.autoCommit());
        set(settings);
    }

    @Override
    long position() throws SQLException {
        long position;
        try (Statement statement = jdbc().createStatement();
                ResultSet row = statement.executeQuery("VALUES GORDA.POSITION()")) {
            row.next();
            position = row.getLong(1);
        }
        endRead();
        return position;
    }

    @Override
    void awaitPosition(long position) throws SQLException {
        try (PreparedStatement wait = jdbc().prepareStatement("CALL GORDA.AWAIT_POSITION(?)")) {
            wait.setLong(1, position);
            wait.execute();
        }
        endRead();
    }

    private void endRead() throws SQLException {
        if (!jdbc().getAutoCommit() && inTransaction()) {
            jdbc().rollback();
        }
    }

    /** The driver itself waits for a frozen server for ever. */
    @Override
    void closeSocket() throws IOException {
        try {
            Object agent = field(jdbc().getClass(), "agent_").get(jdbc());
            if (agent != null && field(agent.getClass(), "socket_").get(agent) instanceof Socket socket) {
                try (socket) {
                    TlsSockets.waitForNobody(socket);
                }
            }
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    static Field field(Class<?> type, String name) {
        return FIELDS.computeIfAbsent(new Key(type, name), DerbyConnection::find);
    }

    private static Field find(Key key) {
        for (Class<?> at = key.type(); at != null; at = at.getSuperclass()) {
            for (Field field : at.getDeclaredFields()) {
                if (field.getName().equals(key.name())) {
                    field.setAccessible(true);
                    return field;
                }
            }
        }
        throw unknownVersion(key.type(), key.name(), null);
    }

    private static IllegalStateException unknownVersion(Class<?> type, String name, @Nullable Exception cause) {
        return new IllegalStateException(type + " has no " + name + ": unknown version of the engine's driver", cause);
    }
}
