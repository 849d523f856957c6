package org.gorda.bench;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.atomic.LongAdder;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.function.Supplier;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;
import org.jspecify.annotations.Nullable;

/**
 * Clients that run TPC-B transactions one after the other, each on a connection it takes from a HikariCP pool for each
 * transaction, as applications do. Closed loop: a client waits for the answer before its next transaction. Confined to one thread.
 */
public final class LoadTest {

    /** A time in which no transaction of any client was acknowledged, by {@link System#nanoTime}. Immutable. */
    public record Silence(long beginNanos, long endNanos) {
        public long millis() {
            return TimeUnit.NANOSECONDS.toMillis(endNanos - beginNanos);
        }
    }

    private static final long LATENCY_NANOS_MAX = TimeUnit.MINUTES.toNanos(10);
    private static final long SILENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long LOADED_POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long FINISH_POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final int SILENCES_KEPT = 10_000;
    private static final Duration CONNECTION_WAIT = Duration.ofSeconds(60);
    private static final Duration PAUSE_AFTER_FAILURE = Duration.ofMillis(1);

    private final TpcB bank;
    private String url = "";
    private int clients = 8;
    private Duration warmUp = Duration.ZERO;
    private Duration duration = Duration.ofSeconds(10);
    private Consumer<String> progress = line -> {};
    private Runnable everySecond = () -> {};
    private Supplier<Duration> processorClock = () -> Duration.ZERO;
    private Duration processorTime = Duration.ZERO;

    private final Acknowledged acknowledged =
            new Acknowledged(ThreadLocalRandom.current().nextInt());
    private final Recorder recorder = new Recorder(LATENCY_NANOS_MAX, 3);
    private final LongAdder committed = new LongAdder();
    private final LongAdder unknown = new LongAdder();
    private final Map<String, LongAdder> aborted = new ConcurrentHashMap<>();
    private final AtomicLong lastSuccessNanos = new AtomicLong();
    private final ConcurrentSkipListMap<Long, Silence> silences = new ConcurrentSkipListMap<>();
    private volatile boolean stopping;
    private volatile boolean finishing;
    private volatile @Nullable Throwable broken;

    private LoadTest(TpcB bank) {
        this.bank = bank;
    }

    public static LoadTest of(TpcB bank) {
        return new LoadTest(bank);
    }

    /** The database's JDBC URL. */
    public LoadTest target(String jdbcUrl) {
        url = jdbcUrl;
        return this;
    }

    /** How many clients at once, 1 to 9,999. */
    public LoadTest clients(int count) {
        if (count < 1 || count > 9_999) {
            throw new BenchException("clients is " + count + " but must be 1 to 9999");
        }
        clients = count;
        return this;
    }

    /** How long to run before measuring. */
    public LoadTest warmUp(Duration time) {
        warmUp = time;
        return this;
    }

    /** How long to measure. */
    public LoadTest duration(Duration time) {
        if (time.toMillis() < 1) {
            throw new BenchException("duration is " + time + " but must be at least 1 ms");
        }
        duration = time;
        return this;
    }

    /** Gets a line a second. */
    public LoadTest progress(Consumer<String> lines) {
        progress = lines;
        return this;
    }

    /** Runs once a second while the load runs. */
    LoadTest everySecond(Runnable task) {
        everySecond = task;
        return this;
    }

    /** What tells how much processor time the database has used; read at the beginning and the end of what is measured. */
    LoadTest processorClock(Supplier<Duration> clock) {
        processorClock = clock;
        return this;
    }

    /** How much the database used while it was measured. */
    Duration processorTime() {
        return processorTime;
    }

    /** Which transactions were acknowledged, those of the warm-up too. */
    public Acknowledged acknowledged() {
        return acknowledged;
    }

    /** The longest time without any success that a moment lies in or that begins within the time after it; null if none. */
    public @Nullable Silence longestSilence(long fromNanos, Duration after) {
        Silence longest = null;
        for (Silence silence : silences.values()) {
            if (silence.endNanos() > fromNanos
                    && silence.beginNanos() < fromNanos + after.toNanos()
                    && (longest == null || silence.millis() > longest.millis())) {
                longest = silence;
            }
        }
        return longest;
    }

