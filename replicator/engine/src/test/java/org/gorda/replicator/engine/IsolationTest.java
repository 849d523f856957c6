package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.FutureTask;
import java.util.concurrent.TimeUnit;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Which anomalies each isolation level lets happen, on one replica and across replicas: the tables of docs/isolation.md. */
@Timeout(300)
class IsolationTest {

    /** Read by Derby when it opens a database: after how many seconds it looks for a deadlock. */
    private static final String DEADLOCK_WAIT = "derby.locks.deadlockTimeout";

    private static final String BEGIN = "<!-- from here on written by IsolationTest -->\n";

    private static final Map<Integer, String> LEVELS = new TreeMap<>(Map.of(
            Connection.TRANSACTION_READ_UNCOMMITTED, "READ UNCOMMITTED",
            Connection.TRANSACTION_READ_COMMITTED, "READ COMMITTED",
            Connection.TRANSACTION_REPEATABLE_READ, "REPEATABLE READ",
            Connection.TRANSACTION_SERIALIZABLE, "SERIALIZABLE"));

    @TempDir
    static Path directory;

    /** Readers give way quickly. */
    private static Cluster everywhere;

    /** On one replica readers do not give way: one of them can hold up what it hears of the others. */
    private static Cluster patient;

    private static final int PATIENT = 1;

    private static Cluster primary;

    private enum Outcome {
        PREVENTED,
        POSSIBLE,
        REFUSED;

        @Override
        public String toString() {
            return this == POSSIBLE ? "**possible**" : this == PREVENTED ? "prevented" : "refused";
        }
    }

    private interface Place {
        Outcome outcome(IsolationCase schedule, int level) throws SQLException;
    }

    @BeforeAll
    static void start() throws SQLException {
        System.setProperty(DEADLOCK_WAIT, "1");
        everywhere = cluster("everywhere", 3, ReplicationProtocol.CERTIFICATION);
        patient = cluster("patient", 3, ReplicationProtocol.CERTIFICATION);
        patient.replica(PATIENT).close();
        patient.start(
                PATIENT,
                builder -> builder.protocol(ReplicationProtocol.CERTIFICATION).readGrace(Duration.ofMinutes(2)));
        patient.awaitOnline();
        primary = cluster("primary", 1, ReplicationProtocol.PRIMARY_BACKUP);
    }

    private static Cluster cluster(String name, int size, ReplicationProtocol protocol) throws SQLException {
        Cluster cluster = new Cluster(
                directory.resolve(name),
                size,
                builder -> builder.protocol(protocol).readGrace(Duration.ofMillis(20)));
        cluster.execute(IsolationCase.TABLES.toArray(String[]::new));
        cluster.execute(
                "CREATE TABLE APP.GATE (ID INTEGER PRIMARY KEY, N INTEGER)", "INSERT INTO APP.GATE VALUES (0, 0)");
        return cluster;
    }

    @AfterAll
    static void stop() {
        System.clearProperty(DEADLOCK_WAIT);
        for (Cluster cluster : new Cluster[] {everywhere, patient, primary}) {
            if (cluster != null) {
                cluster.close();
            }
        }
    }

    private static Outcome run(Cluster cluster, IsolationCase schedule, int level, int held, int... replicas)
            throws SQLException {
        try (Interleaving run = new Interleaving(cluster, level, held, replicas).run(schedule)) {
            Set<String> failures = run.failures();
            if (failures.contains("0A000")) {
                return Outcome.REFUSED;
            }
            assertThat(failures)
                    .as("%s at %s", schedule.name(), LEVELS.get(level))
                    .isSubsetOf("40001", "23503");
            return schedule.anomaly().test(run) ? Outcome.POSSIBLE : Outcome.PREVENTED;
        }
    }

    /** Each commit is shown everywhere before the next statement, or one of the two replicas hears nothing of the others till the end. */
    private static Outcome acrossReplicas(IsolationCase schedule, int level) throws SQLException {
        Outcome outcome = run(everywhere, schedule, level, Interleaving.NONE, 0, 1, 2);
        if (outcome == Outcome.PREVENTED) {
            outcome = run(patient, schedule, level, PATIENT, PATIENT, 0, 2);
        }
        return outcome == Outcome.PREVENTED ? run(patient, schedule, level, PATIENT, 0, PATIENT, 2) : outcome;
    }

    private static Outcome onOneReplica(IsolationCase schedule, int level) throws SQLException {
        return run(everywhere, schedule, level, Interleaving.NONE, 1, 1, 1);
    }

    private static Outcome onThePrimary(IsolationCase schedule, int level) throws SQLException {
        return run(primary, schedule, level, Interleaving.NONE, 0, 0, 0);
    }

    private static String table(String title, Place place) throws SQLException {
        StringBuilder page = new StringBuilder("\n## ").append(title).append("\n\n| |");
        LEVELS.values().forEach(level -> page.append(' ').append(level).append(" |"));
        page.append("\n|---|").append("---|".repeat(LEVELS.size())).append('\n');
        for (IsolationCase schedule : IsolationCase.ALL) {
            page.append("| ").append(schedule.name()).append(" |");
            for (int level : LEVELS.keySet()) {
                page.append(' ').append(place.outcome(schedule, level)).append(" |");
            }
            page.append('\n');
        }
        return page.toString();
    }

    @Test
    void theTablesOfTheDocumentationAreTrue() throws Exception {
        // Most of the time is spent on waiting for Derby to look for deadlocks.
        FutureTask<String> ofThePrimary = new FutureTask<>(
                () -> table("Primary-backup, all transactions on the primary", IsolationTest::onThePrimary));
        new Thread(ofThePrimary, "primary").start();
        StringBuilder tables = new StringBuilder("\n## The anomalies\n\n| | What goes wrong |\n|---|---|\n");
        IsolationCase.ALL.forEach(one -> tables.append("| ")
                .append(one.name())
                .append(" | ")
                .append(one.meaning())
                .append(" |\n"));
        tables.append(table("Certification, each transaction on another replica", IsolationTest::acrossReplicas));
        tables.append(table("Certification, all transactions on one replica", IsolationTest::onOneReplica));
        tables.append(ofThePrimary.get(2, TimeUnit.MINUTES));
        Path file = file();
        String before = Files.readString(file);
        int begin = before.indexOf(BEGIN) + BEGIN.length();
        assertThat(before).contains(BEGIN);
        String after = before.substring(0, begin) + tables;
        if (!after.equals(before)) {
            Files.writeString(file, after);
        }
        assertThat(before)
                .as(
                        "docs/isolation.md was out of date; its tables are right now: see that its words are, too, and commit it")
                .isEqualTo(after);
    }

    private static Path file() throws IOException {
        return Path.of("..", "..", "docs", "isolation.md").toRealPath();
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
