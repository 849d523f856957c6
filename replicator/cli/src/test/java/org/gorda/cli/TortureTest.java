package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.google.gson.JsonObject;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** The command as its users run it, for a short while. */
@Order(Integer.MAX_VALUE)
@Timeout(value = 6, unit = TimeUnit.MINUTES)
final class TortureTest {

    @TempDir
    private Path directory;

    private int runs;

    private Path report() {
        return directory.resolve("report" + runs);
    }

    private Path replicas() {
        return directory.resolve("replicas" + runs);
    }

    private CompletableFuture<GordaRun> torture(String... more) {
        runs++;
        List<String> arguments = new ArrayList<>(
                List.of("torture", "--json", "--dir", replicas().toString(), "--report", report().toString()));
        arguments.addAll(List.of(more));
        return CompletableFuture.supplyAsync(() -> {
            try {
                return GordaRun.in(directory, arguments.toArray(String[]::new));
            } catch (Exception e) {
                throw new AssertionError(e);
            }
        });
    }

    /** Seed 49's first half minute has kills, pauses, a partition, a slow link and a full disk. */
    @Test
    void nothingIsLostUnderFaultsAndTheHistoriesSaySo() throws Exception {
        GordaRun run = torture("--duration", "30s", "--seed", "49", "--isolation", "serializable")
                .get();

        assertThat(run.status()).as(run.err()).isZero();
        JsonObject result = run.lastLine();
        assertThat(result.get("verdict").getAsString()).isEqualTo("OK");
        for (String none : List.of("lost", "duplicated", "diverged", "anomalies")) {
            assertThat(result.get(none).getAsLong()).as(none).isZero();
        }
        assertThat(result.get("faults_by_kind").getAsJsonObject().keySet())
                .containsExactlyInAnyOrder("kill", "pause", "partition", "slow", "disk-full");
        assertThat(result.get("committed").getAsLong()).isPositive();
        long operations = 0;
        for (String workload : List.of("list-append", "bank", "skew", "unique", "orders", "stock", "schema")) {
            List<String> lines = Files.readAllLines(report().resolve(workload + ".edn"));
            assertThat(lines)
                    .isNotEmpty()
                    .allMatch(line -> line.matches("\\{:index \\d+, :type :(invoke|ok|fail|info), .*}"));
            operations += lines.size() / 2;
        }
        assertThat(operations).isEqualTo(result.get("operations").getAsLong());
        assertThat(report().resolve("list-append.hist"))
                .content()
                .contains("---")
                .contains(":=");
        assertThat(report().resolve("unique.porcupine.jsonl"))
                .content()
                .contains("\"output\":true")
                .contains("\"return\":");
        assertThat(report().resolve("index.html"))
                .content()
                .contains("\"verdict\":\"OK\"")
                .contains("uPlot");
    }

