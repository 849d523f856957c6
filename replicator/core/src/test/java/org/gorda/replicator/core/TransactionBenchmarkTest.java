package org.gorda.replicator.core;

import static org.assertj.core.api.Assertions.assertThat;

import org.junit.jupiter.api.Test;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;
import org.openjdk.jmh.runner.options.TimeValue;
import org.openjdk.jmh.runner.options.VerboseMode;

/** A benchmark that nobody runs rots: here each runs for a moment, and measures nothing. */
class TransactionBenchmarkTest {

    private static final int BENCHMARKS = 5;

    @Test
    void eachRuns() throws RunnerException {
        assertThat(new Runner(new OptionsBuilder()
                                .include(TransactionBenchmark.class.getName())
                                .forks(0)
                                .warmupIterations(0)
                                .measurementIterations(1)
                                .measurementTime(TimeValue.milliseconds(5))
                                .shouldFailOnError(true)
                                .verbosity(VerboseMode.SILENT)
                                .build())
                        .run())
                .hasSize(BENCHMARKS * TransactionBenchmark.Shape.values().length);
    }
}
