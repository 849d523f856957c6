package org.gorda.bench.workload;

import java.util.List;

/** All that there are. */
public final class Workloads {

    private static final List<Workload.Kind> KINDS = List.of(TpcB.KIND);

    private Workloads() {}

    public static List<Workload.Kind> kinds() {
        return KINDS;
    }
}
