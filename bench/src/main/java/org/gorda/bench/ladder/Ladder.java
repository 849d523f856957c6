package org.gorda.bench.ladder;

import com.google.gson.annotations.SerializedName;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.function.Consumer;
import java.util.function.ToDoubleFunction;
import org.gorda.bench.CommitCost;
import org.gorda.bench.EmbeddedEngine;
import org.gorda.bench.Engine;
import org.gorda.bench.ServerEngine;
import org.gorda.bench.workload.BenchException;
import org.gorda.bench.workload.TpcB;
import org.jspecify.annotations.Nullable;

/**
 * What each step of replication costs, as GORDA's deliverable D5.3 asked it: TPC-B on the engine alone, with all changes captured and
 * nothing done with them (loopback), on three replicas of which one takes writes (primary-backup), and on three that all do
 * (certification). All rungs are there from the beginning and take turns, up and down the ladder, so that what else the machine does falls on
 * all of them; a rung's ratio is the median of those to the engine's turn of the same round.
 *
 * @param load of all of them
 * @param engine of the databases; null for Derby
 * @param storage where the databases are
 * @param via how clients use them
 * @param rungs by name, those above the engine alone
 * @param clients how many at once, one ladder for each
 * @param retry how often a driver of replicas runs a refused transaction again; via the network only
 * @param warmUp how long each rung runs before it is measured
 * @param turn how long each turn lasts
 * @param pairs how many rounds
 * @param directory of all processes
 */
