package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.stream.IntStream;
import org.awaitility.Awaitility;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The command as its users see it: a process, its exit status, what it prints. */
@Order(2)
final class GordaTest {

    @TempDir
    private Path directory;

    private GordaRun gorda(String... arguments) throws IOException, InterruptedException {
        return GordaRun.in(directory, arguments);
    }

    @ParameterizedTest
    @CsvSource({"derby, primary-backup", "derby, certification", "postgresql, primary-backup", "h2, primary-backup"})
    void theDemoLosesNothingWhenItKillsThePrimary(String engine, String protocol) throws Exception {
        GordaRun demo = gorda(
                "demo", "--engine", engine, "--protocol", protocol, "--duration", "8s", "--kill", "primary", "--json");
        assertThat(demo.status()).as(demo.err()).isZero();
        JsonObject result = demo.lastLine();
        assertThat(result.get("protocol").getAsString()).isEqualTo(protocol);
        assertThat(result.get("replicas").getAsInt()).isEqualTo(3);
        assertThat(result.get("committed").getAsLong()).isPositive();
        assertThat(result.get("throughput_per_s").getAsDouble()).isPositive();
        assertThat(result.get("aborted").getAsLong()).isNotNegative();
        assertThat(result.get("lost").getAsLong()).isZero();
        assertThat(result.get("identical").getAsBoolean()).isTrue();
        assertThat(result.get("failover_ms").getAsLong()).isNotNegative(); // 0 if others commit meanwhile
        assertThat(demo.err()).contains("kill -9").contains("again").contains("/s ");
        List<String> lines = demo.err().lines().toList();
        assertThat(IntStream.range(1, lines.size()).mapToObj(i -> lines.subList(i - 1, i + 1)))
                .allSatisfy(neighbours -> assertThat(neighbours.get(0)).isNotEqualTo(neighbours.get(1)));
        boolean conflicts = result.get("refused").getAsJsonObject().has("CONFLICT");
        assertThat(conflicts).isEqualTo(protocol.equals("certification"));
    }

