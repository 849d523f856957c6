package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.Cluster;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.isolation.Interleaving;
import org.gorda.replicator.engine.isolation.IsolationCase;
import org.gorda.replicator.engine.isolation.IsolationPage;
import org.gorda.replicator.engine.isolation.IsolationReplicas;
import org.gorda.replicator.engine.isolation.Rivals;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Which anomalies each isolation level lets happen on PostgreSQL, on one replica and across replicas: tables of docs/isolation.md. */
@Timeout(900)
class PostgresIsolationTest {

    private static final int HELD = 1;

    @TempDir
    static Path directory;

    private static Replicas everywhere;
    private static Replicas patient;
    private static Replicas primary;

    private static final class Replicas extends IsolationReplicas {

        private final Cluster cluster;

        /** Sessions that have nothing to do with us. */
        private final List<Connection> observers = new ArrayList<>();

        private final List<String> databases = new ArrayList<>();

        Replicas(String name, int size, ReplicationProtocol protocol, Duration readGrace) throws SQLException {
            cluster = new Cluster(
                    size,
                    (builder, i) -> builder.database("postgresql", url(name, i))
                            .attribute("user", "postgres")
                            .directory(directory.resolve(name + i))
                            .group(name)
                            .protocol(protocol)
                            .readGrace(readGrace));
            cluster.startAll();
            for (int i = 0; i < size; i++) {
                String url = url(name, i);
                databases.add(url.substring(url.lastIndexOf('/') + 1));
            }
            for (String database : databases) {
                observers.add(TestServer.connect(database));
            }
            try (Statement statement = other(0).createStatement()) {
                statement.execute("CREATE SCHEMA app");
                for (String sql : IsolationCase.TABLES) {
                    statement.execute(sql);
                }
            }
        }

        private static String url(String name, int i) {
            return TestServer.configuration(directory, name + i).location();
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
            properties.setProperty("ApplicationName", session);
            return replica(i).connect(properties);
        }

        @Override
        public Set<String> waiting(int i) throws SQLException {
            Set<String> sessions = new HashSet<>();
            try (Statement statement = observers.get(i).createStatement();
                    ResultSet rows = statement.executeQuery("SELECT application_name FROM pg_stat_activity"
                            + " WHERE wait_event_type = 'Lock' AND datname = current_database()")) {
                while (rows.next()) {
                    sessions.add(rows.getString(1));
                }
            }
            return sessions;
        }

        @Override
        public Connection hold(int i) throws SQLException {
            Connection holder = TestServer.connect(databases.get(i));
            holder.setAutoCommit(false);
            try (Statement statement = holder.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT n FROM app.gate FOR UPDATE")) {
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
        TestServer.dropOthers(directory);
        everywhere = new Replicas("everywhere", 3, ReplicationProtocol.CERTIFICATION, Duration.ofMillis(20));
        patient = new Replicas("patient", 3, ReplicationProtocol.CERTIFICATION, Duration.ofMinutes(2));
        primary = new Replicas("primary", 1, ReplicationProtocol.PRIMARY_BACKUP, Duration.ofMillis(20));
    }

    @AfterAll
    static void stop() throws SQLException {
        for (Replicas replicas : new Replicas[] {everywhere, patient, primary}) {
            if (replicas != null) {
                replicas.close();
                for (Connection observer : replicas.observers) {
                    observer.close();
                }
            }
        }
    }

    private static String table(String title, IsolationPage.Place place) throws SQLException {
        return IsolationPage.table(title, Connection.TRANSACTION_READ_COMMITTED, place);
    }

    @Test
    void theTablesOfTheDocumentationAreTrue() throws Exception {
        IsolationPage page = new IsolationPage(everywhere, patient, HELD);
        IsolationPage.require(
                "PostgresIsolationTest",
                table("PostgreSQL, certification: each transaction on another replica", page::acrossReplicas)
                        + table("PostgreSQL, certification: all transactions on one replica", page::onOneReplica)
                        + table(
                                "PostgreSQL, primary-backup: all transactions on the primary",
                                IsolationPage.on(primary)));
    }

    /** What a constraint excludes, also one that is checked late, or by operators of its own. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "UNIQUE (e) DEFERRABLE INITIALLY DEFERRED",
                "UNIQUE (e) DEFERRABLE",
                "EXCLUDE USING gist (r WITH &&)",
                "EXCLUDE USING gist (r WITH &&) DEFERRABLE INITIALLY DEFERRED",
                "UNIQUE (e)"
            })
    void ofTwoThatExcludeEachOtherOneIsCommitted(String constraint) throws Exception {
        int attempts = 60;
        try (Connection first = everywhere.connect(0, "first");
                Connection second = everywhere.connect(1, "second");
                Statement statement = first.createStatement()) {
            statement.execute("DROP TABLE IF EXISTS app.exclusive");
            statement.execute(
                    "CREATE TABLE app.exclusive (id INTEGER PRIMARY KEY, e INTEGER, r INT4RANGE, " + constraint + ")");
            everywhere.cluster.awaitEverywhere();
            int committed = Rivals.committed(first, second, attempts, (i, isSecond) -> {
                int which = isSecond ? 1 : 0;
                return "INSERT INTO app.exclusive VALUES (" + (2 * i + which) + ", " + i + ", int4range("
                        + (10 * i + which) + ", " + (10 * i + 5 + which) + "))";
            });
            assertThat(committed).as("attempts of which one was committed").isGreaterThan(attempts / 2);
        }
        everywhere.cluster.awaitEverywhere();
        for (Connection observer : everywhere.observers) {
            try (Statement statement = observer.createStatement();
                    ResultSet row = statement.executeQuery("SELECT count(*) FROM app.exclusive a"
                            + " JOIN app.exclusive b ON a.id < b.id AND (a.e = b.e OR a.r && b.r)")) {
                row.next();
                assertThat(row.getInt(1)).as("rows that exclude each other").isZero();
            }
        }
    }

    @Test
    void whoLosesItsLocksOnItsWayIsCommittedAllTheSame() throws SQLException {
        for (int level : List.of(Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_REPEATABLE_READ)) {
            try (Interleaving run = new Interleaving(patient, level, HELD, 0, HELD).run(IsolationCase.LOST_SENT)) {
                assertThat(run.failures()).isEmpty();
                assertThat(run.end()).isEqualTo("1=11 2=22");
            }
        }
    }
}
