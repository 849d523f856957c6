package org.gorda.replicator.node;

import io.prometheus.metrics.expositionformats.PrometheusTextFormatWriter;
import io.prometheus.metrics.model.snapshots.CounterSnapshot;
import io.prometheus.metrics.model.snapshots.GaugeSnapshot;
import io.prometheus.metrics.model.snapshots.InfoSnapshot;
import io.prometheus.metrics.model.snapshots.Labels;
import io.prometheus.metrics.model.snapshots.MetricSnapshots;
import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import org.gorda.gapi.Refusal;
import org.gorda.replicator.engine.ReplicaState;

/** A replica's {@link NodeStatus}, and what it has sent and forced since its start, as Prometheus reads them. Not thread-safe. */
final class NodeMetrics {

    /** Of the text. */
    static final String TYPE = PrometheusTextFormatWriter.CONTENT_TYPE;

    private final MetricSnapshots.Builder metrics = MetricSnapshots.builder();

    private NodeMetrics() {}

    static String text(NodeStatus now, NodeProbes counted) {
        NodeMetrics all = new NodeMetrics();
        all.replica(now);
        all.transactions(now);
        all.costs(counted);
        ByteArrayOutputStream text = new ByteArrayOutputStream(8192);
        try {
            PrometheusTextFormatWriter.create().write(text, all.metrics.build());
        } catch (IOException e) {
            throw new AssertionError("memory can be written", e);
        }
        return text.toString(StandardCharsets.UTF_8);
    }

    private void replica(NodeStatus now) {
        metrics.metricSnapshot(InfoSnapshot.builder()
                .name("gorda_replica")
                .help("The replica, and what its group runs.")
                .dataPoint(InfoSnapshot.InfoDataPointSnapshot.builder()
                        .labels(Labels.of(
                                "self", now.self(), "protocol", now.protocol(), "durability", now.durability()))
                        .build())
                .build());
        GaugeSnapshot.Builder states =
                GaugeSnapshot.builder().name("gorda_replica_state").help("1 for the state that the replica is in.");
        for (ReplicaState state : ReplicaState.values()) {
            states.dataPoint(GaugeSnapshot.GaugeDataPointSnapshot.builder()
                    .labels(Labels.of("state", state.toString()))
                    .value(state.toString().equals(now.state()) ? 1 : 0)
                    .build());
        }
        metrics.metricSnapshot(states.build());
        gauge("gorda_replica_writable", "Whether the replica takes writes.", now.executes() ? 1 : 0);
        gauge("gorda_replica_working", "Whether the replica reaches a majority of its group.", now.working() ? 1 : 0);
        gauge("gorda_group_members", "Who votes.", now.members().size());
        gauge(
                "gorda_group_learners",
                "Who is to become a member.",
                now.learners().size());
        gauge("gorda_epoch", "Where in the order it was last said who takes writes.", now.epoch());
        gauge("gorda_ordered_position", "Up to where the order is decided, as the replica knows.", now.ordered());
        gauge("gorda_applied_position", "Up to where its database shows it.", now.applied());
        gauge("gorda_durable_position", "Up to where its database has it on disk.", now.durable());
        gauge("gorda_lag_positions", "How much is decided and not shown.", now.lag());
        gauge("gorda_lag_seconds", "For how long something has been.", now.lagSeconds());
        gauge("gorda_undecided_positions", "How much is shown and would be lost with the replica.", now.undecided());
        gauge("gorda_undecided_seconds", "For how long something has been.", now.undecidedSeconds());
    }

    private void transactions(NodeStatus now) {
        counter("gorda_transactions_committed", "Of this replica's clients, with changes.", now.committedHere());
        counter("gorda_transactions_applied", "Of other replicas' clients.", now.appliedOfOthers());
        CounterSnapshot.Builder refused = CounterSnapshot.builder()
                .name("gorda_transactions_refused")
                .help("Of this replica's clients, by cause.");
        // Also of those that there were none of: the first would not count as a growth.
        for (Refusal.Cause cause : Refusal.Cause.values()) {
            Long count = now.refused().getOrDefault(cause.toString(), 0L);
            refused.dataPoint(CounterSnapshot.CounterDataPointSnapshot.builder()
                    .labels(Labels.of("cause", cause.toString()))
                    .value(count.doubleValue())
                    .build());
        }
        metrics.metricSnapshot(refused.build());
        gauge("gorda_transactions_in_flight", "Wait for their place in the order.", now.inFlight());
        gauge("gorda_paced_ratio", "Of the last ten seconds, in which writers waited for a slow replica.", now.paced());
    }

    private void costs(NodeProbes counted) {
        counter("gorda_frames_sent", "To other replicas.", counted.frames());
        counter("gorda_sent_bytes", "To other replicas.", counted.bytes());
        counter("gorda_log_forces", "How often the log was forced to disk.", counted.forces());
        counter("gorda_database_flushes", "How often the database was.", counted.flushes());
    }

    private void gauge(String name, String help, Number value) {
        metrics.metricSnapshot(GaugeSnapshot.builder()
                .name(name)
                .help(help)
                .dataPoint(GaugeSnapshot.GaugeDataPointSnapshot.builder()
                        .value(value.doubleValue())
                        .build())
                .build());
    }

    private void counter(String name, String help, Long value) {
        metrics.metricSnapshot(CounterSnapshot.builder()
                .name(name)
                .help(help)
                .dataPoint(CounterSnapshot.CounterDataPointSnapshot.builder()
                        .value(value.doubleValue())
                        .build())
                .build());
    }
}
