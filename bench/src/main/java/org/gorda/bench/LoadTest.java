package org.gorda.bench;

import com.sun.management.OperatingSystemMXBean;
import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.lang.management.ManagementFactory;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
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
import java.util.stream.Collectors;
import org.HdrHistogram.Histogram;
import org.HdrHistogram.Recorder;
import org.gorda.bench.workload.BenchException;
import org.gorda.bench.workload.Workload;
import org.gorda.replicator.node.NodeClient;
import org.jspecify.annotations.Nullable;

/**
 * Clients that run transactions of a workload, each on a connection that it takes from a HikariCP pool for each transaction, as
 * applications do. Closed loop: a client waits for the answer before its next transaction. Open loop, with a {@link #rate}:
 * transactions are to begin at constant intervals, whatever became of those before, and their latency counts from then, also if all
 * clients are busy; of those that still have not begun when the time is over there is none, and they are counted. Clients can be of
 * several groups, each with a workload of its own. Confined to one thread.
 */
public final class LoadTest {

    /** A time in which no transaction of any client was acknowledged, by {@link System#nanoTime}. Immutable. */
    public record Silence(long beginNanos, long endNanos) {
        public long millis() {
            return TimeUnit.NANOSECONDS.toMillis(endNanos - beginNanos);
        }
    }

    private static final long SILENCE_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final long LOADED_POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(5);
    private static final long STOP_POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    private static final int SILENCES_KEPT = 10_000;
    private static final Duration CONNECTION_WAIT = Duration.ofSeconds(60);
    private static final Duration PAUSE_AFTER_FAILURE = Duration.ofMillis(1);
    private static final String CONFLICT = "40001";
    private static final String READ_ONLY = "25006";
    private static final String CONNECTION_LOST = "08";
    private static final int LOAD_TRIES = 5;
    private static final String OUTCOME_UNKNOWN = "08007";

    /** What Derby says in a replica's own JVM to who reads rows of a transaction that was refused meanwhile. */
    private static final String ROWS_CLOSED = "XCL16";

    /** Student's t, both sides, with 1 to 9 degrees of freedom; beyond, nearly, by the normal distribution. */
    private static final double[] STUDENT_95 = {12.71, 4.30, 3.18, 2.78, 2.57, 2.45, 2.36, 2.31, 2.26};

    private static final double NORMAL_95 = 1.96;

    /** A client may be in a call that the database's driver does not end. */
    private static final Duration END_WAIT = Duration.ofMinutes(5);

    /** One of all clients, who may be the third of the second group. Immutable. */
    private record Client(int number, ClientGroup group, int ofGroup) {}

    private static final int CLIENTS_MAX = 9_999;

    private final List<ClientGroup> groups = new ArrayList<>();
    private List<String> urls = List.of();
    private String user = "";
    private String password = "";
    private long seed = 1;
    private int retries;
    private boolean prepared;
    private Map<String, String> parameters = Map.of();
    private Duration warmUp = Duration.ZERO;
    private Duration duration = Duration.ofSeconds(10);
    private Consumer<String> progress = line -> {};
    private Runnable everySecond = () -> {};
    private Consumer<Histogram> everyHistogram = histogram -> {};
    private @Nullable Supplier<Duration> processorClock;
    private List<String> services = List.of();
    private @Nullable Elsewhere elsewhere;

    private final Acknowledged acknowledged =
            new Acknowledged(ThreadLocalRandom.current().nextInt());
    private final Timeline timeline = new Timeline();
    private final Recorder service = new Recorder(Timeline.LATENCY_NANOS_MAX, Timeline.DIGITS);
    private final LongAdder retried = new LongAdder();
    private final LongAdder unknown = new LongAdder();
    private final Map<String, LongAdder> aborted = new ConcurrentHashMap<>();
    private final AtomicLong lastSuccessNanos = new AtomicLong();
    private final ConcurrentSkipListMap<Long, Silence> silences = new ConcurrentSkipListMap<>();
    private volatile boolean stopping;
    private volatile boolean finishing;
    private volatile @Nullable Throwable broken;

    /** Where transactions run that do not run on connections of this JVM. Thread-safe. */
    interface Elsewhere {