    /**
     * Makes the bank if it is not there, runs the load, and reads the sums.
     *
     * @throws BenchException if the database cannot be reached or a client breaks down
     */
    public LoadReport run() {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(clients);
        config.setAutoCommit(false);
        config.setConnectionTimeout(CONNECTION_WAIT.toMillis());
        config.setPoolName("load");
        try (HikariDataSource pool = new HikariDataSource(config)) {
            load(pool);
            awaitLoaded(pool);
            return run(pool);
        } catch (SQLException e) {
            throw new BenchException("SQLSTATE " + e.getSQLState() + ": " + e.getMessage(), e);
        }
    }

    private void load(HikariDataSource pool) throws SQLException {
        AtomicLong loaded = new AtomicLong();
        Thread teller = new Thread(() -> tell(loaded), "load-progress");
        teller.setDaemon(true);
        teller.start();
        try (Connection connection = pool.getConnection()) {
            bank.load(connection, loaded);
        } finally {
            teller.interrupt();
        }
    }

    /** Clients' connections go to several replicas, and one may show a little later what was loaded on another one. */
    private void awaitLoaded(HikariDataSource pool) throws SQLException {
        long begin = System.nanoTime();
        List<Connection> all = new ArrayList<>();
        try {
            for (int client = 0; client < clients; client++) {
                Connection connection = pool.getConnection();
                all.add(connection);
                while (!bank.isLoaded(connection)) {
                    if (System.nanoTime() - begin > CONNECTION_WAIT.toNanos()) {
                        throw new BenchException("after " + CONNECTION_WAIT.toSeconds() + " s " + connection
                                + " still does not show all branches that were loaded");
                    }
                    LockSupport.parkNanos(LOADED_POLL_NANOS);
                }
            }
        } finally {
            for (Connection connection : all) {
                connection.close();
            }
        }
    }

