package org.gorda.replicator.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What load balancers and monitors ask a replica. */
@Timeout(120)
class MonitorsTest {

    private static final int SIZE = 3;

    private final HttpClient http = HttpClient.newHttpClient();
    private NodeGroup group;

    @BeforeEach
    void start(@TempDir Path directory) {
        group = new NodeGroup(directory, SIZE);
    }

    @AfterEach
    void stop() {
        group.close();
    }

    private HttpResponse<String> get(int node, String path) throws Exception {
        HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + group.service(node) + path))
                .build();
        return http.send(request, HttpResponse.BodyHandlers.ofString());
    }

    private void assertAnswers(int node, String path, int status, String text) throws Exception {
        HttpResponse<String> response = get(node, path);
        assertThat(response.body()).contains(text);
        assertThat(response.statusCode()).isEqualTo(status);
    }

    private void awaitLine(int node, String line) {
        NodeGroup.patiently(line)
                .untilAsserted(
                        () -> assertThat(get(node, "/metrics").body().lines()).contains(line));
    }

    @Test
    void areToldWhoTakesWritesAndWhoTakesPart() throws Exception {
        int primary = group.primary();
        int backup = group.backup();
        for (int i = 0; i < SIZE; i++) {
            int node = i;
            NodeGroup.patiently("ready").untilAsserted(() -> assertAnswers(node, "/ready", 200, "ONLINE: "));
        }
        assertAnswers(primary, "/writable", 200, "primary");
        assertAnswers(backup, "/writable", 503, "the primary is 127.0.0.1:");
        for (int i = 0; i < SIZE; i++) {
            if (i != primary) {
                group.stop(i);
            }
        }
        NodeGroup.patiently("a majority is missed")
                .untilAsserted(() -> assertAnswers(primary, "/writable", 503, "ISOLATED: "));
        assertAnswers(primary, "/ready", 503, "ISOLATED: ");
        awaitLine(primary, "gorda_replica_working 0.0");
        awaitLine(primary, "gorda_replica_writable 0.0");
    }

    @Test
    void readNumbersAsPrometheusDoes() throws Exception {
        int primary = group.primary();
        int backup = group.backup();
        try (Connection connection = DriverManager.getConnection(group.url());
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            statement.execute("INSERT INTO T VALUES (1)");
        }
        assertThatThrownBy(() -> new NodeClient().verify(group.service(primary), Duration.ZERO))
                .hasMessageContaining("the verification did not end within 0 ms");
        awaitLine(primary, "gorda_transactions_committed_total 2.0");
        awaitLine(primary, "gorda_replica_writable 1.0");
        awaitLine(primary, "gorda_group_members 3.0");
        awaitLine(backup, "gorda_transactions_applied_total 2.0");
        awaitLine(backup, "gorda_replica_state{state=\"ONLINE\"} 1.0");
        awaitLine(backup, "gorda_lag_positions 0.0");
        awaitLine(backup, "gorda_transactions_refused_total{cause=\"BACKUP\"} 0.0");
        try (Connection connection = DriverManager.getConnection(group.engineUrl(backup));
                Statement statement = connection.createStatement()) {
            assertThatThrownBy(() -> statement.execute("DELETE FROM T")).isInstanceOf(SQLException.class);
        }
        awaitLine(backup, "gorda_transactions_refused_total{cause=\"BACKUP\"} 1.0");
        HttpResponse<String> response = get(backup, "/metrics");
        assertThat(response.headers().firstValue("Content-Type"))
                .hasValueSatisfying(type -> assertThat(type).startsWith("text/plain; version=0.0.4"));
        assertThat(response.body())
                .contains("# TYPE gorda_transactions_committed_total counter")
                .containsPattern("gorda_replica_info\\{.*protocol=\"primary-backup\".*} 1")
                .doesNotContain("NaN");
        assertThat(response.body().lines().filter(line -> !line.startsWith("#")))
                .allMatch(line -> line.matches("gorda_[a-z_]+(\\{.*})? -?[0-9.E+]+"));
    }
}