        /**
         * Runs one transaction of the workload.
         *
         * @param drawn what its choices come from
         * @param name of the transaction
         * @throws SQLException if it is not known to be committed; with 08007 if nobody knows, otherwise it is not
         */
        void run(int client, long drawn, String name) throws SQLException;
    }

    private LoadTest() {}

    /** With one group of clients. */
    public static LoadTest of(Workload workload) {
        return new LoadTest().group("all", workload);
    }

    /** With no clients yet. */
    static LoadTest empty() {
        return new LoadTest();
    }

    /** One more group of clients, at the same time; what is said of clients from here on is said of these. */
    LoadTest group(String name, Workload workload) {
        groups.add(new ClientGroup(name, workload));
        return this;
    }

    private ClientGroup last() {
        return groups.get(groups.size() - 1);
    }

    /** The database's JDBC URL, or several: each client uses one of them, in turns. */
    public LoadTest target(String... jdbcUrls) {
        urls = List.of(jdbcUrls);
        return this;
    }

    /** By whom the database is used; nobody if the user is empty. */
    public LoadTest as(String userName, String userPassword) {
        user = userName;
        password = userPassword;
        return this;
    }

    /** Of the clients' random choices. */
    public LoadTest seed(long number) {
        seed = number;
        return this;
    }

    /** How many clients at once, 1 to 9,999. */
    public LoadTest clients(int count) {
        last().clients(count);
        int all = groups.stream().mapToInt(ClientGroup::clients).sum();
        if (count < 1 || all > CLIENTS_MAX) {
            throw new BenchException("clients is " + count + (all == count ? "" : ", " + all + " of all groups,")
                    + " but must be 1 to " + CLIENTS_MAX);
        }
        return this;
    }

    /** Has so many clients begin at first, and so many more each time; the warm-up begins when all have. */
    public LoadTest ramp(int step, Duration every) {
        if (step < 1) {
            throw new BenchException("ramp-step is " + step + " but must be at least 1");
        }
        last().ramp(step, every);
        return this;
    }

    /** How long a client waits after each transaction. */
    public LoadTest think(Duration time) {
        last().think(time);
        return this;
    }

    /** How many transactions are to begin each second, of all clients together. */
    public LoadTest rate(double perSecond) {
        if (!(perSecond > 0 && perSecond <= 10_000_000)) {
            throw new BenchException("rate is " + perSecond + " but must be above 0 and at most 10000000");
        }
        last().rate(perSecond);
        return this;
    }

    /** How often a transaction that was refused with 40001 is run again, with the same choices. */
    public LoadTest retries(int count) {
        retries = count;
        return this;
    }

