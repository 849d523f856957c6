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
import java.util.concurrent.TimeUnit;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** The command {@code gorda bench}, which measures. */
@Order(1)
final class BenchTest {

    @TempDir
    private Path directory;

    private GordaRun gorda(String... arguments) throws IOException, InterruptedException {
        return GordaRun.in(directory, arguments);
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
}