    /** Seed 17 has four kills in its first 20 seconds, two of them with the servers. */
    @Test
    void postgresqlServersThatAreKilledWithTheirReplicasLoseNothing() throws Exception {
        GordaRun run = torture("--engine", "postgresql", "--duration", "20s", "--seed", "17", "--faults", "kill")
                .get();

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.lastLine().get("verdict").getAsString()).isEqualTo("OK");
        assertThat(run.lastLine().get("committed").getAsLong()).isPositive();
        assertThat(run.err())
                .containsPattern("kill -9 replica .*, with its database's server")
                .containsPattern("kill -9 replica .* s\n");
        assertThat(report().resolve("skew.edn")).content().contains(":type :ok");
    }

    private static final String NO_SKEW = "nothing shown: no skew transaction was committed";

    private GordaRun killEmbedded(String engine) throws Exception {
        return torture(
                        "--engine=" + engine,
                        "--protocol=primary-backup",
                        "--duration=20s",
                        "--seed=17",
                        "--faults=kill",
                        "--isolation=repeatable_read")
                .get();
    }

    /** Seed 17 has as many kills of these replicas, with all that is in their processes; the clients are elsewhere, and go on. */
    @ParameterizedTest
    @ValueSource(strings = {"h2", "hsqldb", "sqlite"})
    void embeddedReplicasThatAreKilledLoseNothingThatClientsElsewhereWereTold(String engine) throws Exception {
        GordaRun run = killEmbedded(engine);
        for (int more = 0; more < 4 && engine.equals("sqlite") && run.err().contains(NO_SKEW); more++) {
            assertThat(run.err().lines().filter(line -> line.contains("  FOUND  ")))
                    .hasSize(1);
            run = killEmbedded(engine); // it refuses who has read something before another one wrote
        }

        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.lastLine().get("verdict").getAsString()).isEqualTo("OK");
        assertThat(run.lastLine().get("committed").getAsLong()).isPositive();
        assertThat(run.err()).containsPattern("kill -9 replica .* s\n");
        for (String workload : List.of("list-append", "bank", "unique", "orders", "stock", "schema")) {
            assertThat(report().resolve(workload + ".edn")).content().contains(":type :ok");
        }
        if (engine.equals("sqlite")) {
            assertThat(report().resolve("skew.edn")).content().contains(":type :ok");
        } else {
            assertThat(report().resolve("skew.edn")).as("needs SERIALIZABLE").doesNotExist();
        }
    }

    @Test
    void whatAnEngineDoesNotHaveIsRefusedAtOnce() throws Exception {
        for (String[] refused : new String[][] {
            {
                "--engine=oracle",
                "--seed=1",
                "engine is 'oracle' but must be one of derby, postgresql, h2, hsqldb, sqlite"
            },
            {"--engine=h2", "--seed=1", "protocol is 'certification', which H2 does not have: use primary-backup"},
            {
                "--engine=h2",
                "--protocol=primary-backup",
                "--isolation=serializable",
                "no more than a snapshot in H2: use REPEATABLE_READ"
            }
        }) {
            List<String> arguments = new ArrayList<>(List.of("torture"));
            arguments.addAll(List.of(refused).subList(0, refused.length - 1));
            GordaRun run = GordaRun.in(directory, arguments.toArray(String[]::new));
            assertThat(run.status()).isEqualTo(1);
            assertThat(run.err()).contains(refused[refused.length - 1]);
        }
    }

    /** Where clocks cannot be moved it says so before it starts anything. */
    @Test
    void clocksThatJumpHarmNothing() throws Exception {
        GordaRun run =
                torture("--duration", "20s", "--seed", "2", "--faults", "clock").get();

        if (run.status() == 1 && run.err().contains("libfaketime, which is in none of")) {
            assertThat(report().resolve("index.html")).doesNotExist();
            return;
        }
        assertThat(run.status()).as(run.err()).isZero();
        assertThat(run.err()).containsPattern("move by [+-]\\d+ s the clock of replica");
        assertThat(run.lastLine().get("verdict").getAsString()).isEqualTo("OK");
        assertThat(run.lastLine().get("committed").getAsLong()).isPositive();
        assertThat(run.lastLine().get("longest_silence_ms").getAsLong())
                .as("nobody's waits go by it")
                .isLessThan(5_000);
    }

    /** Longer ones than Java tells of. */
    private static String commandLine(ProcessHandle process) {
        try {
            return Files.readString(Path.of("/proc", Long.toString(process.pid()), "cmdline"));
        } catch (IOException e) {
            return ""; // it has just ended
        }
    }

    /** What clients were told until then is not lost with a run that fails. */
    @Test
    void historiesAreWrittenAlsoIfAFaultCannotBeMade() throws Exception {
        GordaRun run = GordaRun.in(
                directory,
                Map.of("PATH", directory.toString()), // without a program kill
                "torture",
                "--duration=20s",
                "--faults=pause",
                "--seed=1",
                "--report",
                report().toString());

        assertThat(run.status()).as(run.err()).isEqualTo(1);
        assertThat(run.err()).contains("kill").contains("cannot be run");
        assertThat(report().resolve("bank.edn")).content().contains(":type :ok");
    }

    @Test
    void whoEndsByItselfIsNoticed() throws Exception {
        CompletableFuture<GordaRun> running =
                torture("--duration", "15s", "--seed", "1", "--protocol", "primary-backup", "--faults", "slow");
        Awaitility.await("the load runs")
                .atMost(4, TimeUnit.MINUTES)
                .until(() -> Files.exists(directory.resolve("err"))
                        && Files.readString(directory.resolve("err")).contains("  fault  "));
        String database = replicas().resolve("replica2").toString();
        List<ProcessHandle> victims = ProcessHandle.current()
                .descendants()
                .filter(process -> commandLine(process).contains(database))
                .toList();
        assertThat(victims).hasSize(1).allMatch(ProcessHandle::destroyForcibly);
        GordaRun run = running.get();

        assertThat(run.status()).as(run.err()).isEqualTo(1);
        assertThat(run.lastLine().get("verdict").getAsString()).isEqualTo("FAILED");
        assertThat(run.lastLine()
                        .get("findings")
                        .getAsJsonObject()
                        .get("ended by itself")
                        .getAsInt())
                .isEqualTo(1);
        assertThat(run.lastLine().get("lost").getAsLong()).isZero();
        assertThat(run.err()).contains("ENDED     replica 2 by itself").contains("THE PROOF FAILED");
    }
}
