package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Random;
import java.util.UUID;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.gorda.replicator.core.Outcome;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Transactions that travel in chunks. */
@Timeout(180)
class LargeTransactionTest {

    private static final int LOB_BYTES = 12 << 20;

    @TempDir
    Path directory;

    private static byte[] noise(long seed) {
        byte[] bytes = new byte[LOB_BYTES];
        new Random(seed).nextBytes(bytes);
        return bytes;
    }

    private static void insert(Connection connection, int id) throws SQLException {
        try (PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
            insert.setInt(1, id);
            insert.setBinaryStream(2, new ByteArrayInputStream(noise(id)));
            insert.executeUpdate();
        }
    }

    @Test
    void manyRowsInOneTransactionAreTheSameOnAllReplicasAlsoOnOneThatWasAway() throws SQLException {
        try (Cluster cluster = new Cluster(directory, 3, builder -> {})) {
            cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(200))");
            int away = cluster.backup();
            cluster.replica(away).close();
            try (Connection connection = cluster.connect(cluster.primary());
                    PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
                connection.setAutoCommit(false);
                for (int i = 0; i < 30_000; i++) {
                    insert.setInt(1, i);
                    insert.setString(2, "row " + i + " of many ".repeat(15));
                    insert.executeUpdate();
                }
                connection.commit();
            }
            cluster.execute("DELETE FROM T WHERE ID = 7");
            cluster.start(away);
            cluster.awaitOnline();
            assertThat(cluster.assertIdentical().get(0).rows()).isEqualTo(29_999);
        }
    }

    /** To ask for its outcome ends a transaction wherever its chunks are; both sides are told the same. */
    @Test
    void aTransactionWhoseOutcomeIsAskedForWhileItIsSentIsThereAsAWholeOrNotAtAll() throws Exception {
        ExecutorService client = Executors.newSingleThreadExecutor();
        try (Cluster cluster = new Cluster(directory, 3, builder -> {})) {
            cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB(64M))");
            int primary = cluster.primary();
            Random random = new Random(1);
            int committed = 0;
            for (int i = 0; i < 4; i++) {
                int id = i;
                SessionId session = SessionId.of(UUID.randomUUID());
                long since = cluster.replica(primary).status().orderedIndex();
                try (Connection connection = cluster.connect(primary);
                        Statement statement = connection.createStatement()) {
                    connection.setAutoCommit(false);
                    insert(connection, id);
                    long before = cluster.replica(primary).status().orderedIndex();
                    Future<Boolean> told = client.submit(() -> {
                        try {
                            statement.execute("CALL GORDA.COMMIT_AS('" + session + "', 1)");
                            return true;
                        } catch (SQLException e) {
                            assertThat(e.getSQLState()).as(e.getMessage()).isEqualTo("40001");
                            return false;
                        }
                    });
                    int chunks = random.nextInt(LOB_BYTES / ChunkSender.CHUNK_BYTES);
                    while (cluster.replica(primary).status().orderedIndex() < before + chunks && !told.isDone()) {
                        Thread.onSpinWait();
                    }
                    Outcome outcome = cluster.replica(cluster.backup())
                            .outcome(new TransactionId(session, 1), since)
                            .get(20, TimeUnit.SECONDS);
                    assertThat(told.get(20, TimeUnit.SECONDS)).isEqualTo(outcome == Outcome.COMMITTED);
                    committed += outcome == Outcome.COMMITTED ? 1 : 0;
                }
            }
            try (Connection connection = cluster.connect(primary)) {
                insert(connection, 100);
            }
            assertThat(cluster.assertIdentical().get(0).rows()).isEqualTo(committed + 1);
            System.out.println("large transactions closed while sent: " + (4 - committed) + " of 4");
        } finally {
            client.shutdownNow();
        }
    }
}
