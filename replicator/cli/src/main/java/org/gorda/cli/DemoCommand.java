package org.gorda.cli;

import java.io.IOException;
import java.time.Duration;
import java.util.concurrent.Callable;
import org.gorda.bench.Demo;
import org.gorda.bench.Engine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
        name = "demo",
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        description = {
            "Keeps one bank on several replica processes under TPC-B load, kills one with kill -9 in the middle, starts it"
                    + " again, and proves that nothing acknowledged is lost and that all replicas hold the same.",
            "Exits with 0 only if that is so. Where an asynchronous primary is killed something may be lost, which is told, and"
                    + " only there."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class DemoCommand implements Callable<Integer> {

    @Mixin
    private Output output = new Output();

    @Option(names = "--replicas", description = "How many processes, 1 to 9.", defaultValue = "3")
    private int replicas;

    @Option(names = "--clients", description = "How many clients at once.", defaultValue = "8")
    private int clients;

    @Option(names = "--duration", description = "How long the load runs: 500ms, 30s, 5m, 1h.", defaultValue = "30s")
    private Duration duration = Duration.ZERO;

    @Option(names = "--kill", description = "Whom: ${COMPLETION-CANDIDATES}.", defaultValue = "PRIMARY")
    private Demo.Kill kill = Demo.Kill.PRIMARY;

    @Option(
            names = "--protocol",
            description = "primary-backup, certification or asynchronous.",
            defaultValue = "primary-backup")
    private String protocol = "";

    @Option(names = "--durability", description = "local, group or group-disk.", defaultValue = "group")
    private String durability = "";

    @Mixin
    private EngineOption engine = new EngineOption();

    @Mixin
    private WorkDirectory directory = new WorkDirectory();

    @Override
    public Integer call() throws IOException {
        Engine chosen = engine.engine();
        Demo.Result result = directory.work(
                output,
                used -> new Demo(replicas, clients, duration, kill, protocol, durability, chosen, used)
                        .run(output::line),
                Demo.Result::proved);
        output.result(result);
        return result.proved() ? 0 : 1;
    }
}
