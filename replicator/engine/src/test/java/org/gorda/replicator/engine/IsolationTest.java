package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.isolation.Interleaving;
import org.gorda.replicator.engine.isolation.IsolationCase;
import org.gorda.replicator.engine.isolation.IsolationPage;
import org.gorda.replicator.engine.isolation.IsolationReplicas;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which anomalies each isolation level lets happen on Derby, on one replica and across replicas: tables of docs/isolation.md. */
@Timeout(900)
class IsolationTest {

    /** Read by Derby when it opens a database: after how many seconds it looks for a deadlock. */
    private static final String DEADLOCK_WAIT = "derby.locks.deadlockTimeout";

    private static final int PATIENT = 1;

    @TempDir
    static Path directory;

    private static Replicas everywhere;
    private static Replicas patient;
    private static Replicas primary;

    private static final class Replicas extends IsolationReplicas {

        /** What a session that waits for a lock is called, by the name of its user. */
        private static final String WAITING =
                "SELECT T.USERNAME FROM SYSCS_DIAG.LOCK_TABLE L, SYSCS_DIAG.TRANSACTION_TABLE T"
                        + " WHERE L.XID = T.XID AND L.STATE = 'WAIT'";

        private final Cluster cluster;

        Replicas(Cluster cluster) {
            this.cluster = cluster;
        }

        @Override
        public int size() {
            return cluster.size();
        }

        @Override
        public Replica replica(int i) {
            return cluster.replica(i);
        }

        @Override
        public Connection connect(int i, String session) throws SQLException {
            Properties properties = new Properties();
            properties.setProperty("user", session);
            return cluster.replica(i).connect(properties);
        }

        @Override
        public Set<String> waiting(int i) throws SQLException {
            Set<String> users = new HashSet<>();
            try (Statement statement = other(i).createStatement();
                    ResultSet rows = statement.executeQuery(WAITING)) {
                while (rows.next()) {
                    users.add(rows.getString(1));
                }
            }
            return users;
        }

        /** Who reads is not in the way of others for ever, but here for longer than it takes. */
        @Override
        public Connection hold(int i) throws SQLException {
            Connection holder = cluster.connect(i);
            holder.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            holder.setAutoCommit(false);
            try (Statement statement = holder.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT N FROM APP.GATE")) {
                assertThat(rows.next()).isTrue();
            }
            return holder;
        }

        @Override
        public void close() {
            cluster.close();
        }
    }

    @BeforeAll
    static void start() throws SQLException {
        System.setProperty(DEADLOCK_WAIT, "1");
        everywhere = replicas("everywhere", 3, ReplicationProtocol.CERTIFICATION);
        patient = replicas("patient", 3, ReplicationProtocol.CERTIFICATION);
        Cluster cluster = patient.cluster;
        cluster.replica(PATIENT).close();
        cluster.start(
                PATIENT,
                builder -> builder.protocol(ReplicationProtocol.CERTIFICATION).readGrace(Duration.ofMinutes(2)));
        cluster.awaitOnline();
        primary = replicas("primary", 1, ReplicationProtocol.PRIMARY_BACKUP);
    }

    private static Replicas replicas(String name, int size, ReplicationProtocol protocol) throws SQLException {
        Cluster cluster = new Cluster(
                directory.resolve(name),
                size,
                builder -> builder.protocol(protocol).readGrace(Duration.ofMillis(20)));
        cluster.execute(IsolationCase.TABLES.toArray(String[]::new));
        return new Replicas(cluster);
    }

    @AfterAll
    static void stop() {
        System.clearProperty(DEADLOCK_WAIT);
        for (Replicas replicas : new Replicas[] {everywhere, patient, primary}) {
            if (replicas != null) {
                replicas.close();
            }
        }
    }

    private static String table(String title, IsolationPage.Place place) throws SQLException {
        return IsolationPage.table(title, Connection.TRANSACTION_READ_UNCOMMITTED, place);
    }

    @Test
    void theTablesOfTheDocumentationAreTrue() throws Exception {
        // Most of the time is spent on waiting for Derby to look for deadlocks.
        FutureTask<String> ofThePrimary = new FutureTask<>(
                () -> table("Derby, primary-backup: all transactions on the primary", IsolationPage.on(primary)));
        new Thread(ofThePrimary, "primary").start();
        IsolationPage page = new IsolationPage(everywhere, patient, PATIENT);
        String tables = IsolationPage.anomalies()
                + table("Derby, certification: each transaction on another replica", page::acrossReplicas)
                + table("Derby, certification: all transactions on one replica", page::onOneReplica)
                + ofThePrimary.get(2, TimeUnit.MINUTES);
        IsolationPage.require("IsolationTest", tables);
    }

    @Test
    void whoLosesItsLocksOnItsWayIsCommittedAllTheSame() throws SQLException {
        for (int level : List.of(Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ)) {
            try (Interleaving run =
                    new Interleaving(patient, level, PATIENT, 0, PATIENT).run(IsolationCase.LOST_SENT)) {
                assertThat(run.failures()).isEmpty();
                assertThat(run.end()).isEqualTo("1=11 2=22");
            }
        }
    }
}
