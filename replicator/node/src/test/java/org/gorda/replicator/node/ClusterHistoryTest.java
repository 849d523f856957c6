package org.gorda.replicator.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.StringReader;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.gorda.gapi.FileTree;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.gorda.replicator.engine.ReplicaRecovery;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Among the addresses of a URL there is one where another group answers, or has begun with what the group has made. */
@Timeout(180)
class ClusterHistoryTest {

    @TempDir
    Path directory;

    private NodeGroup group;
    private NodeGroup other;

    /** Of both, the other one's last. */
    private String url;

    @BeforeEach
    void open() throws SQLException {
        group = new NodeGroup(directory.resolve("group"), 1);
        other = new NodeGroup(directory.resolve("other"), 1);
        url = "jdbc:gorda://" + group.service(0) + "," + other.service(0) + "/shop";
        execute(other.url(), "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        other.stop(0);
    }

    @AfterEach
    void close() {
        group.close();
        other.close();
    }

    private static void execute(String url, String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static List<Integer> rows(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT ID FROM T ORDER BY ID")) {
            List<Integer> found = new ArrayList<>();
            while (rows.next()) {
                found.add(rows.getInt(1));
            }
            return found;
        }
    }

    private static List<Integer> rows(String url) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url)) {
            return rows(connection);
        }
    }

    /** As a member does that comes back without its disk, and was configured itself alone. */
    @Test
    void anotherGroupTakesNeitherWritesNorReadsWhenThePrimaryFails() throws Exception {
        execute(url, "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        execute(url, "INSERT INTO T VALUES (1)");
        other.start(0);
        other.primary();
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.setReadOnly(true);
            assertThat(connection.toString()).startsWith("connection to " + group.service(0) + " ");
        }
        group.stop(0);
        assertThatThrownBy(() -> DriverManager.getConnection(url + ";connect-timeout=3s"))
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08001"))
                .hasMessageContaining(group.service(0) + " does not answer")
                .hasMessageContaining(other.service(0) + " belongs to another group (")
                .hasMessageContaining("start it again if it is to go to another one");
        group.start(0);
        execute(url, "INSERT INTO T VALUES (2)");
        assertThat(rows(url)).containsExactly(1, 2);
        assertThat(rows(other.url())).isEmpty();
    }

    /** It is told to abort what it has never heard of, and would say that it did. */
    @Test
    void anotherGroupIsNotAskedWhetherATransactionHappened() throws Exception {
        try (AnswerThief thief = new AnswerThief(group.service(0), group.clients(0))) {
            String stolen = "jdbc:gorda://" + thief.address() + "," + other.service(0) + "/shop";
            execute(stolen, "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            other.start(0);
            other.primary();
            Connection connection = DriverManager.getConnection(stolen);
            connection.setAutoCommit(false);
            try (Statement statement = connection.createStatement()) {
                statement.executeUpdate("INSERT INTO T VALUES (1)");
                connection.commit();
                statement.executeUpdate("INSERT INTO T VALUES (2)");
            }
            thief.silent(true);
            thief.steal(AnswerThief.Steal.ANSWER);
            CompletableFuture<Void> heard = CompletableFuture.runAsync(
                    () -> thief.silent(false), CompletableFuture.delayedExecutor(2, TimeUnit.SECONDS));
            connection.commit();
            heard.get(10, TimeUnit.SECONDS);
            connection.close();
            assertThat(rows(group.url())).containsExactly(1, 2);
        }
    }

    @Test
    void aReplicaTellsNothingOfATransactionOfAnotherGroup() throws Exception {
        other.start(0);
        other.primary();
        Properties topology = new Properties();
        topology.load(new StringReader(ask("GET", group, "/topology").body()));
        String question = "/outcome?transaction=" + new TransactionId(SessionId.of(UUID.randomUUID()), 1) + "&since=1";
        String onGroups = question + "&history=" + topology.getProperty("history");
        assertThat(ask("POST", group, onGroups).body()).isEqualTo("ABORTED\n");
        HttpResponse<String> refused = ask("POST", other, onGroups);
        assertThat(refused.statusCode()).isEqualTo(409);
        assertThat(refused.body()).contains("can tell nothing of a transaction of '" + topology.getProperty("history"));
        assertThat(ask("POST", group, question).body()).contains("history is missing");
    }

    private static HttpResponse<String> ask(String method, NodeGroup of, String path) throws Exception {
        return HttpClient.newHttpClient()
                .send(
                        HttpRequest.newBuilder(URI.create("http://" + of.service(0) + path))
                                .method(method, HttpRequest.BodyPublishers.noBody())
                                .build(),
                        HttpResponse.BodyHandlers.ofString());
    }

    @Test
    void whoConnectsFirstWhereTwoGroupsAnswerIsToldSoAtOnce() throws Exception {
        execute(group.url(), "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        other.start(0);
        other.primary();
        assertThatThrownBy(() -> DriverManager.getConnection(url))
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08004"))
                .hasMessageContaining("the addresses in the URL are of different groups")
                .hasMessageContaining(group.service(0) + " of ")
                .hasMessageContaining(other.service(0) + " of ");
        other.stop(0);
        assertThatThrownBy(() -> DriverManager.getConnection(url))
                .as("the one that is left may be the wrong one")
                .hasMessageContaining("the addresses in the URL are of different groups");
    }

    @Test
    void clientsGoOnWithTheGroupThatAPersonHasBegunWithTheirRows() throws Exception {
        execute(url, "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        execute(url, "INSERT INTO T VALUES (1)");
        Connection before = DriverManager.getConnection(url);
        group.stop(0);
        Path log = Path.of(group.database(0) + ".gorda");
        FileTree.delete(log);
        try (ReplicaRecovery recovery = recovery()) {
            recovery.beginNewGroup();
        }
        group.start(0);
        other.start(0);
        execute(url, "INSERT INTO T VALUES (2)");
        assertThat(before.isClosed()).isTrue();
        assertThat(rows(url)).containsExactly(1, 2);
        assertThat(rows(group.url())).containsExactly(1, 2);
    }

    @Test
    void clientsGoOnWithTheReplicaThatAPersonHasToldToGoOnAlone() throws Exception {
        group.close();
        group = new NodeGroup(directory.resolve("pair"), 2, Map.of());
        String pair = "jdbc:gorda://" + group.service(1) + "," + group.service(0) + "/shop";
        execute(pair, "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        execute(pair, "INSERT INTO T VALUES (1)");
        group.assertIdentical();
        group.stop(1);
        group.stop(0);
        try (ReplicaRecovery recovery = recovery()) {
            recovery.goOnAlone();
        }
        group.start(0);
        execute(pair, "INSERT INTO T VALUES (2)");
        assertThat(rows(pair)).containsExactly(1, 2);
    }

    private ReplicaRecovery recovery() {
        return ReplicaRecovery.open(
                "derby", group.database(0).toString(), Map.of(), Path.of(group.database(0) + ".gorda"));
    }
}