    /** What was chosen, for the report. */
    LoadTest parameters(Map<String, String> chosen) {
        parameters = chosen;
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
            throw new BenchException("duration is " + time.toMillis() + " ms but must be at least 1 ms");
        }
        duration = time;
        return this;
    }

    /** The tables are there everywhere, and somebody else checks them in the end. */
    public LoadTest prepared() {
        prepared = true;
        return this;
    }

    /** Has all transactions run somewhere else, where the tables are there, and somebody else checks them in the end; there is no {@link #target}. */
    LoadTest elsewhere(Elsewhere place) {
        elsewhere = place;
        return prepared();
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

    /** How long the load runs in all. */
    Duration length() {
        return ramp().plus(warmUp).plus(duration);
    }

    private Duration ramp() {
        return Duration.ofNanos(
                groups.stream().mapToLong(ClientGroup::rampNanos).max().orElse(0));
    }

    private List<Client> clients() {
        List<Client> all = new ArrayList<>();
        for (ClientGroup group : groups) {
            for (int client = 0; client < group.clients(); client++) {
                all.add(new Client(all.size(), group, client));
            }
        }
        return all;
    }

    /** Gets the latencies of each second that is measured, which are reused after that. */
    public LoadTest histograms(Consumer<Histogram> consumer) {
        everyHistogram = consumer;
        return this;
    }

    /** What tells how much processor time the database has used; read at the beginning and the end of what is measured. */
    public LoadTest processorClock(Supplier<Duration> clock) {
        processorClock = clock;
        return this;
    }

    /** Where replicas tell of themselves, if the URLs do not say it. */
    public LoadTest services(List<String> addresses) {
        services = List.copyOf(addresses);
        return this;
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
     * Makes the tables if they are not there, runs the load, and checks what must hold.
     *
     * @throws BenchException if the database cannot be reached or a client breaks down
     */
    public LoadReport run() {
        List<Client> clients = clients();
        List<HikariDataSource> pools = new ArrayList<>();
        try {
            for (String url : urls) {
                pools.add(pool(url, (clients.size() + urls.size() - 1) / urls.size()));
            }
            if (!prepared) {
                for (ClientGroup group : groups) {
                    load(pools.get(0), group.workload());
                }
                awaitLoaded(pools, clients);
            }
            return run(pools, clients);
        } catch (SQLException e) {
            throw new BenchException("SQLSTATE " + e.getSQLState() + ": " + e.getMessage(), e);
        } finally {
            pools.forEach(HikariDataSource::close);
        }
    }

    private HikariDataSource pool(String url, int connections) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        if (!user.isEmpty()) {
            config.setUsername(user);
            config.setPassword(password);
        }
        config.setMaximumPoolSize(connections);
        config.setAutoCommit(false);
        config.setConnectionTimeout(CONNECTION_WAIT.toMillis());
        config.setPoolName("load");
        return new HikariDataSource(config);
    }

    private void load(HikariDataSource pool, Workload workload) throws SQLException {
        long[] told = {System.nanoTime()};
        load(pool::getConnection, workload, progress, (rows, ofAll) -> {
            if (System.nanoTime() - told[0] > TimeUnit.SECONDS.toNanos(1)) {
                told[0] = System.nanoTime();
                progress.accept(String.format(Locale.ROOT, "loading     %,d of %,d rows", rows, ofAll));
            }
        });
    }

    /** Where a connection comes from. */
    public interface Connector {
        Connection connect() throws SQLException;
    }

    /**
     * Fills the tables of a workload as far as they are not there; goes on with another connection if the primary changes meanwhile.
     *
     * @param progress is told of that
     */
    public static void load(Connector connector, Workload workload, Consumer<String> progress, Workload.Loading loading)
            throws SQLException {
        for (int tries = 1; ; tries++) {
            try (Connection connection = connector.connect()) {
                workload.load(connection, loading);
                return;
            } catch (SQLException e) {
                String state = String.valueOf(e.getSQLState());
                boolean isNotNow = Set.of(CONFLICT, READ_ONLY).contains(state) || state.startsWith(CONNECTION_LOST);
                if (tries == LOAD_TRIES || !isNotNow) {
                    throw e;
                }
                progress.accept("loading     again after SQLSTATE " + state + ": " + e.getMessage());
            }
        }
    }

    /** Clients' connections go to several replicas, and one may show a little later what was loaded on another one. */
    private void awaitLoaded(List<HikariDataSource> pools, List<Client> clients) throws SQLException {
        long begin = System.nanoTime();
        List<Connection> all = new ArrayList<>();
        try {
            for (Client client : clients) {
                Connection connection = pool(pools, client).getConnection();
                all.add(connection);
                while (!client.group().workload().isLoaded(connection)) {
                    if (System.nanoTime() - begin > CONNECTION_WAIT.toNanos()) {
                        throw new BenchException("after " + CONNECTION_WAIT.toSeconds() + " s " + connection
                                + " still does not show all that was loaded");
                    }
                    connection.rollback();
                    LockSupport.parkNanos(LOADED_POLL_NANOS);
                }
                connection.rollback();
            }
        } finally {
            for (Connection connection : all) {
                connection.close();
            }
        }
    }

    private static HikariDataSource pool(List<HikariDataSource> pools, Client client) {
        return pools.get(client.number() % pools.size());
    }

    private LoadReport run(List<HikariDataSource> pools, List<Client> clients) throws SQLException {
        long begin = System.nanoTime();
        lastSuccessNanos.set(begin);
        List<Thread> threads = new ArrayList<>();
        List<String> asked = services.isEmpty() ? GroupWatch.replicas(urls) : services;
        NodeClient client = GroupWatch.client(urls);
        try (GroupWatch replicas = new GroupWatch(asked, client)) {
            for (Client one : clients) {
                Thread thread = new Thread(() -> work(pools, one, begin), "client-" + one.number());
                thread.setDaemon(true);
                thread.start();
                threads.add(thread);
            }
            watch(begin, begin + ramp().plus(warmUp).toNanos(), null);
            try (ProbedReplicas probed = ProbedReplicas.of(asked, client)) {
                return measure(pools, threads, begin, replicas, probed);
            }
        } finally {
            stop(threads);
        }
    }

    private LoadReport measure(
            List<HikariDataSource> pools,
            List<Thread> threads,
            long beginNanos,
            GroupWatch replicas,
            ProbedReplicas probed)
            throws SQLException {
        Histogram all = new Histogram(Timeline.LATENCY_NANOS_MAX, Timeline.DIGITS);
        Supplier<Duration> clock = processorClock;
        Duration usedBefore = clock == null ? Duration.ZERO : clock.get(); // takes a while
        long cpuBefore = cpuNanos();
        timeline.endSecond(); // what has come since the last one of the warm-up is not measured
        groups.forEach(ClientGroup::reset);
        int secondsBefore = timeline.seconds().size();
        Map<String, Long> before = abortedNow();
        long unknownBefore = unknown.sum();
        long retriedBefore = retried.sum();
        service.reset();
        long measured = System.nanoTime();
        watch(measured, measured + duration.toNanos(), all);
        long end = System.nanoTime();
        groups.forEach(group -> group.end(beginNanos, end));
        Histogram served = service.getIntervalHistogram();
        double seconds = (end - measured) / 1e9;
        long cpuNanos = cpuNanos() - cpuBefore;
        Duration used = clock == null ? Duration.ZERO : clock.get().minus(usedBefore);
        Map<String, Long> causes = abortedNow();
        before.forEach((cause, earlier) -> causes.computeIfPresent(cause, (any, now) -> now - earlier));
        causes.values().removeIf(value -> value == 0);
        long unknownNow = unknown.sum() - unknownBefore;
        long retriedNow = retried.sum() - retriedBefore;
        List<LoadReport.Group> each = groups.size() == 1
                ? List.of()
                : groups.stream().map(group -> group.report(seconds)).toList();
        CommitCost cost = probed.cost();
        List<Timeline.Second> line = List.copyOf(
                timeline.seconds().subList(secondsBefore, timeline.seconds().size()));
        stop(threads);
        long committed = all.getTotalCount();
        double perS = committed / seconds;
        double margin = margin(line);
        Latencies latency = Latencies.of(all);
        Workload first = groups.get(0).workload();
        Duration limit = first.responseLimit();
        Double rate = rate();
        return new LoadReport(
                first.kind().name(),
                parameters,
                groups.stream().mapToInt(ClientGroup::clients).sum(),
                Math.round(seconds * 1e3) / 1e3,
                rate,
                committed,
                rounded(perS),
                rounded(Math.max(0, perS - margin)),
                rounded(perS + margin),
                causes,
                retriedNow,
                unknownNow,
                groups.stream().mapToLong(ClientGroup::notBegun).sum(),
                latency,
                rate == null ? null : Latencies.of(served),
                rounded(cpuNanos / 1e3 / Math.max(1, committed)),
                clock == null ? null : rounded(used.toNanos() / 1e3 / Math.max(1, committed)),
                cost,
                limit == null ? null : committed > 0 && latency.p90() <= limit.toNanos() / 1e6,
                prepared ? new Workload.Check(true, "") : check(pools.get(0)),
                each,
                line,
                replicas.events(measured, end));
    }

    /** Of all groups; null if one has none. */
    private @Nullable Double rate() {
        double sum = 0;
        for (ClientGroup group : groups) {
            Double rate = group.rate();
            if (rate == null) {
                return null;
            }
            sum += rate;
        }
        return sum;
    }

    static double rounded(double value) {
        return Math.round(value * 10) / 10.0;
    }

    private static long cpuNanos() {
        return ((OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean()).getProcessCpuTime();
    }

    /** Half of the interval that holds the mean throughput, of whole seconds. */
    private double margin(List<Timeline.Second> all) {
        List<Timeline.Second> line = all.subList(0, (int) Math.min(all.size(), duration.toSeconds()));
        int count = line.size();
        if (count < 2) {
            return 0;
        }
        double mean =
                line.stream().mapToLong(Timeline.Second::committed).average().orElse(0);
        double squares = line.stream()
                .mapToDouble(second -> (second.committed() - mean) * (second.committed() - mean))
                .sum();
        int freedom = count - 1;
        double quantile = freedom <= STUDENT_95.length ? STUDENT_95[freedom - 1] : NORMAL_95 + 2.5 / freedom;
        return quantile * Math.sqrt(squares / (count - 1) / count);
    }

    /**
     * Checks again if the primary changes meanwhile. What was committed on another replica may become visible between two queries of a check:
     * at REPEATABLE READ it does not, and on Derby, where new rows would, at SERIALIZABLE it waits for them.
     */
    private Workload.Check check(HikariDataSource pool) throws SQLException {
        long begin = System.nanoTime();
        while (true) {
            try (Connection connection = pool.getConnection()) {
                connection.setTransactionIsolation(
                        connection.getMetaData().getDatabaseProductName().equals("Apache Derby")
                                ? Connection.TRANSACTION_SERIALIZABLE
                                : Connection.TRANSACTION_REPEATABLE_READ);
                List<Workload.Check> checks = new ArrayList<>();
                for (ClientGroup group : groups) {
                    checks.add(group.workload().check(connection));
                }
                connection.rollback();
                return new Workload.Check(
                        checks.stream().allMatch(Workload.Check::consistent),
                        checks.stream().map(Workload.Check::text).distinct().collect(Collectors.joining("; ")));
            } catch (SQLException e) {
                if (cause(e.getSQLState()).endsWith(" error")
                        || System.nanoTime() - begin > CONNECTION_WAIT.toNanos()) {
                    throw e;
                }
            }
        }
    }

    private void stop(List<Thread> threads) {
        stopping = true;
        long end = System.nanoTime() + END_WAIT.toNanos();
        for (Thread thread : threads) {
            try {
                thread.join(Math.max(1, TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime())));
                if (thread.isAlive()) {
                    throw new BenchException(thread.getName() + " has not ended within " + END_WAIT.toMinutes()
                            + " min: it is in " + List.of(thread.getStackTrace()));
                }
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
        long next = beginNanos;
        while (broken == null && !finishing && next < endNanos) {
            long from = next;
            next = Math.min(endNanos, next + TimeUnit.SECONDS.toNanos(1));
            while (broken == null && !finishing && System.nanoTime() < next) {
                LockSupport.parkNanos(Math.min(STOP_POLL_NANOS, next - System.nanoTime()));
            }
            Timeline.Second second = timeline.endSecond();
            groups.forEach(ClientGroup::endSecond);
            if (all != null) {
                all.add(timeline.latencies());
                everyHistogram.accept(timeline.latencies());
            }
            progress.accept(String.format(
                    Locale.ROOT,
                    "%4d s %s%,9.0f/s   p50 %8s ms   p99 %8s ms   aborted %d",
                    Math.round((next - beginNanos) / 1e9),
                    all == null ? " warm-up" : "",
                    second.committed() / ((next - from) / 1e9),
                    millis(second.p50Ms()),
                    millis(second.p99Ms()),
                    second.failed()));
            everySecond.run();
        }
    }

    /** None if nothing was committed. */
    private static String millis(@Nullable Double latency) {
        return latency == null ? "-" : String.format(Locale.ROOT, "%.3f", latency);
    }

    private void work(List<HikariDataSource> pools, Client client, long beginNanos) {
        try {
            ClientGroup group = client.group();
            SplittableRandom random = new SplittableRandom(seed * 31 + client.number());
            pause(beginNanos + group.rampNanos(client.ofGroup()));
            for (int number = 1; !stopping && number <= Acknowledged.NUMBER_MAX; number++) {
                long scheduled = group.nextNanos(beginNanos);
                pause(scheduled);
                transaction(pools, client, number, random.nextLong(), scheduled);
                if (!group.think().isZero()) {
                    pause(System.nanoTime() + group.think().toNanos());
                }
            }
        } catch (RuntimeException | Error e) {
            broken = e;
            stopping = true;
        }
    }

    private void pause(long untilNanos) {
        while (!stopping) {
            long left = untilNanos - System.nanoTime();
            if (left <= 0) {
                return;
            }
            LockSupport.parkNanos(Math.min(left, STOP_POLL_NANOS));
        }
    }

    private void transaction(List<HikariDataSource> pools, Client client, int number, long drawn, long scheduledNanos) {
        if (stopping) {
            return;
        }
        long start = System.nanoTime();
        int attempt = 0;
        Elsewhere place = elsewhere;
        while (place == null
                ? !attempt(pool(pools, client), client, number, drawn, scheduledNanos, start, attempt)
                : !attempt(place, client, number, drawn, scheduledNanos, start, attempt)) {
            attempt++;
        }
    }

    /** False if it is to be run again. */
    private boolean attempt(
            Elsewhere place, Client client, int number, long drawn, long scheduledNanos, long startNanos, int attempt) {
        try {
            place.run(client.number(), drawn, acknowledged.name(client.number(), number));
            succeeded(client, number, scheduledNanos, startNanos);
            return true;
        } catch (SQLException e) {
            boolean again = isRunAgain(e, attempt);
            failed(client, number, e, again, isOpen(e.getSQLState()));
            return !again;
        }
    }

    /** False if it is to be run again. */
    private boolean attempt(
            HikariDataSource pool,
            Client client,
            int number,
            long drawn,
            long scheduledNanos,
            long startNanos,
            int attempt) {
        boolean answered = false;
        boolean again = false;
        try (Connection connection = pool.getConnection()) {
            try {
                client.group()
                        .workload()
                        .run(
                                connection,
                                new Workload.Choices(
                                        client.number(),
                                        new SplittableRandom(drawn),
                                        acknowledged.name(client.number(), number)));
                answered = true;
                succeeded(client, number, scheduledNanos, startNanos);
            } catch (SQLException e) {
                again = isRunAgain(e, attempt);
                failed(client, number, e, again, isOpen(e.getSQLState()));
                answered = true;
                if (!connection.isClosed()) {
                    connection.rollback();
                }
            }
        } catch (SQLException e) {
            if (!answered) {
                failed(client, number, e, false, false);
            }
        }
        return !again;
    }

    private boolean isRunAgain(SQLException e, int attempt) {
        return attempt < retries && !stopping && isRefusal(e.getSQLState());
    }

    private void succeeded(Client client, int number, long scheduledNanos, long startNanos) {
        long now = System.nanoTime();
        acknowledged.acknowledged(client.number(), number);
        timeline.committed(now - scheduledNanos);
        client.group().committed(now - scheduledNanos);
        if (client.group().rate() != null) {
            service.recordValue(Math.min(Timeline.LATENCY_NANOS_MAX, now - startNanos));
        }
        long before = lastSuccessNanos.getAndAccumulate(now, Math::max);
        if (now - before > SILENCE_NANOS && silences.size() < SILENCES_KEPT) {
            silences.put(before, new Silence(before, now));
        }
    }

    /** Whether a failure leaves open if the transaction is committed. Other drivers than ours do not tell, of a connection that is lost. */
    private boolean isOpen(@Nullable String state) {
        return OUTCOME_UNKNOWN.equals(state)
                || (isLost(state) && !urls.stream().allMatch(url -> url.startsWith("jdbc:gorda:")));
    }

    private void failed(Client client, int number, SQLException e, boolean again, boolean open) {
        String state = e.getSQLState();
        if (again) {
            retried.increment();
        } else if (open) {
            unknown.increment();
            timeline.unknown();
            acknowledged.unknown(client.number(), number);
        } else {
            timeline.failed();
            client.group().failed();
            if (isLost(state)) {
                timeline.noConnection();
            }
            aborted.computeIfAbsent(cause(state), any -> new LongAdder()).increment();
        }
        LockSupport.parkNanos(PAUSE_AFTER_FAILURE.toNanos());
    }

    private static boolean isRefusal(@Nullable String state) {
        return CONFLICT.equals(state) || ROWS_CLOSED.equals(state);
    }

    private static boolean isLost(@Nullable String state) {
        return state != null && (state.startsWith(CONNECTION_LOST) || state.startsWith("57P"));
    }

    private static String cause(@Nullable String state) {
        if (state == null) {
            return "no SQLSTATE, error";
        }
        String meaning = isRefusal(state)
                ? LoadReport.REFUSED
                : state.equals("25006") ? "not the primary" : isLost(state) ? "connection lost" : "error";
        return state + " " + meaning;
    }
}
