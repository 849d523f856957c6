package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.awaitility.Awaitility;
import org.gorda.bench.Acknowledged;
import org.gorda.bench.LoadTest;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.workload.TpcB;
import org.gorda.gapi.FileTree;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.ReplicaState;
import org.gorda.replicator.node.NodeClient;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A majority is gone for good, and a person decides. */
final class RecoverTest {

    private static final Duration WAIT = Duration.ofSeconds(90);

    @TempDir
    private Path directory;

    private GordaRun recover(ReplicaProcess replica, String... options) throws Exception {
        String[] arguments = new String[options.length + 2];
        arguments[0] = "recover";
        arguments[1] = database(replica).toString();
        System.arraycopy(options, 0, arguments, 2, options.length);
        return GordaRun.in(directory, arguments);
    }

    private static Path database(ReplicaProcess replica) {
        return replica.directory().resolve("bank");
    }

    private static JsonObject report(GordaRun run) {
        assertThat(run.status()).as(run.err()).isZero();
        return run.lastLine();
    }

    /** Until it takes writes: one in a majority may still be working off what was ordered. */
    private static void awaitWorking(ReplicaGroup group, ReplicaProcess replica) {
        Awaitility.await(replica.name() + " works")
                .atMost(WAIT)
                .until(() -> group.status(replica)
                        .filter(status -> status.working() && status.state().equals("ONLINE"))
                        .isPresent());
    }

    @Test
    void theNewestOfThemGoesOnAloneAndTheOthersComeAnew() throws Exception {
        try (ReplicaGroup group =
                ReplicaGroup.of(3, directory, Map.of("protocol", "certification", "log-retain-bytes", "1MB"))) {
            group.start();
            group.awaitOnline(WAIT, line -> {});
            ReplicaProcess any = group.replicas().get(0);
            GordaRun running = recover(any);
            assertThat(running.status()).isEqualTo(1);
            assertThat(running.err()).contains("in use by another process");
            LoadTest load = LoadTest.of(TpcB.of(1, 10_000))
                    .target(group.url())
                    .clients(4)
                    .duration(WAIT.multipliedBy(3));
            BackgroundLoad clients = new BackgroundLoad(load);
            clients.awaitMore(60);
            group.replicas().parallelStream().forEach(ReplicaProcess::kill);

            Map<ReplicaProcess, JsonObject> found = new HashMap<>();
            for (ReplicaProcess replica : group.replicas()) {
                JsonObject remains = report(recover(replica, "--json"));
                assertThat(remains.getAsJsonArray("voters")).hasSize(3);
                assertThat(remains.get("timeline").getAsLong()).isZero();
                assertThat(remains.get("obstacle").isJsonNull()).isTrue();
                found.put(replica, remains);
            }
            Comparator<ReplicaProcess> byTerm = Comparator.comparing(
                    replica -> found.get(replica).get("last_term").getAsLong());
            ReplicaProcess newest = group.replicas().stream()
                    .max(byTerm.thenComparing(
                            replica -> found.get(replica).get("last_index").getAsLong()))
                    .orElseThrow();
            String self = found.get(newest).get("member").getAsString();

            List<ReplicaProcess> others = group.replicas().stream()
                    .filter(replica -> replica != newest)
                    .toList();
            ReplicaProcess other = others.get(0);
            other.start();
            Awaitility.await("it answers")
                    .atMost(WAIT)
                    .until(() -> group.status(other)
                            .filter(status -> !status.state().equals("STARTING"))
                            .isPresent());
            GordaRun tooEarly = recover(newest, "--accept-loss");
            assertThat(tooEarly.status()).isEqualTo(1);
            assertThat(tooEarly.err())
                    .contains(self + " cannot go on alone: "
                            + found.get(other).get("member").getAsString() + " answers at its address");
            other.kill();

            JsonObject alone = report(recover(newest, "--accept-loss", "--json"));
            assertThat(alone.getAsJsonArray("voters").toString()).isEqualTo("[\"" + self + "\"]");
            assertThat(alone.get("timeline").getAsLong()).isPositive();
            GordaRun again = recover(newest, "--accept-loss");
            assertThat(again.status()).isEqualTo(1);
            assertThat(again.err()).contains(self + " is the group's only voter already: start it");

            newest.start();
            awaitWorking(group, newest);
            clients.awaitMore(1);
            clients.end().requireConsistent();
            Acknowledged acknowledged = load.acknowledged();
            NothingLost.on(own(group, newest), newest.name(), acknowledged);

            // What must not be done: the others come back with what they had, are a majority, and go on as well.
            others.forEach(ReplicaProcess::start);
            others.forEach(replica -> awaitWorking(group, replica));
            execute(own(group, newest), "CREATE TABLE here (id INTEGER PRIMARY KEY)");
            execute(own(group, others.get(0)), "CREATE TABLE there (id INTEGER PRIMARY KEY)");
            assertThat(group.status(newest).orElseThrow().members()).containsExactly(self);
            Awaitility.await("it says so of what they send")
                    .atMost(WAIT)
                    .until(() -> newest.output().contains("one of the two was told to go on alone"));
            others.forEach(ReplicaProcess::kill);

            FileTree.delete(other.directory());
            other.start();
            String service = newest.service();
            String another = found.get(other).get("member").getAsString();
            report(GordaRun.in(directory, "member", "add", another, "--at", service, "--json"));
            awaitWorking(group, other);
            NodeClient.Comparison comparison = group.verify(WAIT);
            assertThat(comparison.missing()).isEmpty();
            assertThat(comparison.identical()).isTrue();
            assertThat(comparison.replicas()).hasSize(2);
            NothingLost.on(own(group, other), other.name(), acknowledged);

            // Nor does a database replace another timeline's where no log tells them apart any more.
            long late = group.status(newest).orElseThrow().ordered();
            execute(own(group, newest), "CREATE TABLE ballast (id INTEGER PRIMARY KEY, b BLOB(1M))");
            try (Connection connection = DriverManager.getConnection(own(group, newest));
                    PreparedStatement insert = connection.prepareStatement("INSERT INTO ballast VALUES (?, ?)")) {
                for (int i = 0; i < 40; i++) {
                    insert.setInt(1, i);
                    insert.setBytes(2, new byte[256 << 10]);
                    insert.executeUpdate();
                }
            }
            ReplicaProcess last = others.get(1);
            Awaitility.await("the log is cut")
                    .atMost(WAIT)
                    .until(() ->
                            StateTransferTest.logBegins(newest) > late && StateTransferTest.logBegins(other) > late);
            FileTree.delete(last.directory().resolve("bank.gorda"));
            last.start();
            String old = found.get(last).get("member").getAsString();
            GordaRun added = GordaRun.in(directory, "member", "add", old, "--at", service);
            Awaitility.await("it refuses")
                    .atMost(WAIT)
                    .untilAsserted(() -> assertThat(last.isAlive())
                            .as(() -> added.out()
                                    + added.err()
                                    + group.status(last)
                                    + group.status(newest)
                                    + last.output())
                            .isFalse());
            assertThat(last.output())
                    .contains("are not part of the group's history (that was told to go on alone, and begins after");
        }
    }

