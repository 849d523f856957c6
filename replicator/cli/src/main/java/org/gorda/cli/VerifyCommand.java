package org.gorda.cli;

import java.time.Duration;
import java.util.Locale;
import java.util.concurrent.Callable;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.node.NodeClient;
import org.gorda.replicator.node.ReplicaContent;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;

@Command(
        name = "verify",
        mixinStandardHelpOptions = true,
        showDefaultValues = true,
        description = {
            "Has all replicas of a group count and sum up their rows at one place in the order, and compares. Transactions that"
                    + " write wait meanwhile.",
            "Exits with 0 only if all replicas answer and hold the same."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class VerifyCommand implements Callable<Integer> {

    private static final long TELL_SECONDS = 3;

    @Mixin
    private Output output = new Output();

    @Mixin
    private AnyReplica replica = new AnyReplica();

    @Option(names = "--wait", description = "How long to wait for the slowest replica.", defaultValue = "1m")
    private Duration wait = Duration.ZERO;

    @Override
    public Integer call() {
        NodeClient.Comparison comparison = compare();
        for (ReplicaContent content : comparison.replicas()) {
            output.line(content.replica() + " at " + content.position());
            for (ReplicaContent.Table table : content.tables()) {
                output.line(String.format(
                        Locale.ROOT, "  %-40s %,12d rows  %s", table.table(), table.rows(), table.checksum()));
                if (table.damage() != null) {
                    output.line("    DAMAGED: " + table.damage());
                }
            }
        }
        comparison.missing().forEach((member, why) -> output.line(member + " is missing: " + why));
        output.line(verdict(comparison));
        output.result(comparison);
        return comparison.identical() ? 0 : 1;
    }

    /** Tells every few seconds what it waits for: that may be a minute, and more. */
    @SuppressWarnings("FutureReturnValueIgnored") // it ends with its executor
    private NodeClient.Comparison compare() {
        long began = System.nanoTime();
        AtomicReference<String> waitsFor = new AtomicReference<>(replica.service() + " to answer");
        ScheduledExecutorService teller = Executors.newSingleThreadScheduledExecutor();
        try {
            teller.scheduleAtFixedRate(
                    () -> output.aside(String.format(
                            Locale.ROOT,
                            "%3d s of %d: waits for %s",
                            Duration.ofNanos(System.nanoTime() - began).toSeconds(),
                            wait.toSeconds(),
                            waitsFor.get())),
                    TELL_SECONDS,
                    TELL_SECONDS,
                    TimeUnit.SECONDS);
            return replica.client().verify(replica.service(), wait, waitsFor::set);
        } catch (ReplicaException e) {
            throw new ReplicaException("nothing was compared: " + e.getMessage(), e);
        } finally {
            teller.shutdownNow();
        }
    }

    private static String verdict(NodeClient.Comparison comparison) {
        if (comparison.identical()) {
            return "identical";
        }
        boolean damaged = comparison.replicas().stream()
                .flatMap(content -> content.tables().stream())
                .anyMatch(table -> table.damage() != null);
        return damaged
                ? "DAMAGED: delete the database and the directory of the replica that is, and it receives the others'"
                : comparison.agree() ? "INCOMPLETE: those that answered hold the same" : "NOT IDENTICAL";
    }
}
