package org.gorda.bench.torture;

import org.jspecify.annotations.Nullable;

/**
 * A transaction of the past. Immutable, as its operation has ended.
 *
 * @param workload by its name
 * @param process which client, anew after each unknown outcome, because the transaction may still be going on
 * @param begunNanos since the load began
 * @param endedNanos since the load began
 * @param state the SQLSTATE that it ended with, null if none
 */
record Recorded(
        String workload,
        Operation operation,
        int process,
        long begunNanos,
        long endedNanos,
        Outcome outcome,
        @Nullable String state) {}
