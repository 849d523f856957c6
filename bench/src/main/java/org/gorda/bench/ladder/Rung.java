package org.gorda.bench.ladder;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.function.Consumer;
import org.gorda.bench.CommitCost;
import org.gorda.bench.Latencies;
import org.gorda.bench.workload.TpcB;
import org.jspecify.annotations.Nullable;

/** One way to have the database, which runs while others have their turns. Confined to one thread, but for {@link #close}. */
interface Rung extends AutoCloseable {

    /**
     * A turn. Immutable.
     *
     * @param cost null if nothing is replicated, or its replicas cannot be asked
     * @param failures what was aborted and is no refusal, by cause
     * @param cpuMicros processor time of all processes, clients too if they are within, for a committed transaction
     * @param serverCpuMicros of that, what the engine's servers take; null if it has none, or they are not looked at apart
     */
    record Turn(
            double perS,
            double cpuMicros,
            @Nullable Double serverCpuMicros,
            double abortedShare,
            Map<String, Long> failures,
            Latencies latency,
            @Nullable CommitCost cost) {}

    String name();

    /** Starts it, and fills the database. */
    void load(Consumer<String> progress);

    Turn run(int clients, Duration time, long seed);

    /** What each of its databases holds in the end, once all have everything. */
    List<TpcB.Sums> sums();

    @Override
    void close();
}
