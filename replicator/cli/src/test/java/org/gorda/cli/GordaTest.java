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
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
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
@Order(1)
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
    void aLadderInMemoryThatIsInterruptedLeavesNothingThere() throws Exception {
        Process ladder = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        "org.gorda.cli.Gorda",
                        "bench",
                        "ladder",
                        "--storage",
                        "memory",
                        "--rungs",
                        "primary-backup",
                        "--scale",
                        "1")
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("out").toFile())
                .start();
        Awaitility.await()
                .atMost(Duration.ofSeconds(90))
                .until(() -> Files.readString(directory.resolve("out")).contains("warm-up "));
        ProcessHandle child = ladder.children().findFirst().orElseThrow();
        Matcher used = Pattern.compile("/dev/shm/gorda\\d+")
                .matcher(Files.readString(Path.of("/proc", Long.toString(child.pid()), "cmdline")));
        assertThat(used.find()).isTrue();
        assertThat(Path.of(used.group())).isDirectory();
        ladder.destroy();

        assertThat(ladder.waitFor(60, TimeUnit.SECONDS)).isTrue();
        assertThat(Path.of(used.group())).doesNotExist();
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
    void oneReplicaAppliesAloneWhatThreeHaveWritten() throws Exception {
        GordaRun bench = gorda(
                "bench",
                "apply",
                "--clients",
                "3",
                "--scale",
                "2",
                "--accounts",
                "1000",
                "--warmup",
                "1s",
                "--duration",
                "3s",
                "--json");
        assertThat(bench.status()).as(bench.err()).isZero();
        JsonObject result = bench.lastLine();
        assertThat(result.get("identical").getAsBoolean()).isTrue();
        long produced =
                result.get("produced").getAsJsonObject().get("transactions").getAsLong();
        JsonObject applied = result.get("applied").getAsJsonObject();
        assertThat(applied.get("transactions").getAsLong()).isBetween(1L, 2 * produced); // a fast one is seen late
        assertThat(applied.get("rows_per_s").getAsDouble()).isPositive();
        assertThat(applied.get("cpu_micros").getAsDouble()).isPositive();
        assertThat(result.get("ratio").getAsDouble()).isPositive();
        assertThat(bench.err()).contains("replica 3 alone").contains("identical");
    }

    @Test
    void jgcsIsMeasuredAgainstTheToolkitAndAllMembersDeliverTheSame() throws Exception {
        GordaRun bench = gorda(
                "bench",
                "gcs",
                "--sizes",
                "100,2000",
                "--outstanding",
                "4",
                "--pairs",
                "2",
                "--turn",
                "100ms",
                "--warmup",
                "500ms",
                "--json");
        assertThat(bench.status()).as(bench.err()).isZero(); // not if members had different digests
        JsonObject result = bench.lastLine();
        assertThat(result.get("messages").getAsLong()).isGreaterThan(8 * 1_500);
        List<JsonObject> rows = result.getAsJsonArray("rows").asList().stream()
                .map(JsonElement::getAsJsonObject)
                .toList();
        assertThat(rows)
                .extracting(
                        row -> row.get("toolkit").getAsString() + " " + row.get("size") + " " + row.get("outstanding"))
                .containsExactly(
                        "jgroups-fifo 100 4",
                        "jgroups-fifo 2000 4",
                        "jgroups-sequencer 100 4",
                        "jgroups-sequencer 2000 4");
        for (JsonObject row : rows) {
            for (String positive : List.of(
                    "native_per_s",
                    "jgcs_per_s",
                    "throughput_ratio_min",
                    "self_ratio_min",
                    "native_cpu_us",
                    "jgcs_cpu_us",
                    "native_p50_us",
                    "jgcs_p99_us")) {
                assertThat(row.get(positive).getAsDouble()).as(positive).isPositive();
            }
            assertThat(row.get("throughput_ratio").getAsDouble())
                    .isBetween(
                            row.get("throughput_ratio_min").getAsDouble(),
                            row.get("throughput_ratio_max").getAsDouble());
            assertThat(row.has("cpu_within")).isTrue();
        }
        assertThat(result.getAsJsonArray("logs").asList())
                .extracting(row -> row.getAsJsonObject().get("toolkit").getAsString())
                .containsExactly("raft", "raft", "ratis", "ratis");
        assertThat(bench.err()).contains("the same in the same order at 3 members");
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

    @ParameterizedTest
    @CsvSource({"embedded, memory", "network, disk"})
    void theLadderHasEachRungBesideTheEngineAlone(String via, String storage) throws Exception {
        GordaRun ladder = gorda(("bench ladder --via " + via + " --storage " + storage
                        + " --clients 1,3 --scale 2 --accounts 1000" + " --warmup 1s --turn 1s --pairs 2 --json")
                .split(" "));
        assertThat(ladder.status()).as(ladder.err()).isZero();
        JsonObject result = ladder.lastLine();
        assertThat(result.get("identical").getAsBoolean()).isTrue();
        List<String> rungs = result.getAsJsonArray("rungs").asList().stream()
                .map(JsonElement::getAsJsonObject)
                .peek(rung -> assertThat(rung.get("throughput_ratio").getAsDouble())
                        .as(rung.toString())
                        .isPositive()
                        .isBetween(
                                rung.get("throughput_ratio_min").getAsDouble(),
                                rung.get("throughput_ratio_max").getAsDouble()))
                .peek(rung -> assertThat(rung.get("cpu_micros").getAsDouble()).isPositive())
                .peek(rung -> assertThat(rung.get("p99_ms").getAsDouble()).isPositive())
                .peek(rung -> assertThat(rung.get("storage").getAsString()).isEqualTo(storage))
                .map(rung -> rung.get("rung").getAsString() + " " + rung.get("clients"))
                .toList();
        if (via.equals("network")) {
            JsonObject last = result.getAsJsonArray("rungs").get(5).getAsJsonObject();
            assertThat(last.getAsJsonObject("cost").get("frames").getAsDouble()).isPositive();
        }
        assertThat(rungs).startsWith("vanilla 1").endsWith("certification 3").hasSize(via.equals("embedded") ? 8 : 6);
        assertThat(ladder.err()).contains("all replicas identical, balances equal the history");
    }

    @Test
    void theLadderOfH2HasThoseRungsThatItHas() throws Exception {
        GordaRun ladder = gorda(("bench ladder --engine h2 --storage disk --clients 2 --scale 2 --accounts 1000"
                        + " --warmup 1s --turn 1s --pairs 1 --json")
                .split(" "));
        assertThat(ladder.status()).as(ladder.err()).isZero();
        JsonObject result = ladder.lastLine();
        assertThat(result.get("identical").getAsBoolean()).isTrue();
        assertThat(result.getAsJsonArray("rungs").asList())
                .extracting(rung -> rung.getAsJsonObject().get("rung").getAsString())
                .containsExactly("vanilla", "loopback", "primary-backup");
        assertThat(gorda("bench", "ladder", "--engine", "h2", "--storage", "memory")
                        .err())
                .contains("--storage disk");
    }

    @ParameterizedTest
    @ValueSource(strings = {"embedded", "network"})
    void theLadderOfAServerHasItsOwnReplicationBesideOurs(String via) throws Exception {
        GordaRun ladder = gorda(("bench ladder --engine postgresql --via " + via
                        + " --clients 3 --scale 2 --accounts 1000 --warmup 1s --turn 1s --pairs 1 --json")
                .split(" "));
        assertThat(ladder.status()).as(ladder.err()).isZero();
        List<JsonObject> rungs = ladder.lastLine().getAsJsonArray("rungs").asList().stream()
                .map(JsonElement::getAsJsonObject)
                .toList();
        assertThat(rungs)
                .extracting(rung -> rung.get("rung").getAsString())
                .containsExactly("vanilla", "loopback", "streaming", "primary-backup", "certification");
        assertThat(rungs).allSatisfy(rung -> {
            assertThat(rung.get("throughput_per_minute").getAsDouble()).isPositive();
            assertThat(rung.get("cpu_micros").getAsDouble()).isPositive();
        });
        if (via.equals("network")) {
            assertThat(rungs.get(3).getAsJsonObject("cost").get("frames").getAsDouble())
                    .isPositive();
        }
        assertThat(ladder.err())
                .contains("all replicas identical, balances equal the history")
                .doesNotContain("Exception");
    }

    @Test
    void theProxysReadsAreComparedInTheProcessAndOverTheNetwork() throws Exception {
        GordaRun proxy =
                gorda("bench proxy --clients 2 --accounts 1000 --warmup 1s --turn 1s --pairs 1 --json".split(" "));
        assertThat(proxy.status()).as(proxy.err()).isZero();
        assertThat(proxy.lastLine().getAsJsonArray("rungs").asList().stream()
                        .map(JsonElement::getAsJsonObject)
                        .filter(rung -> rung.get("throughput_ratio").getAsDouble() > 0)
                        .map(rung -> rung.get("via").getAsString() + " "
                                + rung.get("rung").getAsString()))
                .containsExactly(
                        "embedded vanilla", "embedded primary-backup", "network vanilla", "network primary-backup");
    }

    @Test
    void aMatrixOfLoadTestsIsKeptInFilesThatCanBeCompared() throws Exception {
        Path properties = directory.resolve("load.properties");
        Files.writeString(properties, "clients = 1|2\naccounts = 1000\nwarmup = 500ms\nduration = 1500ms\nretries=3\n");
        String[] command = {
            "bench",
            "tpcb",
            "--properties",
            properties.toString(),
            "--url",
            "jdbc:derby:memory:load;create=true;user=app;password=hidden",
            "--rate",
            "50",
            "--ramp-step",
            "1",
            "--ramp-every",
            "100ms",
            "--json",
            "--report"
        };
        for (String name : List.of("first", "second")) {
            List<String> line = new ArrayList<>(List.of(command));
            line.add(directory.resolve(name).toString());
            GordaRun run = gorda(line.toArray(String[]::new));
            assertThat(run.status()).as(run.err()).isZero();
            assertThat(run.err()).contains("clients=1", "clients=2", "service", "answered in time", "consistent");
            assertThat(run.out() + run.err()).contains("password=***").doesNotContain("hidden");
            assertThat(run.lastLine().getAsJsonArray("runs")).hasSize(2).allSatisfy(each -> {
                JsonObject one = each.getAsJsonObject();
                assertThat(one.get("rate_per_s").getAsDouble()).isEqualTo(50);
                assertThat(one.get("throughput_per_s").getAsDouble())
                        .isBetween(10.0, 200.0); // what was due while the machine stood still comes, too
                assertThat(one.getAsJsonArray("timeline")).isNotEmpty();
                assertThat(one.getAsJsonObject("latency").getAsJsonArray("curve"))
                        .hasSizeGreaterThan(10);
            });
        }
        assertThat(directory.resolve("first/runs.csv"))
                .content()
                .hasLineCount(3)
                .contains("throughput_per_s");
        assertThat(directory.resolve("first/seconds.csv")).content().contains("run,second,committed");
        assertThat(directory.resolve("first/latency.hlog")).content().contains("HIST");
        assertThat(directory.resolve("first/index.html"))
                .content()
                .contains("const content = {")
                .doesNotContain("http://", "/* uPlot", "password=hidden");

        GordaRun compared = gorda(
                "bench",
                "compare",
                directory.resolve("first/report.json").toString(),
                directory.resolve("second/report.json").toString(),
                "--json");
        assertThat(compared.status()).as(compared.err()).isZero();
        assertThat(compared.lastLine().getAsJsonArray("rows"))
                .hasSize(2)
                .allSatisfy(row -> assertThat(row.getAsJsonObject().get("ratio").getAsDouble())
                        .isPositive());
        GordaRun nothing = gorda("bench", "compare", properties.toString(), properties.toString());
        assertThat(nothing.status()).isEqualTo(1);
        assertThat(nothing.err())
                .contains("load.properties is not a result of a load test")
                .hasLineCount(1);
        GordaRun twice = gorda(
                "bench",
                "tpcb",
                "--url",
                "jdbc:none",
                "--report",
                directory.resolve("first").toString());
        assertThat(twice.err()).contains("is there already: give a new directory");
    }

    @Test
    void aRunThatFailsTakesNoOtherOneWithIt() throws Exception {
        GordaRun run = gorda(
                "bench",
                "write-simple",
                "--url",
                "jdbc:derby:memory:kept;create=true|jdbc:nothing:x",
                "--warmup",
                "100ms",
                "--duration",
                "500ms",
                "--report",
                directory.resolve("kept").toString());
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err()).contains("jdbc:nothing:x");
        assertThat(directory.resolve("kept/runs.csv")).content().hasLineCount(2);
        assertThat(directory.resolve("kept/report.json")).content().contains("memory:kept");
        assertThat(directory.resolve("kept/index.html")).content().contains("memory:kept");

        GordaRun pairs = gorda(
                "bench",
                "write-simple",
                "--url",
                "jdbc:derby:memory:kept;create=true|jdbc:nothing:x",
                "--against",
                "jdbc:derby:memory:other;create=true",
                "--pairs",
                "1",
                "--warmup",
                "100ms",
                "--duration",
                "500ms",
                "--report",
                directory.resolve("pairs").toString());
        assertThat(pairs.status()).isEqualTo(1);
        assertThat(directory.resolve("pairs/runs.csv")).content().hasLineCount(3);
    }

    @Test
    void aLoadTestThatCommitsNothingSaysSo() throws Exception {
        String url = "jdbc:derby:" + directory.resolve("idle") + ";create=true";
        String[] load = {"bench", "write-simple", "--url", url, "--warmup", "100ms", "--duration", "500ms"};
        assertThat(gorda(load).status()).isZero();
        String table = "write_simple_varchar100_0";
        for (String sql : List.of("DELETE FROM " + table, "ALTER TABLE " + table + " ADD CHECK (element < 0)")) {
            GordaRun changed = gorda("sql", "--url", url, sql);
            assertThat(changed.status()).as(changed.err()).isZero();
        }

        GordaRun run = gorda(load);
        assertThat(run.status()).as(run.err()).isEqualTo(1);
        assertThat(run.out()).contains("consistent", "NOTHING WAS COMMITTED in 1 of 1 runs");
    }

    @Test
    void allCommandsHaveHelp() throws Exception {
        for (String command : List.of(
                "demo",
                "node",
                "status",
                "verify",
                "conflicts",
                "probes",
                "check",
                "install",
                "uninstall",
                "sql",
                "bench",
                "simulate",
                "torture")) {
            GordaRun help = gorda(command, "--help");
            assertThat(help.status()).isZero();
            assertThat(help.out()).contains("Usage: gorda " + command);
        }
        for (String command : List.of("help", "help node", "bench help tpcb", "member help add")) {
            GordaRun help = gorda(command.split(" "));
            assertThat(help.status()).as(help.err()).isZero();
            assertThat(help.out()).contains("Usage: gorda " + command.replaceFirst("help ?", ""));
        }
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

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "demo --duration 5 | 2 | 500ms, 30s, 5m or 1h",
                "demo --replicas 2 | 1 | --replicas 3 or --kill none",
                "demo --protocol nothing | 1 | must be one of",
                "status --at nowhere:1 | 1 | nowhere:1",
                "status | 2 | --at",
                "conflicts --at nowhere:1 | 1 | nowhere:1",
                "probes --at nowhere:1 | 1 | nowhere:1",
                "probes --at nowhere:1 --on --off | 2 | mutually exclusive",
                "node --database x --self a | 1 | self is 'a': member 'a' is not host:port",
                "node --database x --self 127.0.0.1:1 --members 127.0.0.1:2 | 1 | must be one of the members",
                "node --database x --self 127.0.0.1:1 --clients 192.0.2.1:2 | 1 | or insecure=true if the network is safe",
                "node --database x --self 127.0.0.1:1 --clients 0.0.0.0:2 --insecure true | 1 | clients are told it as it is",
                "node --database x --self 127.0.0.1:1 --services 0.0.0.0:2 --insecure true | 1 | services is 0.0.0.0:2, which is every",
                "node --database x --self 127.0.0.1:1,127.0.0.1:4 | 1 | must be one address",
                "node --database x --self 127.0.0.1:1 --clients 127.0.0.1:4,127.0.0.1:7 | 1 | must be one address",
                "node --self 127.0.0.1:1 | 1 | database is not set",
                "member add a^b:1 --at nowhere:1 | 1 | nowhere:1 does not answer",
                "recover | 1 | database is not set",
                "recover nosuch --accept-loss --new-group | 2 | mutually exclusive",
                "recover //127.0.0.1:1/x --engine postgresql | 1 | directory is not set",
                "certificate authority-key | 1 | is no name for a certificate",
                "node --config nosuch.yaml | 1 | nosuch.yaml is not there",
                "node --database x --members 127.0.0.1:1,127.0.0.1:4 | 1 | self is not set: say which of the members",
                "sql --url jdbc:gorda:derby:x;durabilty=group SELECT | 1 | did you mean 'durability'",
                "simulate --without 1,2 | 1 | say which by --seed",
                "simulate --time 0s | 1 | must be at least 1ms",
                "simulate --seed 1 --first 10 --last 5 | 1 | --first is 10 but must be at most --last, which is 5",
                "simulate --seed 1 --seeds 5 | 1 | --seed is one alone: leave out --seeds",
                "demo --duration 3000000h | 2 | but must be at most 10000h",
                "bench tpcb --url x --duration 3000000h | 1 | duration is '3000000h' but must be at most 10000h",
                "torture --duration 5s | 1 | duration is 5 s but must be 10 s to 2 h",
                "torture --faults kill,flood | 1 | there is no fault 'flood': use kill,pause,partition,slow,disk-full,clock",
                "torture --protocol asynchronous | 1 | must be one of primary-backup, certification",
                "torture --replicas 0 | 1 | replicas is 0",
                "torture --clients 0 | 1 | clients is 0",
                "simulate --seeds 0 | 1 | --seeds is 0",
                "bench tpcb --url jdbc:none --scale 0 | 1 | scale is 0",
                "bench deadlock --url jdbc:none --operations 0 | 1 | operations is 0 but must be 1 to 1000",
                "bench apply --clients 0 | 1 | clients is 0",
                "bench tpcb | 1 | url is not set: say which database",
                "bench tpcb --clients 0 --url x | 1 | clients is 0 but must be 1 to 9999",
                "bench tpcb --url x --duration 5 | 1 | duration is '5' but must be a duration such as 500ms",
                "bench tpcb --url x --history maybe | 1 | history is maybe but must be yes or no",
                "bench tpcb --url x --properties nosuch | 1 | --properties nosuch is not there: name a file",
                "bench tpcb --url jdbc:none --report err/new | 1 | --report err/new cannot be made in",
                "bench tpcb --url jdbc:none --duration 0s | 1 | duration is 0 ms but must be at least 1 ms",
                "bench compare nosuch nosuch | 1 | nosuch is not there: name a report.json",
                "bench compare . . | 1 | . cannot be read as a file: name a report.json",
                "bench compare out out | 1 | out is not a result of a load test: name a report.json",
                "bench tpcb --url x --against y --pairs 0 | 1 | pairs is 0",
                "bench tpcb --url jdbc:none --pairs 3 | 1 | --pairs says how many turns each of two has: give the second by --against",
                "bench tcpb --url x | 2 | there is no 'gorda bench tcpb'; did you mean 'gorda bench tpcb'?",
                "stats | 2 | there is no 'gorda stats'; did you mean 'gorda status'?",
                "bench ladder --clients 0 | 1 | clients is [0]",
                "bench ladder --rungs stairs | 1 | rungs has 'stairs' but must be of loopback",
                "bench ladder --scale 0 | 1 | scale is 0",
                "bench ladder --retry 3 | 1 | retry is 3 but must be 0 to 1000, and 0 if clients are embedded",
                "bench ladder --reads 101 | 1 | reads is 101 but must be 0 to 100",
                "bench proxy --accounts 5 | 1 | accounts is 5 but must be 1000 to 100000",
                "bench ladder --via network --rungs loopback | 1 | loopback over Derby is embedded only",
                "bench ladder --rungs streaming | 1 | only PostgreSQL has streaming",
                "bench gcs --sizes 0 | 1 | size is 0 but must be 16 to 1000000",
                "bench gcs --sizes 100,1000001 | 1 | size is 1000001 but must be 16 to 1000000",
                "bench gcs --sizes , | 1 | no size is given",
                "bench gcs --sizes= | 2 | --sizes",
                "bench gcs --outstanding 0 | 1 | outstanding is 0",
                "bench gcs --sizes 1000000 --outstanding 64 | 1 | is 64000000 but must be 1 to 8388608 bytes",
                "bench gcs --pairs 0 | 1 | pairs is 0",
                "bench gcs --turn 1ms | 1 | turn is 1 but must be 50 to 600000 ms",
                "bench gcs --members 1 | 1 | members is 1",
                "node --databse x | 2 | --database",
                "node --database x --self 127.0.0.1:1 --members 127.0.0.1:1,127.0.0.1:2 | 1 | 127.0.0.1:2 is given twice",
                "node --database x --self 127.0.0.1:65535 | 1 | set services and clients",
                "node --database x --self 127.0.0.1:1 --log-retain-bytes 999999999999GB | 1 | log-retain-bytes is",
                "check jdbc:derby:nosuch | 1 | 'nosuch' not found",
                "check jdbc:nothing:x | 1 | No suitable driver",
                "install jdbc:derby:memory:x;create=true | 1 | nothing is installed in Apache Derby",
                "uninstall jdbc:nothing:x | 1 | No suitable driver",
            })
    void wrongInputGetsOneLineThatSaysWhatToDo(String arguments, int status, String expected) throws Exception {
        GordaRun run = gorda(arguments.strip().split(" "));
        assertThat(run.status()).as(run.err()).isEqualTo(status);
        assertThat(run.err()).contains(expected).doesNotContain("\tat ");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {
                "bench ladder --duration 2s",
                "simulate --seeds x",
                "node --databse x",
                "status",
                "bench foo --url x"
            })
    void wrongOptionsGetTheirLineAndNotTheWholeUsage(String arguments) throws Exception {
        GordaRun run = gorda(arguments.split(" "));
        assertThat(run.status()).as(run.err()).isEqualTo(2);
        assertThat(run.err().lines())
                .as(run.err())
                .hasSizeBetween(2, 3)
                .last()
                .asString()
                .containsPattern(" --help lists all (options|commands)$");
        assertThat(run.err()).startsWith("gorda: ");
    }

    private GordaRun ofOneMillisecond() throws Exception {
        return gorda(
                "bench",
                "write-simple",
                "--url",
                "jdbc:derby:memory:none;create=true",
                "--rate",
                "1",
                "--duration",
                "1ms",
                "--warmup",
                "0s");
    }

    @Test
    void ofNoCommittedTransactionNeitherLatencyNorCostIsTold() throws Exception {
        GordaRun run = ofOneMillisecond();
        for (int more = 0; more < 10 && !run.out().contains("committed   0 in"); more++) {
            run = ofOneMillisecond(); // one was quick enough
        }
        assertThat(run.status()).as(run.err()).isEqualTo(1);
        assertThat(run.out())
                .contains("committed   0 in", "1.0/s wanted: 0.0/s", "consistent", "NOTHING WAS COMMITTED")
                .doesNotContain("latency", "service", "processor", "0.0 to 0.0");
    }

    @Test
    void aNodeTakesItsSettingsFromAFileAndRefusesUnknownKeys() throws Exception {
        Path file = directory.resolve("node.yaml");
        Files.writeString(
                file, "database: bank\nself: 127.0.0.1:7\nmembers: [127.0.0.1:7, 127.0.0.1:17]\ndurablity: group\n");
        GordaRun run = gorda("node", "--config", file.toString());
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err()).contains("no setting 'durablity'; did you mean 'durability'");
    }
}