public record Ladder(
        Load load,
        @Nullable Engine engine,
        Storage storage,
        Via via,
        List<String> rungs,
        List<Integer> clients,
        int retry,
        Duration warmUp,
        Duration turn,
        int pairs,
        Path directory) {

    /** The engine alone, with its default durable commit. */
    static final String VANILLA = "vanilla";

    /** All changes captured, and nothing done with them. */
    static final String LOOPBACK = "loopback";

    /** The engine's own synchronous replication to two standbys, of which one must have a commit. */
    static final String STREAMING = "streaming";

    private static final List<String> RUNGS =
            List.of(LOOPBACK, "primary-backup", "certification", "asynchronous", STREAMING);

    /** Where databases are. */
    public enum Storage {
        /** The heap for embedded databases; a file system in memory for servers, and for the log of replicas. */
        @SerializedName("memory")
        MEMORY,
        @SerializedName("disk")
        DISK
    }

    /** How clients use databases. */
    public enum Via {
        /** In the processes that have them, or their replicas if the engine is a server. */
        @SerializedName("embedded")
        EMBEDDED,
        /** From this JVM, over the loopback network. */
        @SerializedName("network")
        NETWORK
    }

    /**
     * The bank, and what is done with it. Immutable.
     *
     * @param accounts of each branch
     * @param reads so many of a hundred transactions only read an account
     */
    public record Load(int scale, int accounts, int reads) {

        TpcB bank() {
            return TpcB.of(Map.of(
                    "scale",
                    Integer.toString(scale),
                    "accounts",
                    Integer.toString(accounts),
                    "reads",
                    Integer.toString(reads)));
        }
    }

    /**
     * A step, with so many clients. Immutable.
     *
     * @param throughputRatio to the engine alone: the median of the rounds, as are the others
     * @param cpuRatio of the processor time of all processes for a committed transaction; via the network without the clients'
     * @param serverCpuRatio of what the engine's servers take of it; null if it has none, or via the network, as is the next one
     * @param latencyMs the mean
     * @param meanBelowP95Ms the mean of those below the 95th percentile, as D5.3 has it
     * @param abortRate of all attempts
     * @param cost on replicas, in the turn whose throughput was the median; null where nothing is replicated or clients are embedded
     */
    public record Result(
            String rung,
            Storage storage,
            Via via,
            int clients,
            double throughputRatio,
            double throughputRatioMin,
            double throughputRatioMax,
            double cpuRatio,
            double cpuMicros,
            @Nullable Double serverCpuRatio,
            @Nullable Double serverCpuMicros,
            double throughputPerMinute,
            double latencyMs,
            double meanBelowP95Ms,
            double p50Ms,
            double p99Ms,
            double abortRate,
            @Nullable CommitCost cost) {}

    /**
     * All of them. Immutable.
     *
     * @param identical whether all replicas of a rung held the same in the end, and balances equalled the history
     */
    public record Results(List<Result> rungs, boolean identical) {

        /** As D5.3 shows it. */
        public String toText() {
            StringBuilder text = new StringBuilder();
            text.append(String.format(
                    "%-16s %-8s %7s %10s %9s %9s %8s %9s %22s %9s%n",
                    "rung",
                    "via",
                    "clients",
                    "per minute",
                    "mean ms",
                    "p99 ms",
                    "aborted",
                    "cpu us",
                    "ratio (min to max)",
                    "cpu"));
            for (Result rung : rungs) {
                text.append(String.format(
                        Locale.ROOT,
                        "%-16s %-8s %7d %,10.0f %9.2f %9.2f %6.1f %% %,9.0f %8.3f (%.3f to %.3f) %9.2f%n",
                        rung.rung(),
                        rung.via(),
                        rung.clients(),
                        rung.throughputPerMinute(),
                        rung.latencyMs(),
                        rung.p99Ms(),
                        100 * rung.abortRate(),
                        rung.cpuMicros(),
                        rung.throughputRatio(),
                        rung.throughputRatioMin(),
                        rung.throughputRatioMax(),
                        rung.cpuRatio()));
            }
            for (Result rung : rungs) {
                if (rung.serverCpuMicros() != null) {
                    text.append(String.format(
                            Locale.ROOT,
                            "of the processor time the servers take with %d clients in %-16s %,5.0f us %8.2f%n",
                            rung.clients(),
                            rung.rung(),
                            rung.serverCpuMicros(),
                            rung.serverCpuRatio()));
                }
            }
            return text.append(identical ? "all replicas identical, balances equal the history" : "NOT IDENTICAL")
                    .toString();
        }
    }

    /** Those that are measured unless others are asked for. */
    public static List<String> rungs(@Nullable Engine engine, Via via) {
        if (engine instanceof EmbeddedEngine) {
            return List.of(LOOPBACK, "primary-backup"); // it has no keys to certify by
        }
        if (engine != null) {
            return List.of(LOOPBACK, STREAMING, "primary-backup", "certification");
        }
        return via == Via.EMBEDDED
                ? List.of(LOOPBACK, "primary-backup", "certification")
                : List.of("primary-backup", "certification");
    }

    public Ladder {
        if (pairs < 1 || pairs > 1_000) {
            throw new BenchException("pairs is " + pairs + " but must be 1 to 1000");
        }
        if (turn.toMillis() < 1 || warmUp.toMillis() < 1) {
            throw new BenchException("turn is " + turn.toMillis() + " ms and warmup " + warmUp.toMillis()
                    + " ms but both must be at least 1 ms");
        }
        if (clients.isEmpty() || clients.stream().anyMatch(each -> each < 1 || each > 1_000)) {
            throw new BenchException(
                    "clients is " + clients + " but must be 1 to 1000, or several with commas between them");
        }
        if (retry < 0 || retry > (via == Via.NETWORK ? 1_000 : 0)) {
            throw new BenchException("retry is " + retry + " but must be 0 to 1000, and 0 if clients are embedded");
        }
        if (engine instanceof EmbeddedEngine && (via == Via.NETWORK || storage == Storage.MEMORY)) {
            throw new BenchException(
                    "engine is " + engine.key() + ", which is used in the replicas' processes and kept in files: "
                            + "ask for --via embedded and --storage disk");
        }
        boolean derbyServer = engine == null && via == Via.NETWORK;
        for (String rung : rungs) {
            if (!RUNGS.contains(rung)
                    || (derbyServer && rung.equals(LOOPBACK))
                    || (!(engine instanceof ServerEngine) && rung.equals(STREAMING))) {
                throw new BenchException("rungs has '" + rung + "' but must be of " + String.join(", ", RUNGS)
                        + "; loopback over Derby is embedded only, and only PostgreSQL has streaming");
            }
        }
        load.bank(); // checks the values
    }

    /**
     * Runs it.
     *
     * @throws BenchException if a process does not do what it should
     */
    public Results run(Consumer<String> progress) {
        List<Rung> all = new ArrayList<>();
        Thread end = new Thread(() -> close(all), "end-of-ladder");
        Runtime.getRuntime().addShutdownHook(end);
        try {
            List<String> names = new ArrayList<>(List.of(VANILLA));
            names.addAll(rungs);
            for (String name : names) {
                Rung rung = via == Via.NETWORK
                        ? NetworkRung.of(name, load, (ServerEngine) engine, directory, retry)
                        : EmbeddedRung.of(name, load, engine, directory, storage == Storage.MEMORY);
                synchronized (all) {
                    all.add(rung);
                }
                rung.load(progress);
            }
            return run(all, progress);
        } finally {
            close(all);
        }
    }

    private static void close(List<Rung> all) {
        synchronized (all) {
            all.forEach(Rung::close);
        }
    }

    private Results run(List<Rung> all, Consumer<String> progress) {
        long seed = 0;
        for (Rung rung : all) {
            progress.accept("warm-up     " + rung.name());
            rung.run(clients.get(clients.size() - 1), warmUp, ++seed);
        }
        List<Result> results = new ArrayList<>();
        for (int count : clients) {
            Map<Rung, List<Rung.Turn>> turns = new LinkedHashMap<>();
            all.forEach(rung -> turns.put(rung, new ArrayList<>()));
            for (int round = 1; round <= pairs; round++) {
                for (int i = 0; i < all.size(); i++) {
                    Rung rung = all.get(round % 2 == 1 ? i : all.size() - 1 - i);
                    Rung.Turn done = rung.run(count, turn, ++seed);
                    turns.getOrDefault(rung, List.of()).add(done);
                    progress.accept(String.format(
                            Locale.ROOT,
                            "%2d/%-2d %2d clients   %-15s %,9.0f/s   p50 %8.2f ms   p99 %8.2f ms   aborted %4.1f %%   %,7.0f us",
                            round,
                            pairs,
                            count,
                            rung.name(),
                            done.perS(),
                            done.latency().p50(),
                            done.latency().p99(),
                            100 * done.abortedShare(),
                            done.cpuMicros()));
                    done.failures()
                            .forEach((cause, failed) -> progress.accept(
                                    String.format(Locale.ROOT, "FAILED      %,d of them: %s", failed, cause)));
                }
            }
            List<Rung.Turn> alone = turns.getOrDefault(all.get(0), List.of());
            turns.forEach((rung, done) -> results.add(result(rung.name(), count, done, alone)));
        }
        return new Results(results, all.stream().allMatch(rung -> isSound(rung, progress)));
    }

    private static boolean isSound(Rung rung, Consumer<String> progress) {
        List<TpcB.Sums> sums = rung.sums();
        boolean sound = sums.stream().allMatch(TpcB.Sums::equal)
                && sums.stream().distinct().count() == 1;
        if (!sound) {
            progress.accept("NOT SOUND   " + rung.name() + ": " + sums);
        }
        return sound;
    }

    private Result result(String name, int count, List<Rung.Turn> turns, List<Rung.Turn> alone) {
        double[] ratios = ratios(turns, alone, Rung.Turn::perS);
        boolean hasServers = turns.get(0).serverCpuMicros() != null;
        return new Result(
                name,
                storage,
                via,
                count,
                rounded(median(ratios)),
                rounded(ratios[0]),
                rounded(ratios[ratios.length - 1]),
                rounded(median(ratios(turns, alone, Rung.Turn::cpuMicros))),
                rounded(median(turns, Rung.Turn::cpuMicros)),
                hasServers ? rounded(median(ratios(turns, alone, Ladder::serverMicros))) : null,
                hasServers ? rounded(median(turns, Ladder::serverMicros)) : null,
                rounded(60 * median(turns, Rung.Turn::perS)),
                rounded(median(turns, each -> each.latency().mean())),
                rounded(median(turns, each -> each.latency().meanBelowP95())),
                rounded(median(turns, each -> each.latency().p50())),
                rounded(median(turns, each -> each.latency().p99())),
                rounded(median(turns, Rung.Turn::abortedShare)),
                middle(turns).cost());
    }

    private static double serverMicros(Rung.Turn turn) {
        return Objects.requireNonNull(turn.serverCpuMicros());
    }

    private static Rung.Turn middle(List<Rung.Turn> turns) {
        return turns.stream()
                .sorted(Comparator.comparingDouble(Rung.Turn::perS))
                .skip(turns.size() / 2)
                .findFirst()
                .orElseThrow();
    }

    private static double rounded(double value) {
        return Math.round(value * 1e4) / 1e4;
    }

    /** In ascending order. */
    private static double[] ratios(List<Rung.Turn> turns, List<Rung.Turn> alone, ToDoubleFunction<Rung.Turn> value) {
        double[] ratios = new double[turns.size()];
        for (int i = 0; i < ratios.length; i++) {
            ratios[i] = value.applyAsDouble(turns.get(i)) / value.applyAsDouble(alone.get(i));
        }
        java.util.Arrays.sort(ratios);
        return ratios;
    }

    private static double median(List<Rung.Turn> turns, ToDoubleFunction<Rung.Turn> value) {
        return median(turns.stream().mapToDouble(value).sorted().toArray());
    }

    private static double median(double[] sorted) {
        int middle = sorted.length / 2;
        return sorted.length % 2 == 1 ? sorted[middle] : (sorted[middle - 1] + sorted[middle]) / 2;
    }
}
