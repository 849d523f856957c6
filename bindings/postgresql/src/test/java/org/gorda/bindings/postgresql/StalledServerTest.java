package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Callable;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.Cluster;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.ReplicaState;
import org.gorda.replicator.engine.ReplicaStatus;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** All processes of one replica's server stand still, as with a disk or a machine that is gone without a word; the replica beside it is well. */
@Timeout(120)
class StalledServerTest {

    private static final int SIZE = 3;
    private static final Duration PATIENCE = Duration.ofSeconds(40);
    private static final String SILENT = "the database has not answered for ";
    private static final String COUNT = "UPDATE counter SET n = n + 1 WHERE id = 1";

    @TempDir
    Path directory;

    private final List<EmbeddedPostgres> servers = new ArrayList<>();
    private final Cluster cluster = new Cluster(SIZE, this::describe);
    private ReplicationProtocol protocol = ReplicationProtocol.PRIMARY_BACKUP;
    private final ExecutorService client = Executors.newSingleThreadExecutor();

    private void start(ReplicationProtocol ofAll) throws IOException {
        for (int i = 0; i < SIZE; i++) {
            servers.add(EmbeddedPostgres.builder()
                    .setDataDirectory(directory.resolve("data" + i))
                    .setServerConfig("fsync", "off")
                    .start());
        }
        protocol = ofAll;
        cluster.startAll();
    }

    private void describe(Replica.Builder builder, int i) {
        builder.database("postgresql", "//localhost:" + servers.get(i).getPort() + "/bank")
                .attribute("user", "postgres")
                .directory(directory.resolve("replica" + i))
                .protocol(protocol)
                // which also is how long its database may be silent, but for a minimum
                .commitTimeout(Duration.ofSeconds(5));
    }

    @AfterEach
    void stop() throws IOException {
        client.shutdownNow();
        cluster.close();
        for (EmbeddedPostgres server : servers) {
            server.close();
        }
    }

    private static void await(String what, Callable<Boolean> condition) {
        Awaitility.await(what).atMost(PATIENCE).until(condition);
    }

    private ReplicaStatus status(int i) {
        return cluster.replica(i).status();
    }

    private int execute(int i, String sql) throws SQLException {
        try (Connection connection = cluster.connect(i);
                Statement statement = connection.createStatement()) {
            return statement.executeUpdate(sql);
        }
    }

    private long count(int i) throws SQLException {
        try (Connection around = DriverManager.getConnection(
                        "jdbc:postgresql://localhost:" + servers.get(i).getPort() + "/bank?user=postgres");
                Statement statement = around.createStatement();
                ResultSet row = statement.executeQuery("SELECT n FROM counter")) {
            row.next();
            return row.getLong(1);
        }
    }

    /** Replicas that take writes, but for one. */
    private List<Integer> executing(int but) {
        return IntStream.range(0, SIZE)
                .filter(i -> i != but && !cluster.isGone(i) && status(i).executesHere())
                .boxed()
                .toList();
    }

    private void signal(String signal, int server) throws IOException, InterruptedException {
        long postmaster = Long.parseLong(
                Files.readAllLines(directory.resolve("data" + server).resolve("postmaster.pid"))
                        .get(0));
        ProcessHandle first = ProcessHandle.of(postmaster).orElseThrow();
        for (ProcessHandle process :
                Stream.concat(Stream.of(first), first.descendants()).toList()) {
            new ProcessBuilder("kill", signal, Long.toString(process.pid()))
                    .start()
                    .waitFor();
        }
    }

    private void begin(ReplicationProtocol protocol) throws Exception {
        start(protocol);
        int any = executing(-1).get(0);
        execute(any, "CREATE TABLE counter (id INTEGER PRIMARY KEY, n INTEGER NOT NULL)");
        execute(any, "INSERT INTO counter VALUES (1, 0)");
    }

    private boolean saysThatItsServerStandsStill(int i) {
        return status(i).explanation().startsWith(SILENT);
    }

    @ParameterizedTest
    @EnumSource(names = {"PRIMARY_BACKUP", "CERTIFICATION"})
    void othersTakeWritesWhileOneStandsStillAndItGoesOnWithThem(ReplicationProtocol protocol) throws Exception {
        begin(protocol);
        int stalled = executing(-1).get(0);
        int told = 1;
        try (Connection open = cluster.replica(stalled).connect(new Properties());
                Statement statement = open.createStatement()) {
            Future<Integer> hangs;
            signal("-STOP", stalled);
            try {
                hangs = client.submit(() -> statement.executeUpdate(COUNT));
                await("it says so", () -> saysThatItsServerStandsStill(stalled));
                assertThat(status(stalled).state()).isEqualTo(ReplicaState.CATCHING_UP);
                await("another one takes writes", () -> !executing(stalled).isEmpty());
                execute(executing(stalled).get(0), COUNT);
                assertThat(hangs).isNotDone();
            } finally {
                signal("-CONT", stalled);
            }
            try {
                told += hangs.get(PATIENCE.toSeconds(), TimeUnit.SECONDS);
            } catch (ExecutionException e) {
                assertThat(e).cause().isInstanceOf(SQLException.class);
            }
        }
        await("it takes part", () -> status(stalled).state() == ReplicaState.ONLINE);
        long newest = status(executing(-1).get(0)).orderedIndex();
        for (int i = 0; i < SIZE; i++) {
            int each = i;
            await("all show it", () -> status(each).appliedIndex() >= newest);
            assertThat(count(i)).isEqualTo(told);
        }
    }

    /** Nor does who stops the replica wait for the server, which may never go on. */
    @Test
    void whoStandsStillIsStopped() throws Exception {
        begin(ReplicationProtocol.PRIMARY_BACKUP);
        int stalled = executing(-1).get(0);
        signal("-STOP", stalled);
        try {
            await("it says so", () -> saysThatItsServerStandsStill(stalled));
            Future<?> stopped = client.submit(() -> cluster.stop(stalled));
            stopped.get(25, TimeUnit.SECONDS);
        } finally {
            signal("-CONT", stalled);
        }
        await("another one takes writes", () -> !executing(stalled).isEmpty());
        execute(executing(stalled).get(0), COUNT);
        cluster.start(stalled);
        await("it takes part", () -> status(stalled).state() == ReplicaState.ONLINE);
        assertThat(count(stalled)).isEqualTo(1);
    }

    @Test
    void whatTakesLongWhereItIsAppliedIsNoStandstill() throws Exception {
        begin(ReplicationProtocol.CERTIFICATION);
        execute(
                0,
                "CREATE FUNCTION slow(n INTEGER) RETURNS INTEGER IMMUTABLE LANGUAGE plpgsql AS"
                        + " $$ BEGIN PERFORM pg_sleep(13); RETURN n; END $$");
        execute(0, "CREATE INDEX slowly ON counter (slow(n))");
        long newest = status(0).orderedIndex();
        long epoch = status(0).epoch();
        await("another one has applied it", () -> {
            assertThat(IntStream.range(0, SIZE)).noneMatch(this::saysThatItsServerStandsStill);
            return status(1).appliedIndex() >= newest;
        });
        assertThat(status(1).epoch()).isEqualTo(epoch);
    }
}
