package org.gorda.replicator.node;

import java.util.Collections;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.LongBinaryOperator;
import org.gorda.replicator.engine.ReplicaProbes;
import org.gorda.replicator.engine.Stage;
import org.gorda.replicator.engine.StageTimes;

/**
 * As {@link ReplicaProbes}, as a replica's service tells it. Immutable.
 *
 * @param frames how often something was sent to another replica
 * @param bytes of all frames
 * @param forces how often the log was forced to disk
 * @param flushes how often the database was
 */
public record NodeProbes(
        String self,
        boolean on,
        Map<Stage, Times> stages,
        long committed,
        long applied,
        long frames,
        long bytes,
        long forces,
        long flushes) {

    /**
     * As {@link StageTimes}. Immutable.
     *
     * @param p50Micros as {@code p99Micros} and {@code maxMicros} at most 1/16 more than it was
     * @param nanos with {@code buckets} what {@link StageTimes} is made of
     */
    public record Times(
            long count,
            double meanMicros,
            double p50Micros,
            double p99Micros,
            double maxMicros,
            long nanos,
            Map<Integer, Long> buckets) {

        static Times of(StageTimes times) {
            return new Times(
                    times.count(),
                    rounded(times.mean()),
                    rounded(times.percentile(50)),
                    rounded(times.percentile(99)),
                    rounded(times.percentile(100)),
                    times.nanos(),
                    times.buckets());
        }

        private static double rounded(double value) {
            return Math.round(value * 10) / 10.0;
        }

        StageTimes times() {
            return new StageTimes(nanos, buckets);
        }
    }

    public NodeProbes {
        stages = Collections.unmodifiableMap(new TreeMap<>(stages));
    }

    static NodeProbes of(ReplicaProbes now) {
        Map<Stage, Times> stages = new TreeMap<>();
        now.times().forEach((stage, times) -> stages.put(stage, Times.of(times)));
        return new NodeProbes(
                now.self().toString(),
                now.on(),
                stages,
                now.committed(),
                now.applied(),
                now.group().frames(),
                now.group().bytes(),
                now.group().forces(),
                now.flushes());
    }

    private StageTimes times(Stage stage) {
        Times times = stages.get(stage);
        return times == null ? StageTimes.NONE : times.times();
    }

    /** These of one replica and those of another. */
    public NodeProbes plus(NodeProbes other) {
        Map<Stage, Times> sum = new TreeMap<>(stages);
        other.stages
                .keySet()
                .forEach(stage -> sum.put(stage, Times.of(times(stage).plus(other.times(stage)))));
        return with(sum, other, Long::sum);
    }

    /** What has come since the same replica told what was before. If it was started since, that is all. */
    public NodeProbes minus(NodeProbes before) {
        if (frames < before.frames
                || bytes < before.bytes
                || forces < before.forces
                || flushes < before.flushes
                || committed < before.committed
                || applied < before.applied) {
            return this;
        }
        Map<Stage, Times> rest = new TreeMap<>();
        stages.keySet().forEach(stage -> rest.put(stage, Times.of(times(stage).minus(before.times(stage)))));
        return with(rest, before, (now, then) -> now - then);
    }

    private NodeProbes with(Map<Stage, Times> found, NodeProbes other, LongBinaryOperator operator) {
        return new NodeProbes(
                self,
                on,
                found,
                operator.applyAsLong(committed, other.committed),
                operator.applyAsLong(applied, other.applied),
                operator.applyAsLong(frames, other.frames),
                operator.applyAsLong(bytes, other.bytes),
                operator.applyAsLong(forces, other.forces),
                operator.applyAsLong(flushes, other.flushes));
    }
}
