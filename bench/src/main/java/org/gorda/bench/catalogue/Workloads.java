package org.gorda.bench.catalogue;

import java.util.List;
import org.gorda.bench.torture.ProofLoad;
import org.gorda.bench.workload.Deadlock;
import org.gorda.bench.workload.Evaluator;
import org.gorda.bench.workload.HotSpot;
import org.gorda.bench.workload.PreparedStatementWrite;
import org.gorda.bench.workload.ReadScalingAggregates;
import org.gorda.bench.workload.ReadScalingInvertedKeys;
import org.gorda.bench.workload.ReadSimple;
import org.gorda.bench.workload.ReadSimpleLargeResults;
import org.gorda.bench.workload.ReadWrite;
import org.gorda.bench.workload.StatementBatching;
import org.gorda.bench.workload.TpcB;
import org.gorda.bench.workload.Workload;
import org.gorda.bench.workload.WriteComplex;
import org.gorda.bench.workload.WriteSimple;

/** All that there are. */
public final class Workloads {

    private static final List<Workload.Kind> KINDS = List.of(
            TpcB.KIND,
            Evaluator.KIND,
            HotSpot.KIND,
            ReadSimple.KIND,
            ReadSimpleLargeResults.KIND,
            ReadScalingAggregates.KIND,
            ReadScalingInvertedKeys.KIND,
            WriteSimple.KIND,
            WriteComplex.KIND,
            ReadWrite.KIND,
            StatementBatching.KIND,
            PreparedStatementWrite.KIND,
            Deadlock.KIND,
            ProofLoad.LIST_APPEND,
            ProofLoad.BANK);

    private Workloads() {}

    public static List<Workload.Kind> kinds() {
        return KINDS;
    }
}
