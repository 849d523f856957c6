package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

/** What is said of options, right and wrong ones. */
final class OptionsTest {

    @TempDir
    private Path directory;

    private GordaRun gorda(String... arguments) throws IOException, InterruptedException {
        return GordaRun.in(directory, arguments);
    }

    @Test
    void allCommandsHaveHelp() {
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
            GordaRun help = GordaRun.here(command, "--help");
            assertThat(help.status()).isZero();
            assertThat(help.out()).contains("Usage: gorda " + command);
        }
        for (String command : List.of("help", "help node", "bench help tpcb", "member help add")) {
            GordaRun help = GordaRun.here(command.split(" "));
            assertThat(help.status()).as(help.err()).isZero();
            assertThat(help.out()).contains("Usage: gorda " + command.replaceFirst("help ?", ""));
        }
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
                "bench tpcb --url jdbc:none --duration 0s | 1 | duration is 0 ms but must be at least 1 ms",
                "bench compare nosuch nosuch | 1 | nosuch is not there: name a report.json",
                "bench tpcb --url x --against y --pairs 0 | 1 | pairs is 0",
                "bench tpcb --url jdbc:none --pairs 3 | 1 | --pairs says how many turns each of two has: give the second by --against",
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
                "check jdbc:nothing:x | 1 | No suitable driver",
                "uninstall jdbc:nothing:x | 1 | No suitable driver",
            })
    void wrongInputGetsOneLineThatSaysWhatToDo(String arguments, int status, String expected) {
        wrong(GordaRun.here(arguments.strip().split(" ")), status, expected);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "bench tpcb --url jdbc:none --report err/new | 1 | --report err/new cannot be made in",
                "bench compare . . | 1 | . cannot be read as a file: name a report.json",
                "bench compare out out | 1 | out is not a result of a load test: name a report.json",
                "certificate authority-key | 1 | is no name for a certificate",
                "check jdbc:derby:nosuch | 1 | 'nosuch' not found",
                "install jdbc:derby:memory:x;create=true | 1 | nothing is installed in Apache Derby",
                "node --config nosuch.yaml | 1 | nosuch.yaml is not there",
                "bench tcpb --url x | 2 | there is no 'gorda bench tcpb'; did you mean 'gorda bench tpcb'?",
            })
    void soDoesWrongInputOfAProcess(String arguments, int status, String expected) throws Exception {
        wrong(gorda(arguments.strip().split(" ")), status, expected);
    }

    private static void wrong(GordaRun run, int status, String expected) {
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
    void wrongOptionsGetTheirLineAndNotTheWholeUsage(String arguments) {
        GordaRun run = GordaRun.here(arguments.split(" "));
        assertThat(run.status()).as(run.err()).isEqualTo(2);
        assertThat(run.err().lines())
                .as(run.err())
                .hasSizeBetween(2, 3)
                .last()
                .asString()
                .containsPattern(" --help lists all (options|commands)$");
        assertThat(run.err()).startsWith("gorda: ");
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