    private void tell(AtomicLong loaded) {
        long all = bank.allAccounts();
        while (!Thread.interrupted()) {
            LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(1));
            if (!Thread.currentThread().isInterrupted() && loaded.get() < all) {
                progress.accept(String.format(Locale.ROOT, "loading     %,d of %,d accounts", loaded.get(), all));
            }
        }
    }

    private LoadReport run(HikariDataSource pool) throws SQLException {
        lastSuccessNanos.set(System.nanoTime());
        List<Thread> threads = new ArrayList<>();
        for (int client = 0; client < clients; client++) {
            int number = client;
            Thread thread = new Thread(() -> work(pool, number), "client-" + number);
            thread.start();
            threads.add(thread);
        }
        Histogram all = new Histogram(LATENCY_NANOS_MAX, 3);
        LoadReport report;
        try {
            long begin = System.nanoTime();
            watch(begin, begin + warmUp.toNanos(), null);
            long abortedBefore = abortedInAll();
            Map<String, Long> before = abortedNow();
            long committedBefore = committed.sum();
            long unknownBefore = unknown.sum();
            Duration used = processorClock.get();
            long measured = System.nanoTime();
            watch(measured, measured + duration.toNanos(), all);
            double seconds = (System.nanoTime() - measured) / 1e9;
            long count = committed.sum() - committedBefore;
            processorTime = processorClock.get().minus(used);
            Map<String, Long> causes = abortedNow();
            before.forEach((cause, earlier) -> causes.computeIfPresent(cause, (any, now) -> now - earlier));
            causes.values().removeIf(value -> value == 0);
            assert abortedInAll() >= abortedBefore;
            stop(threads);
            report = new LoadReport(
                    clients,
                    bank.scale(),
                    Math.round(seconds * 1e3) / 1e3,
                    count,
                    Math.round(count / seconds * 10) / 10.0,
                    causes,
                    unknown.sum() - unknownBefore,
                    Latencies.of(all),
                    sums(pool));
        } finally {
            stop(threads);
        }
        return report;
    }

    /**
     * Reads again if the primary changes meanwhile. What was committed on another replica may become visible between two of the sums: at
     * REPEATABLE READ it waits for them.
     */
    private static TpcB.Sums sums(HikariDataSource pool) throws SQLException {
        long begin = System.nanoTime();
        while (true) {
            try (Connection connection = pool.getConnection()) {
                connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
                TpcB.Sums sums = TpcB.sums(connection);
                connection.rollback();
                return sums;
            } catch (SQLException e) {
                if (cause(String.valueOf(e.getSQLState())).endsWith(" error")
                        || System.nanoTime() - begin > CONNECTION_WAIT.toNanos()) {
                    throw e;
                }
            }
        }
    }

    private void stop(List<Thread> threads) {
        stopping = true;
        for (Thread thread : threads) {
            try {
                thread.join();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new BenchException("interrupted while the clients were ending", e);
            }
        }
        Throwable cause = broken;
        if (cause != null) {
            throw new BenchException("a client broke down: " + cause.getMessage(), cause);
        }
    }

    private long abortedInAll() {
        return aborted.values().stream().mapToLong(LongAdder::sum).sum();
    }

    private Map<String, Long> abortedNow() {
        Map<String, Long> now = new TreeMap<>();
        aborted.forEach((cause, count) -> now.put(cause, count.sum()));
        return now;
    }

    /** Ends what is measured before its time is over. For any thread. */
    public void finish() {
        finishing = true;
    }

    /** Tells how it goes once a second until the time is over; {@code all} is null during the warm-up. */
    private void watch(long beginNanos, long endNanos, @Nullable Histogram all) {
        Histogram second = recorder.getIntervalHistogram();
        long next = beginNanos;
        long committedThen = committed.sum();
        long abortedThen = abortedInAll();
        while (broken == null && !finishing && next < endNanos) {
            long from = next;
            next = Math.min(endNanos, next + TimeUnit.SECONDS.toNanos(1));
            while (broken == null && !finishing && System.nanoTime() < next) {
                LockSupport.parkNanos(Math.min(FINISH_POLL_NANOS, next - System.nanoTime()));
            }
            second = recorder.getIntervalHistogram(second);
            if (all != null) {
                all.add(second);
            }
            long committedNow = committed.sum();
            long abortedNow = abortedInAll();
            progress.accept(String.format(
                    Locale.ROOT,
                    "%4d s %s%,9.0f/s   p50 %8.3f ms   p99 %8.3f ms   aborted %d",
                    Math.round((next - beginNanos) / 1e9),
                    all == null ? " warm-up" : "",
                    (committedNow - committedThen) / ((next - from) / 1e9),
                    second.getValueAtPercentile(50) / 1e6,
                    second.getValueAtPercentile(99) / 1e6,
                    abortedNow - abortedThen));
            committedThen = committedNow;
            abortedThen = abortedNow;
            everySecond.run();
        }
    }

    private void work(HikariDataSource pool, int client) {
        try {
            SplittableRandom random = bank.random(client);
            for (int number = 1; !stopping && number <= Acknowledged.NUMBER_MAX; number++) {
                transaction(pool, client, number, random);
            }
        } catch (RuntimeException e) {
            broken = e;
            stopping = true;
        }
    }

    private void transaction(HikariDataSource pool, int client, int number, SplittableRandom random) {
        long start = System.nanoTime();
        boolean done = false;
        try (Connection connection = pool.getConnection()) {
            try {
                bank.run(connection, random, acknowledged.name(client, number));
                done = true;
                succeeded(client, number, start);
            } catch (SQLException e) {
                failed(client, number, e);
                done = true;
                if (!connection.isClosed()) {
                    connection.rollback();
                }
            }
        } catch (SQLException e) {
            if (!done) {
                failed(client, number, e);
            }
        }
    }

    private void succeeded(int client, int number, long startNanos) {
        long now = System.nanoTime();
        acknowledged.acknowledged(client, number);
        committed.increment();
        recorder.recordValue(Math.min(LATENCY_NANOS_MAX, now - startNanos));
        long before = lastSuccessNanos.getAndAccumulate(now, Math::max);
        if (now - before > SILENCE_NANOS && silences.size() < SILENCES_KEPT) {
            silences.put(before, new Silence(before, now));
        }
    }

    private void failed(int client, int number, SQLException e) {
        String state = String.valueOf(e.getSQLState());
        if (state.equals("08007")) {
            unknown.increment();
            acknowledged.unknown(client, number);
        } else {
            aborted.computeIfAbsent(cause(state), any -> new LongAdder()).increment();
        }
        LockSupport.parkNanos(PAUSE_AFTER_FAILURE.toNanos());
    }

    private static String cause(String state) {
        String meaning = state.equals("40001")
                ? "conflict or change of primary, run again"
                : state.equals("25006")
                        ? "not the primary"
                        : state.startsWith("08") || state.startsWith("57P") ? "connection lost" : "error";
        return state + " " + meaning;
    }
}
