package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import org.gorda.bench.Acknowledged;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.workload.TpcB;

/** The promise, asked of a whole group after a load: each replica holds what was acknowledged, and all hold the same. */
final class NothingLost {

    private NothingLost() {}

    /** Brings every replica online first. The load must have ended. */
    static void anywhere(ReplicaGroup group, Acknowledged acknowledged, Duration wait) throws SQLException {
        group.awaitOnline(wait, line -> {});
        // First, because it waits until all have executed all: a replica that was woken believes itself online before
        // that.
        assertThat(group.verify(wait).identical()).isTrue();
        for (ReplicaProcess replica : group.replicas()) {
            on(group.status(replica).orElseThrow().clients(), replica.name(), acknowledged);
        }
    }

    /** Looks at one replica's own database, which must have executed all. */
    static void on(String url, String replica, Acknowledged acknowledged) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url)) {
            Acknowledged.Lookup found = acknowledged.lookup().in(connection);
            assertThat(found.lost()).as("lost on " + replica).isZero();
            assertThat(found.unexpected()).as("resurrected on " + replica).isZero();
            assertThat(TpcB.sums(connection).equal()).as("sums on " + replica).isTrue();
        }
    }
}