    @ParameterizedTest
    @ValueSource(strings = {"derby", "postgresql"})
    void aDemoThatIsKilledLeavesNoReplicasBehind(String engine) throws Exception {
        Process demo = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        "org.gorda.cli.Gorda",
                        "demo",
                        "--engine",
                        engine,
                        "--duration",
                        "5m",
                        "--dir",
                        directory.resolve("demo").toString())
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("out").toFile())
                .start();
        Awaitility.await()
                .atMost(Duration.ofSeconds(90))
                .until(() -> Files.readString(directory.resolve("out")).contains("url "));
        List<ProcessHandle> replicas = new ArrayList<>(demo.children()
                .filter(child -> child.info().command().orElse("").endsWith("java"))
                .toList());
        assertThat(replicas).hasSize(3);
        for (int number = 1; number <= 3 && engine.equals("postgresql"); number++) {
            String server = Files.readAllLines(
                            directory.resolve("demo/replica" + number + "/postgresql/data/postmaster.pid"))
                    .get(0);
            replicas.add(ProcessHandle.of(Long.parseLong(server)).orElseThrow());
        }
        demo.destroyForcibly().waitFor();
        try {
            // Of one that has ended and that nobody has asked for yet there is no command any more.
            Awaitility.await()
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> replicas.stream()
                            .noneMatch(replica -> replica.isAlive()
                                    && replica.info().command().isPresent()));
        } finally {
            replicas.forEach(ProcessHandle::destroyForcibly);
        }
    }

    @Test
    void statusVerifySqlAndBenchWorkOnRunningReplicas() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory.resolve("group"), Map.of())) {
            group.start();
            group.awaitOnline(Duration.ofSeconds(60), line -> {});
            String any = group.replicas().get(0).service();

            GordaRun created =
                    gorda("sql", "--url", group.url(), "CREATE TABLE t (id INTEGER PRIMARY KEY, note VARCHAR(9))");
            assertThat(created.status()).as(created.err()).isZero();
            GordaRun inserted =
                    gorda("sql", "--url", group.url(), "--json", "INSERT INTO t VALUES (1, 'one'), (2, NULL)");
            assertThat(inserted.lastLine().get("updated").getAsInt()).isEqualTo(2);
            GordaRun read = gorda("sql", "--url", group.url(), "--json", "SELECT note, id FROM t ORDER BY id");
            assertThat(read.lastLine().get("rows").toString()).isEqualTo("[[\"one\",\"1\"],[null,\"2\"]]");
            GordaRun wrong = gorda("sql", "--url", group.url(), "SELECT nothing FROM t");
            assertThat(wrong.status()).isEqualTo(1);
            assertThat(wrong.err()).contains("SQLSTATE 42X04").hasLineCount(1);

            GordaRun bench = gorda(
                    "bench",
                    "tpcb",
                    "--url",
                    group.url(),
                    "--clients",
                    "2",
                    "--duration",
                    "2s",
                    "--warmup",
                    "1s",
                    "--json");
            assertThat(bench.status()).as(bench.err()).isZero();
            assertThat(bench.lastLine().get("committed").getAsLong()).isPositive();
            assertThat(bench.err()).contains("p99").contains("consistent");

            GordaRun status = gorda("status", "--at", any, "--json");
            assertThat(status.status()).as(status.err()).isZero();
            assertThat(status.lastLine().get("replicas").getAsJsonObject().size())
                    .isEqualTo(3);
            GordaRun verify = gorda("verify", "--at", any, "--json");
            assertThat(verify.status()).as(verify.err()).isZero();
            assertThat(verify.lastLine().get("identical").getAsBoolean()).isTrue();
            assertThat(verify.err()).contains("\"APP\".\"ACCOUNTS\"").contains("100,000 rows");

            GordaRun clean = gorda("check", group.url());
            assertThat(clean.status()).as(clean.err()).isZero();
            assertThat(clean.out()).contains("nothing stands in the way");
            assertThat(gorda("sql", "--url", group.url(), "CREATE TABLE u (a INTEGER NOT NULL UNIQUE)")
                            .status())
                    .isZero();
            String primary =
                    group.status(group.primary().orElseThrow()).orElseThrow().clients();
            for (String url : List.of(group.url(), primary)) {
                GordaRun check = gorda("check", url, "--json");
                assertThat(check.status()).as(check.err()).isEqualTo(1);
                assertThat(check.lastLine().get("replicable").getAsBoolean()).isFalse();
                assertThat(check.err())
                        .contains("OBSTACLE  table \"APP\".\"U\"")
                        .contains("PRIMARY KEY (\"A\")");
            }

            ReplicaProcess gone = group.backup().orElseThrow();
            gone.kill();
            ReplicaProcess left = group.primary().orElseThrow();
            GordaRun missing = gorda("verify", "--at", left.service(), "--wait", "5s");
            assertThat(missing.status()).isEqualTo(1);
            assertThat(missing.out()).contains("is missing").contains("INCOMPLETE: those that answered hold the same");
            GordaRun unwell = gorda("status", "--at", left.service());
            assertThat(unwell.status()).isEqualTo(1);
            assertThat(unwell.out()).contains("no answer");
        }
    }

    @Test
    void conflictsShowsTheHotRowsOfEachReplica() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory.resolve("group"), Map.of("protocol", "certification"))) {
            group.start();
            group.awaitOnline(Duration.ofSeconds(60), line -> {});
            String any = group.replicas().get(1).service();
            // A transaction reads the balance of its account, which another one may have changed: one in 100,000.
            long plain = abortsOf(group.url());
            assertThat(plain).isPositive();
            assertThat(abortsOf(group.url() + ";retry=1000")).isLessThan(10 + plain / 2);

            GordaRun shown = gorda("conflicts", "--at", any, "--rows", "1");
            assertThat(shown.status()).as(shown.err()).isZero();
            assertThat(shown.out())
                    .contains("committed")
                    .containsPattern("CONFLICTS GAVE WAY +ROW")
                    .containsPattern(
                            "\"APP\"\\.\"BRANCHES\" \\(0\\) +transaction .* of replica 127.0.0.1:.* ms ago; \\d+ s since");
            GordaRun asJson = gorda("conflicts", "--at", any, "--json");
            assertThat(asJson.status()).as(asJson.err()).isZero();
            JsonObject replicas = asJson.lastLine().getAsJsonObject("replicas");
            assertThat(replicas.size()).isEqualTo(3);
            assertThat(replicas.asMap().values()).anySatisfy(one -> {
                JsonObject hottest =
                        one.getAsJsonObject().getAsJsonArray("rows").get(0).getAsJsonObject();
                assertThat(hottest.get("table").getAsString()).isEqualTo("\"APP\".\"BRANCHES\"");
                assertThat(hottest.get("conflicts").getAsLong()
                                + hottest.get("gave_way").getAsLong())
                        .isPositive();
            });
            group.replicas().get(0).kill();
            GordaRun missing = gorda("conflicts", "--at", any);
            assertThat(missing.status()).isEqualTo(1);
            assertThat(missing.out()).contains("no answer");
        }
    }

    @Test
    void probesShowWhereTheTimeGoesAndALoadTestHasThemOnForItself() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory.resolve("group"), Map.of("durability", "group-disk"))) {
            group.start();
            group.awaitOnline(Duration.ofSeconds(60), line -> {});
            String any = group.replicas().get(1).service();
            String[] load = {
                "bench",
                "write-simple",
                "--url",
                group.url(),
                "--clients",
                "1",
                "--duration",
                "2s",
                "--warmup",
                "1s",
                "--json"
            };

            GordaRun bench = gorda(load);
            assertThat(bench.status()).as(bench.err()).isZero();
            JsonObject cost = bench.lastLine().getAsJsonObject("cost");
            assertThat(cost.get("frames").getAsDouble()).isBetween(1.0, 100.0);
            assertThat(cost.get("bytes").getAsDouble()).isBetween(200.0, 100_000.0);
            // A majority forces each, which is alone.
            assertThat(cost.get("log_forces").getAsDouble()).isBetween(1.9, 3.5);
            double waited = cost.getAsJsonArray("stages").asList().stream()
                    .map(JsonElement::getAsJsonObject)
                    .filter(stage -> stage.get("at_origin").getAsBoolean())
                    .mapToDouble(stage -> stage.get("mean").getAsDouble())
                    .sum();
            double latency = 1e3
                    * bench.lastLine().getAsJsonObject("latency").get("mean").getAsDouble();
            assertThat(waited).isBetween(latency / 4, latency * 1.5); // the client's way to the replica is not in it
            assertThat(bench.err()).containsPattern("origin +order").containsPattern("others +apply");

            JsonObject off = gorda("probes", "--at", any, "--json").lastLine().getAsJsonObject("replicas");
            assertThat(off.asMap().values()).allSatisfy(one -> {
                assertThat(one.getAsJsonObject().get("on").getAsBoolean()).isFalse();
                assertThat(one.getAsJsonObject().getAsJsonObject("stages").size())
                        .isZero();
            });
            assertThat(gorda("probes", "--at", any, "--on").out()).contains("probes on");
            assertThat(gorda(load).status()).isZero();
            GordaRun shown = gorda("probes", "--at", any, "--off");
            assertThat(shown.status()).as(shown.err()).isZero();
            assertThat(shown.out())
                    .contains("probes off")
                    .containsPattern("origin +wake")
                    .containsPattern("others +install")
                    .containsPattern("all: .* bytes between replicas");
            assertThat(gorda("probes", "--at", any).out()).doesNotContain("origin");
            group.replicas().get(0).kill();
            GordaRun missing = gorda("probes", "--at", any);
            assertThat(missing.status()).isEqualTo(1);
            assertThat(missing.out()).contains("no answer");
        }
    }

    private long abortsOf(String url) throws Exception {
        GordaRun load =
                gorda("bench", "tpcb", "--url", url, "--clients", "6", "--duration", "2s", "--warmup", "1s", "--json");
        assertThat(load.status()).as(load.err()).isZero();
        return load.lastLine().getAsJsonObject("aborted").asMap().values().stream()
                .mapToLong(JsonElement::getAsLong)
                .sum();
    }

    @Test
    void theSimulationOfASeedIsTheSameEachTime() throws Exception {
        GordaRun first = gorda("simulate", "--seeds", "3", "--from", "7", "--json");
        assertThat(first.status()).as(first.err()).isZero();
        assertThat(first.lastLine().get("seeds").getAsInt()).isEqualTo(3);
        assertThat(first.lastLine().get("failures").getAsInt()).isZero();
        for (String positive : List.of("acknowledged", "faults", "simulated_hours", "seeds_per_s")) {
            assertThat(first.lastLine().get(positive).getAsDouble())
                    .as(positive)
                    .isPositive();
        }
        assertThat(gorda("simulate", "--seeds", "3", "--from", "7", "--json").err())
                .isEqualTo(first.err());

        GordaRun one =
                gorda("simulate", "--seed", "8", "--replicas", "2", "--without", "1,2", "--last", "50", "--json");
        assertThat(one.lastLine().get("seeds").getAsInt()).isEqualTo(1);
        assertThat(one.err()).contains("seed 8", "2 replicas").containsPattern("\\d s of virtual time");

        GordaRun some = gorda("simulate", "--time", "6s", "--json");
        assertThat(some.lastLine().get("seeds").getAsInt()).isGreaterThan(1);
        assertThat(some.lastLine().get("failures").getAsInt()).isZero();
    }
}