    /** As after a stop in order, when somebody has deleted what looked as if it could be made again. */
    @Test
    void allHaveLostTheirLogsAndAGroupBeginsWithTheirDatabases() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of())) {
            group.start();
            group.awaitOnline(WAIT, line -> {});
            execute(group.url(), "CREATE TABLE t (id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, a INTEGER)");
            execute(group.url(), "INSERT INTO t (a) VALUES (1), (2)");
            assertThat(group.verify(WAIT).identical()).isTrue();
            for (ReplicaProcess replica : group.replicas()) {
                replica.stop();
                FileTree.delete(replica.directory().resolve("bank.gorda"));
            }
            group.replicas().forEach(ReplicaProcess::start);
            for (ReplicaProcess replica : group.replicas()) {
                Awaitility.await(replica.name() + " says what to do")
                        .atMost(WAIT)
                        .until(() -> group.status(replica)
                                .filter(status -> status.explanation().contains("'gorda recover " + database(replica)))
                                .isPresent());
                assertThat(recover(replica, "--new-group").err()).contains("in use by another process");
            }
            for (ReplicaProcess replica : group.replicas()) {
                replica.stop();
                JsonObject remains = report(recover(replica, "--json"));
                assertThat(remains.get("stored").getAsLong()).isPositive();
                assertThat(remains.get("member").isJsonNull()).isTrue();
                assertThat(recover(replica).out())
                        .contains("holds everything up to "
                                + remains.get("stored_term").getAsLong() + "."
                                + remains.get("stored").getAsLong());
                assertThat(recover(replica, "--accept-loss").err()).contains("there is nothing of its group's log");
                JsonObject forgotten = report(recover(replica, "--new-group", "--json"));
                assertThat(forgotten.get("stored").getAsLong()).isZero();
            }
            group.replicas().forEach(ReplicaProcess::start);
            group.awaitOnline(WAIT, line -> {});
            execute(group.url(), "INSERT INTO t (a) VALUES (3)");
            NodeClient.Comparison comparison = group.verify(WAIT);
            assertThat(comparison.identical()).isTrue();
            assertThat(comparison.replicas()).hasSize(3);
            try (Connection connection = DriverManager.getConnection(group.url());
                    ResultSet count = connection.createStatement().executeQuery("SELECT COUNT(*) FROM t")) {
                count.next();
                assertThat(count.getInt(1)).isEqualTo(3);
            }
        }
    }

    @Test
    void databaseOfAnotherEngineIsFoundWithWhatItHolds() throws Exception {
        String database = directory.resolve("bank").toString();
        try (Replica replica = Replica.builder()
                .database("h2", database)
                .self("127.0.0.1:" + LoopbackPorts.free(1).get(0))
                .start()) {
            replica.awaitPrimary(WAIT);
            replica.awaitState(ReplicaState.ONLINE, WAIT);
            try (Connection connection = replica.connect(new Properties())) {
                connection.createStatement().execute("CREATE TABLE t (id INTEGER PRIMARY KEY)");
                connection.createStatement().execute("INSERT INTO t VALUES (1)");
            }
        }
        JsonObject remains = report(GordaRun.in(directory, "recover", database, "--engine", "h2", "--json"));
        assertThat(remains.get("stored").getAsLong()).isPositive();
        assertThat(remains.get("obstacle").isJsonNull()).isTrue();

        FileTree.delete(directory.resolve("bank.gorda"));
        GordaRun guessed = GordaRun.in(directory, "recover", database, "--engine", "h2", "--new-group");
        assertThat(guessed.status()).isEqualTo(1);
        assertThat(guessed.err()).contains("there is no " + database + ".gorda").contains("(--directory)");
        report(GordaRun.in(
                directory,
                "recover",
                database,
                "--engine",
                "h2",
                "--json",
                "--new-group",
                "--directory",
                database + ".gorda"));
        GordaRun again = GordaRun.in(directory, "recover", database, "--engine", "h2");
        assertThat(again.status()).isEqualTo(1);
        assertThat(again.err()).contains("belongs to no group");

        GordaRun nothing =
                GordaRun.in(directory, "recover", directory.resolve("nothing").toString());
        assertThat(nothing.status()).isEqualTo(1);
        assertThat(nothing.err()).contains("no replica's database: name another one");
        assertThat(directory.resolve("nothing")).doesNotExist();
    }

    /** As a shell completes it. */
    @Test
    void theLogIsFoundOfADatabaseWhosePathEndsInASlash() throws Exception {
        String bank = directory.resolve("bank").toString();
        String self = "127.0.0.1:" + LoopbackPorts.free(1).get(0);
        start(bank, self).close();
        JsonObject remains = report(GordaRun.in(directory, "recover", bank + "/", "--json"));
        assertThat(remains.get("member").isJsonNull()).isFalse();
        GordaRun refused = GordaRun.in(directory, "recover", bank + "/", "--new-group");
        assertThat(refused.status()).as(refused.out()).isEqualTo(1);
        assertThat(refused.err()).contains("bank.gorda holds the log of the group");

        String another = directory.resolve("another").toString();
        start(another + "/", self).close();
        start(another, self).close();
    }

    /** Until it has something of its group. */
    private static Replica start(String database, String self) throws Exception {
        Replica replica =
                Replica.builder().database("derby", database).self(self).start();
        replica.awaitPrimary(WAIT);
        replica.awaitState(ReplicaState.ONLINE, WAIT);
        return replica;
    }

    @Test
    void aNodesFileSaysAllThatItsDatabaseNeeds() throws Exception {
        String database = directory.resolve("bank").toString();
        Path kept = directory.resolve("kept");
        try (Replica replica = Replica.builder()
                .database("h2", database)
                .attribute("user", "app")
                .attribute("password", "secret")
                .directory(kept)
                .self("127.0.0.1:" + LoopbackPorts.free(1).get(0))
                .start()) {
            replica.awaitPrimary(WAIT);
            replica.awaitState(ReplicaState.ONLINE, WAIT);
            try (Connection connection = replica.connect(new Properties())) {
                connection.createStatement().execute("CREATE TABLE t (id INTEGER PRIMARY KEY)");
            }
        }
        Files.writeString(
                directory.resolve("node.yaml"),
                "database: bank\nengine: h2\ndirectory: kept\nuser: app\npassword: secret\n");
        JsonObject remains = report(GordaRun.in(directory, "recover", "--config", "node.yaml", "--json"));
        assertThat(remains.get("stored").getAsLong()).isPositive();
        assertThat(remains.get("obstacle").isJsonNull()).isTrue();
        GordaRun stranger =
                GordaRun.in(directory, "recover", database, "--engine", "h2", "--directory", kept.toString());
        assertThat(stranger.status()).as(stranger.out()).isEqualTo(1);
    }

    /** It waits for the others of its group: there is nothing yet that could be forgotten. */
    @Test
    void whoHasNeverBeenInAGroupIsNotToldToBeginANewOne() throws Exception {
        String[] members =
                LoopbackPorts.free(3).stream().map(port -> "127.0.0.1:" + port).toArray(String[]::new);
        String database = directory.resolve("bank").toString();
        Replica replica = Replica.builder()
                .database("derby", database)
                .self(members[0])
                .members(members)
                .start();
        replica.close();
        GordaRun run = GordaRun.in(directory, "recover", database);
        assertThat(run.status()).as(run.out()).isEqualTo(1);
        assertThat(run.err()).contains("belongs to no group: start it");
    }

    private static String own(ReplicaGroup group, ReplicaProcess replica) {
        return group.status(replica).orElseThrow().clients();
    }

    private static void execute(String url, String sql) throws Exception {
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.createStatement().execute(sql);
        }
    }
}
