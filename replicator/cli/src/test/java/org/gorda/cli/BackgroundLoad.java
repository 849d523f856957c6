package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.gorda.bench.LoadReport;
import org.gorda.bench.LoadTest;

/** A load that runs while a test does something to the group. For one thread at a time. */
final class BackgroundLoad {

    private static final Duration WAIT = Duration.ofMinutes(2);

    private final LoadTest load;
    private final CompletableFuture<LoadReport> report;

    /** Begins it. */
    BackgroundLoad(LoadTest load) {
        this.load = load;
        this.report = CompletableFuture.supplyAsync(load::run);
    }

    /** Comes back when so many transactions are acknowledged beyond those that are now, which it must not end before. */
    void awaitMore(int transactions) {
        long before = load.acknowledged().count();
        Awaitility.await("the load goes on")
                .atMost(WAIT)
                .until(() -> isOver() || load.acknowledged().count() >= before + transactions);
        assertThat(report).isNotDone();
    }

    boolean isOver() {
        return report.isDone();
    }

    /** Waits until it has ended by itself. */
    LoadReport report() throws Exception {
        return report.get(5, TimeUnit.MINUTES);
    }

    /** Has it end. */
    LoadReport end() throws Exception {
        load.finish();
        return report();
    }
}
