package org.gorda.bench;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.Gson;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.util.Arrays;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CopyOnWriteArrayList;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** Replicas are processes that take lines, with a database behind them that says what it is called. */
class JdbcLineTest {

    private static final Gson JSON = new Gson();

    /** The other end: it serves sessions until it is called what ends it. */
    private static final class Other implements AutoCloseable {
        private final ServerSocket lines = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());
        private final List<String> called = new CopyOnWriteArrayList<>();
        private final boolean takesWrites;
        private volatile String endsAt = "";
        private volatile String refusedWith = "";
        private volatile Object savepoint = "none";

        Other(boolean takesWrites) throws IOException {
            this.takesWrites = takesWrites;
            Thread thread = new Thread(this::serve, "replica");
            thread.setDaemon(true);
            thread.start();
        }

        private void serve() {
            while (!lines.isClosed()) {
                try (Socket socket = lines.accept();
                        BufferedReader in = new BufferedReader(
                                new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
                        JdbcSession session = new JdbcSession((Connection) database(Connection.class))) {
                    boolean writes = in.readLine().contains("WRITING");
                    send(socket, new EmbeddedReplica.Answer(writes && !takesWrites ? "25006" : null, null, null));
                    for (String line = in.readLine(); line != null; line = in.readLine()) {
                        JdbcCall call = JSON.fromJson(line, JdbcCall.class);
                        if (!endsAt.isEmpty() && call.method().contains(endsAt)) {
                            break;
                        }
                        send(socket, session.answer(call));
                    }
                } catch (IOException | SQLException e) {
                    // the client is gone
                }
            }
        }

        private static void send(Socket socket, Object answer) throws IOException {
            socket.getOutputStream().write((JSON.toJson(answer) + "\n").getBytes(StandardCharsets.UTF_8));
        }

        private Object database(Class<?> type) {
            return Proxy.newProxyInstance(getClass().getClassLoader(), new Class<?>[] {type}, (self, method, given) -> {
                boolean toSavepoint = given != null && given[0] instanceof Savepoint;
                called.add(method.getName()
                        + (given == null
                                ? ""
                                : toSavepoint
                                        ? (given[0] == savepoint ? " to it" : " to another")
                                        : Arrays.toString(given)));
                if (!refusedWith.isEmpty() && method.getName().startsWith("execute")) {
                    throw new SQLException("refused", refusedWith);
                }
                Class<?> gives = method.getReturnType();
                if (gives == Savepoint.class) {
                    savepoint = database(gives);
                    return savepoint;
                }
                return gives.isInterface()
                        ? database(gives)
                        : gives == int[].class
                                ? (Object) new int[] {1, 2}
                                : gives == long.class
                                        ? (Object) Long.MAX_VALUE
                                        : gives == boolean.class ? (Object) true : null;
            });
        }

        String at() {
            return "127.0.0.1:" + lines.getLocalPort();
        }

        @Override
        public void close() {
            try {
                lines.close();
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }
    }

    private static Connection connect(Other... replicas) throws SQLException {
        Connection connection = DriverManager.getConnection(
                LineDriver.url(Arrays.stream(replicas).map(Other::at).toList()), new Properties());
        connection.setAutoCommit(false);
        return connection;
    }

    @Test
    void whatIsCalledHereIsCalledThere() throws Exception {
        try (Other replica = new Other(true);
                Connection connection = connect(replica);
                PreparedStatement select = connection.prepareStatement("SELECT 1")) {
            select.setLong(1, Long.MIN_VALUE);
            select.setString(2, null);
            try (ResultSet rows = select.executeQuery()) {
                assertThat(rows.next()).isTrue();
                assertThat(rows.getLong(1)).isEqualTo(Long.MAX_VALUE);
                assertThat(rows.getString("other")).isNull();
            }
            assertThat(replica.called)
                    .containsExactly(
                            "setAutoCommit[false]",
                            "prepareStatement[SELECT 1]",
                            "setLong[1, " + Long.MIN_VALUE + "]",
                            "setString[2, null]",
                            "executeQuery",
                            "next",
                            "getLong[1]",
                            "getString[other]",
                            "close");
            assertThatThrownBy(() -> select.setObject(1, "text")).hasFieldOrPropertyWithValue("SQLState", "0A000");
        }
    }

    @Test
    void whatIsGivenThereCanBeNamedHere() throws Exception {
        try (Other replica = new Other(true);
                Connection connection = connect(replica);
                PreparedStatement insert = connection.prepareStatement("INSERT")) {
            Savepoint first = connection.setSavepoint();
            connection.setSavepoint("second");
            insert.addBatch();
            assertThat(insert.executeBatch()).containsExactly(1, 2);
            connection.rollback(first);
            assertThat(replica.called)
                    .endsWith(
                            "setSavepoint", "setSavepoint[second]", "addBatch", "executeBatch", "rollback to another");
            connection.rollback(connection.setSavepoint());
            assertThat(replica.called).endsWith("setSavepoint", "rollback to it");
            connection
                    .getMetaData()
                    .getTables(null, "S", "%", new String[] {"TABLE"})
                    .close();
            assertThat(replica.called).contains("getMetaData").last().isEqualTo("close");
        }
    }

    /** A commit may have happened; all else is rolled back. */
    @ParameterizedTest
    @CsvSource({"commit, 08007", "prepareStatement, 08006", "rollback, 08006"})
    void whoseLineBreaksKnowsWhatMayHaveHappened(String call, String state) throws Exception {
        try (Other replica = new Other(true);
                Connection connection = connect(replica)) {
            replica.endsAt = "." + call + "(";
            assertThatThrownBy(() -> {
                        switch (call) {
                            case "commit" -> connection.commit();
                            case "rollback" -> connection.rollback();
                            default -> connection.prepareStatement("SELECT 1").close();
                        }
                    })
                    .hasFieldOrPropertyWithValue("SQLState", state);
            assertThat(connection.isClosed()).isTrue();
        }
    }

    @Test
    void whoWritesIsWhereWritesAreTakenAndLeavesWhenTheyAreNotAnyMore() throws Exception {
        try (Other backup = new Other(false);
                Other primary = new Other(true);
                Connection connection = connect(backup, primary)) {
            assertThat(primary.called).containsExactly("setAutoCommit[false]");
            primary.refusedWith = "25006";
            try (PreparedStatement update = connection.prepareStatement("UPDATE T SET A = 1")) {
                assertThatThrownBy(update::executeUpdate).hasFieldOrPropertyWithValue("SQLState", "08006");
            } catch (SQLException e) {
                // its end, as that of a connection that is lost
            }
            assertThat(connection.isClosed()).isTrue();
        }
    }

    @Test
    void whoOnlyReadsGoesToAnyReplicaAndTakesItsLevelAlong() throws Exception {
        try (Other primary = new Other(true);
                Connection connection = connect(primary)) {
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            primary.called.clear();
            connection.setReadOnly(true);
            assertThat(connection.isReadOnly()).isTrue();
            assertThat(primary.called)
                    .contains("setAutoCommit[false]", "setTransactionIsolation[4]")
                    .doesNotContain("commit");
        }
    }
}
