package org.gorda.bench;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Consumer;
import org.gorda.bench.workload.BenchException;
import org.gorda.bench.workload.TpcB;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.node.NodeClient;
import org.gorda.replicator.node.ReplicaContent;
import org.jspecify.annotations.Nullable;

/**
 * Keeps one bank on several replica processes under load, kills one with SIGKILL, starts it again, and proves that nothing that a
 * client saw acknowledged is missing anywhere and that all replicas hold the same.
 *
 * @param replicas how many processes, 1 to 9; a kill needs 3
 * @param clients how many at once
 * @param duration of the load
 * @param kill whom; where every replica takes writes, the primary is any of them
 * @param protocol by its name
 * @param durability by its name
 * @param engine of the databases; null for Derby
 * @param directory where the replicas keep everything
 */
public record Demo(
        int replicas,
        int clients,
        Duration duration,
        Kill kill,
        String protocol,
        String durability,
        @Nullable Engine engine,
        Path directory) {

    /** Who is killed in the middle of the load. */
    public enum Kill {
        PRIMARY,
        BACKUP,
        NONE
    }

    private static final Duration START_WAIT = Duration.ofMinutes(2);
    private static final Duration CATCH_UP_WAIT = Duration.ofMinutes(5);
    private static final Duration SILENCE_AFTER_KILL = Duration.ofSeconds(2);
    private static final int SECONDS_DOWN = 3;
    private static final int SCALE = 1;

    /**
     * What came of it; the names are those of the JSON that {@code gorda demo --json} ends with. Immutable.
     *
     * @param refused what the replicas refused their clients, by cause; of the one killed, up to then
     * @param lost transactions that were acknowledged and are missing on some replica
     * @param resurrected transactions that the client was told did not happen and that are there on some replica
     * @param identical whether all replicas hold the same rows in all tables
     * @param consistent whether balances equal history on all replicas
     * @param kill whose kill was asked for
     * @param epochs how many primaries there were one after the other while the load ran; more than 2 when the primary was killed, or
     *     more than 1 otherwise, means that one was suspected that was well
     * @param failoverMs the longest time without a success that the kill lies in or that began within 2 s after it; null without kill
     */
    public record Result(
            String protocol,
            String durability,
            int replicas,
            int clients,
            long committed,
            double throughputPerS,
            long aborted,
            Map<String, Long> refused,
            long unknown,
            long lost,
            long resurrected,
            boolean identical,
            boolean consistent,
            Kill kill,
            @Nullable String killed,
            int epochs,
            @Nullable Long failoverMs,
            Latencies latencyMs) {

        /** Whether nothing went wrong. What is lost with a killed primary that is asynchronous is what was asked for. */
        public boolean proved() {
            boolean mayLose = protocol.equals(ReplicationProtocol.ASYNCHRONOUS.key()) && kill == Kill.PRIMARY;
            return committed > 0 && (lost == 0 || mayLose) && resurrected == 0 && identical && consistent;
        }
    }

    public Demo {
        if (kill != Kill.NONE && replicas < 3) {
            throw new BenchException("with " + replicas
                    + " replicas the others are no majority after a kill: use --replicas 3 or --kill none");
        }
        if (duration.toSeconds() < 2) {
            throw new BenchException("duration is " + duration.toMillis() + " ms but must be at least 2 s");
        }
    }

    /** Runs it. */
    public Result run(Consumer<String> progress) {
        Map<String, String> settings = new LinkedHashMap<>();
        settings.put("protocol", protocol);
        settings.put("durability", durability);
        try (ReplicaGroup group = ReplicaGroup.of(replicas, directory, settings, engine)) {
            // A demonstration that is interrupted leaves no processes behind.
            Runtime.getRuntime().addShutdownHook(new Thread(group::close, "end-of-demo"));
            return run(group, progress);
        }
    }

    private Result run(ReplicaGroup group, Consumer<String> progress) {
        progress.accept(String.format(
                "%d replicas of one %s database, each its own process, in %s; %s, durability %s",
                replicas, engine == null ? "Derby" : engine.name(), directory, protocol, durability));
        group.start();
        group.awaitOnline(START_WAIT, progress);
        LoadTest test = LoadTest.of(TpcB.of(SCALE)).clients(clients).duration(duration);
        if (!(engine instanceof EmbeddedEngine)) {
            progress.accept("url         " + group.url());
            return run(group, test.target(group.url()), Demo::read, progress);
        }
        progress.accept("clients     in the replicas' processes, told what to do from here");
        try (EmbeddedClients within = new EmbeddedClients(group, SCALE)) {
            within.load();
            test.elsewhere(within)
                    .services(group.replicas().stream()
                            .map(ReplicaProcess::service)
                            .toList());
            return run(group, test, (all, replica, lookup) -> within.read(replica, lookup), progress);
        }
    }

    /** How one replica's own database is read. */
    private interface Reading {
        TpcB.Sums of(ReplicaGroup group, ReplicaProcess replica, Acknowledged.Lookup lookup);
    }

    private Result run(ReplicaGroup group, LoadTest test, Reading reading, Consumer<String> progress) {
        Fault fault = new Fault(group, progress);
        test.progress(progress).everySecond(fault);
        LoadReport report = test.run();
        fault.finish();
        group.awaitOnline(CATCH_UP_WAIT, progress);
        progress.accept(report.toText());
        if (!fault.refused.isEmpty()) {
            progress.accept("refused by  " + fault.refused);
        }
        LoadTest.Silence silence =
                fault.killedNanos == 0 ? null : test.longestSilence(fault.killedNanos, SILENCE_AFTER_KILL);
        return prove(group, report, test.acknowledged(), reading, fault, silence, progress);
    }

    /** Kills one replica in the middle of the load and starts it again some seconds later. */
    private final class Fault implements Runnable {
        private final ReplicaGroup group;
        private final Consumer<String> progress;
        private final AtomicInteger second = new AtomicInteger();
        private @Nullable ReplicaProcess down;
        private @Nullable String killed;
        private long killedNanos;
        private int killedSecond;
        private final Set<Long> epochs = new HashSet<>();
        private final Map<String, Long> refused = new TreeMap<>();

        Fault(ReplicaGroup group, Consumer<String> progress) {
            this.group = group;
            this.progress = progress;
        }

        @Override
        public void run() {
            int now = second.incrementAndGet();
            group.primary().flatMap(group::status).ifPresent(status -> epochs.add(status.epoch()));
            ReplicaProcess lying = down;
            if (lying != null && now >= killedSecond + SECONDS_DOWN) {
                restart(lying);
            } else if (killed == null && kill != Kill.NONE && now >= duration.toSeconds() / 2) {
                Optional<ReplicaProcess> victim = kill == Kill.PRIMARY ? group.primary() : group.backup();
                victim.ifPresent(replica -> kill(replica, now));
            }
        }

        private void kill(ReplicaProcess victim, int now) {
            countRefused(victim);
            killedNanos = System.nanoTime();
            victim.kill();
            killed = victim.name();
            killedSecond = now;
            down = victim;
            progress.accept(
                    "  kill -9   " + victim.name() + ", the " + kill.name().toLowerCase(Locale.ROOT));
        }

        private void countRefused(ReplicaProcess replica) {
            group.status(replica)
                    .ifPresent(status ->
                            status.refused().forEach((cause, count) -> refused.merge(cause, count, Long::sum)));
        }

        private void restart(ReplicaProcess lying) {
            lying.start();
            down = null;
            progress.accept("  start     " + lying.name() + " again");
        }

        /** Also after a load that was too short to start it again. */
        void finish() {
            group.replicas().stream().filter(replica -> replica != down).forEach(this::countRefused);
            ReplicaProcess lying = down;
            if (lying != null) {
                restart(lying);
            }
            if (killed == null && kill != Kill.NONE) {
                throw new BenchException("there was no " + kill.name().toLowerCase(Locale.ROOT) + " to kill");
            }
        }
    }

    private Result prove(
            ReplicaGroup group,
            LoadReport report,
            Acknowledged acknowledged,
            Reading reading,
            Fault fault,
            LoadTest.@Nullable Silence silence,
            Consumer<String> progress) {
        String killed = fault.killed;
        long lost = 0;
        long resurrected = 0;
        boolean consistent = report.check().consistent();
        // Before the replicas are read, because it waits until each has executed all that was acknowledged.
        NodeClient.Comparison comparison = group.verify(CATCH_UP_WAIT);
        for (ReplicaProcess replica : group.replicas()) {
            Acknowledged.Lookup lookup = acknowledged.lookup();
            boolean equal = reading.of(group, replica, lookup).equal();
            consistent &= equal;
            lost = Math.max(lost, lookup.lost());
            resurrected = Math.max(resurrected, lookup.unexpected());
            progress.accept(String.format(
                    Locale.ROOT,
                    "%s   %,d of %,d acknowledged transactions are there, balances %s",
                    replica.name(),
                    acknowledged.count() - lookup.lost(),
                    acknowledged.count(),
                    equal ? "consistent" : "NOT CONSISTENT"));
            if (lookup.unexpected() > 0) {
                progress.accept("            " + lookup.unexpected()
                        + " are there that were said not to have happened: " + lookup.firstUnexpected());
            }
        }
        show(comparison, progress);
        if (silence != null) {
            progress.accept("failover    " + silence.millis() + " ms without a success around the kill of " + killed);
        }
        return new Result(
                protocol,
                durability,
                replicas,
                clients,
                report.committed(),
                report.throughputPerS(),
                report.abortedInAll(),
                fault.refused,
                report.unknown(),
                lost,
                resurrected,
                comparison.identical(),
                consistent,
                kill,
                killed,
                fault.epochs.size(),
                silence == null ? (killed == null ? null : 0L) : Long.valueOf(silence.millis()),
                report.latency());
    }

    /** With the engine's own driver. */
    private static TpcB.Sums read(ReplicaGroup group, ReplicaProcess replica, Acknowledged.Lookup lookup) {
        try (Connection connection = group.connect(replica)) {
            lookup.in(connection);
            return TpcB.sums(connection);
        } catch (SQLException e) {
            throw new BenchException(replica.name() + " cannot be read: " + e.getMessage(), e);
        }
    }

    private static void show(NodeClient.Comparison comparison, Consumer<String> progress) {
        for (ReplicaContent content : comparison.replicas()) {
            StringBuilder line = new StringBuilder(content.replica() + " at " + content.position() + ":");
            for (ReplicaContent.Table table : content.tables()) {
                line.append(
                        String.format(Locale.ROOT, " %s %,d rows %s", table.table(), table.rows(), table.checksum()));
                if (table.damage() != null) {
                    line.append(" DAMAGED: ").append(table.damage());
                }
            }
            progress.accept(line.toString());
        }
        comparison.missing().forEach((member, why) -> progress.accept(member + " is missing: " + why));
        progress.accept(comparison.identical() ? "identical   yes" : "identical   NO");
    }
}
