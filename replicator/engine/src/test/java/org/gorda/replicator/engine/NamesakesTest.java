package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.CallableStatement;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.UUID;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** Clients that call their transactions by the same names, by mistake: at most one of each name happens, on all replicas the same one, and each client is told. */
@Timeout(180)
class NamesakesTest {

    private static final int CLIENTS = 3;
    private static final int ROUNDS = 150;

    @TempDir
    Path directory;

    private final UUID session = UUID.randomUUID();
    private final CyclicBarrier together = new CyclicBarrier(CLIENTS);

    @ParameterizedTest
    @EnumSource(
            value = ReplicationProtocol.class,
            names = {"PRIMARY_BACKUP", "CERTIFICATION"})
    void atMostOneOfEachNameHappens(ReplicationProtocol protocol) throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(CLIENTS);
        try (Cluster cluster = new Cluster(directory, 3, builder -> builder.protocol(protocol))) {
            cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            cluster.assertIdentical();
            int primary = cluster.primary();
            List<Future<Set<Integer>>> clients = new ArrayList<>();
            for (int client = 0; client < CLIENTS; client++) {
                int own = client;
                // Two of them are at the same replica.
                int replica = protocol == ReplicationProtocol.CERTIFICATION ? client / 2 : primary;
                clients.add(threads.submit(() -> insert(cluster, replica, own)));
            }
            Set<Integer> told = new TreeSet<>();
            for (Future<Set<Integer>> client : clients) {
                told.addAll(client.get(120, TimeUnit.SECONDS));
            }
            cluster.assertIdentical();
            assertThat(rows(cluster)).isEqualTo(told);
            assertThat(told).isNotEmpty();
            assertThat(told.stream().map(id -> id / CLIENTS)).doesNotHaveDuplicates();
        } finally {
            threads.shutdownNow();
        }
    }

    /** A row in each round, all clients at once. */
    private Set<Integer> insert(Cluster cluster, int replica, int client) throws Exception {
        Set<Integer> done = new TreeSet<>();
        try (Connection connection = cluster.connect(replica);
                Statement statement = connection.createStatement();
                CallableStatement commit = connection.prepareCall("CALL GORDA.COMMIT_AS(?, ?)")) {
            connection.setAutoCommit(false);
            for (int round = 1; round <= ROUNDS; round++) {
                int id = round * CLIENTS + client;
                statement.executeUpdate("INSERT INTO T VALUES (" + id + ")");
                commit.setString(1, session.toString());
                commit.setLong(2, round);
                together.await(60, TimeUnit.SECONDS);
                try {
                    commit.execute();
                    done.add(id);
                } catch (SQLException e) {
                    assertThat(e.getSQLState()).as(e.toString()).isEqualTo("40001");
                    connection.rollback();
                }
            }
        }
        return done;
    }

    private static Set<Integer> rows(Cluster cluster) throws SQLException {
        Set<Integer> ids = new TreeSet<>();
        try (Connection connection = cluster.connect(cluster.primary());
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT ID FROM T")) {
            while (rows.next()) {
                ids.add(rows.getInt(1));
            }
        }
        return ids;
    }
}
