package org.gorda.bench.ladder;

import com.google.gson.Gson;
import com.google.gson.JsonSyntaxException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.io.Writer;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Base64;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.zip.DataFormatException;
import org.HdrHistogram.Histogram;
import org.gorda.bench.LoadReport;
import org.gorda.bench.LoadTest;
import org.gorda.bench.workload.BenchException;
import org.gorda.bench.workload.TpcB;
import org.jspecify.annotations.Nullable;

/**
 * A JVM of its own that has a TPC-B database in it, or a replica of one, and clients that run when they are told to. Orders and answers are
 * lines of JSON; it ends with its orders. Confined to one thread, but for {@link #close}.
 */
final class EmbeddedProcess implements AutoCloseable {

    private static final Gson JSON = new Gson();
    private static final long LATENCY_NANOS_MAX = Duration.ofMinutes(10).toNanos();
    private static final int DIGITS = 3;

    /** Instead of an answer: the measured time begins, or ends. */
    private static final String MARK = "mark";

    /** A backup, no table yet, or a change of the primary. */
    private static final Set<String> NOT_NOW = Set.of("25006", "42X05", "42P01", "42S02", "42S04", "40001");

    private static final Duration END_WAIT = Duration.ofSeconds(20);

    /** Until all connections are there. */
    private static final Duration CONNECTED = Duration.ofMillis(500);

    /** What it is to do. */
    enum Task {
        /** To make the bank if it is not there. */
        LOAD,
        /** To tell whether it takes writes. */
        ASK,
        RUN,
        /** To read the sums. */
        SUM,
        /** To read all rows. */
        CHECKSUM
    }

    private record Order(Task task, int clients, long millis, long seed) {}

    /**
     * What it has done. Immutable.
     *
     * @param cpuMicros processor time of this process for a committed transaction
     * @param histogram of latencies in nanoseconds, encoded
     * @param failures aborts that were no refusals, by cause; null if it has not run
     * @param error what went wrong, null if nothing did
     */
    record Answer(
            boolean writes,
            double perS,
            long committed,
            double abortedShare,
            double cpuMicros,
            @Nullable String histogram,
            @Nullable Map<String, Long> failures,
            TpcB.@Nullable Sums sums,
            @Nullable Map<String, Long> checksums,
            @Nullable String error) {

        static Answer failed(String error) {
            return new Answer(false, 0, 0, 0, 0, null, null, null, null, error);
        }

        /** Adds its latencies to others. */
        void addTo(Histogram sum) {
            if (histogram != null) {
                try {
                    sum.add(Histogram.decodeFromCompressedByteBuffer(
                            ByteBuffer.wrap(Base64.getDecoder().decode(histogram)), LATENCY_NANOS_MAX));
                } catch (DataFormatException e) {
                    throw new BenchException("a measured process answers nonsense", e);
                }
            }
        }
    }

    static Histogram newHistogram() {
        return new Histogram(LATENCY_NANOS_MAX, DIGITS);
    }

    private final String name;
    private final Path log;
    private final Process process;
    private final BufferedReader answers;
    private final Writer orders;

    /** Starts it. */
    EmbeddedProcess(String name, Path directory, String url, Ladder.Load load, String heap) {
        this.name = name;
        this.log = directory.resolve("process.log");
        try {
            Files.createDirectories(directory);
            process = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-ea",
                            "-Xms" + heap,
                            "-Xmx" + heap,
                            "-XX:+ExitOnOutOfMemoryError",
                            "-Dderby.stream.error.file=" + directory.resolve("derby.log"),
                            "-cp",
                            System.getProperty("java.class.path"),
                            EmbeddedProcess.class.getName(),
                            url,
                            JSON.toJson(load))
                    .redirectError(log.toFile())
                    .start();
        } catch (IOException e) {
            throw new BenchException(name + " cannot be started: " + e, e);
        }
        answers = process.inputReader(StandardCharsets.UTF_8);
        orders = process.outputWriter(StandardCharsets.UTF_8);
    }

    /** Has it begin something; {@link #answer} waits for its end. */
    void order(Task task) {
        order(task, 0, Duration.ZERO, 0);
    }

    /** Has clients run. */
    void order(int clients, Duration time, long seed) {
        order(Task.RUN, clients, time, seed);
    }

    private void order(Task task, int clients, Duration time, long seed) {
        try {
            orders.write(JSON.toJson(new Order(task, clients, time.toMillis(), seed)) + "\n");
            orders.flush();
        } catch (IOException e) {
            throw ended(e);
        }
    }

    /** @throws BenchException if it failed or has ended */
    Answer answer() {
        return answer(() -> {});
    }

    /** @param mark called when the measured time begins and when it ends */
    Answer answer(Runnable mark) {
        try {
            String line = answers.readLine();
            while (MARK.equals(line)) {
                mark.run();
                line = answers.readLine();
            }
            if (line == null) {
                throw ended(null);
            }
            Answer answer = JSON.fromJson(line, Answer.class);
            if (answer.error() != null) {
                throw new BenchException(name + ": " + answer.error());
            }
            return answer;
        } catch (IOException | JsonSyntaxException e) {
            throw ended(e);
        }
    }

    Answer ask(Task task) {
        order(task);
        return answer();
    }

    private BenchException ended(@Nullable Exception cause) {
        return new BenchException(name + " has ended or answers nonsense: see " + log, cause);
    }

    /** What it has used of the processors' time. */
    Duration cpu() {
        return process.info()
                .totalCpuDuration()
                .orElseThrow(() -> new BenchException("this system does not tell how much processor time was used"));
    }

    /** Ends it, for any thread. What it has is of no use any more. */
    @Override
    public void close() {
        process.destroyForcibly();
        try {
            process.waitFor(END_WAIT.toMillis(), TimeUnit.MILLISECONDS); // it may still write files
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    // -------------------------------------------------------------------------------------------- in the process
    // itself

    /** The process: URL and load. */
    public static void main(String[] arguments) throws IOException {
        PrintStream out = System.out;
        System.setOut(System.err); // answers only
        String url = arguments[0];
        TpcB bank = JSON.fromJson(arguments[1], Ladder.Load.class).bank();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            Answer answer;
            try {
                answer = execute(JSON.fromJson(line, Order.class), url, bank, out);
            } catch (SQLException | RuntimeException e) {
                e.printStackTrace();
                answer = Answer.failed(e.toString());
            }
            out.println(JSON.toJson(answer));
            out.flush();
        }
        System.exit(0); // also if the database has threads of its own
    }

    private static Answer execute(Order order, String url, TpcB bank, PrintStream out) throws SQLException {
        return switch (order.task()) {
            case LOAD -> load(url, bank);
            case ASK -> new Answer(writes(url), 0, 0, 0, 0, null, null, null, null, null);
            case RUN -> run(order, url, bank, out);
            case SUM -> sum(url);
            case CHECKSUM -> checksum(url);
        };
    }

    private static Answer load(String url, TpcB bank) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url)) {
            bank.load(connection, (rows, ofAll) -> {});
        }
        return new Answer(true, 0, 0, 0, 0, null, null, null, null, null);
    }

    private static boolean writes(String url) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            try {
                statement.executeUpdate("DELETE FROM history WHERE filler = ''");
                statement.executeUpdate("UPDATE branches SET bbalance = bbalance WHERE bid = 0");
                return true;
            } catch (SQLException e) {
                if (!NOT_NOW.contains(e.getSQLState())) {
                    throw e;
                }
                return false;
            } finally {
                connection.rollback();
            }
        }
    }

    private static Answer run(Order order, String url, TpcB bank, PrintStream out) {
        Histogram latencies = newHistogram();
        LoadTest test = LoadTest.of(bank)
                .target(url)
                .clients(order.clients())
                .seed(order.seed())
                .warmUp(CONNECTED)
                .duration(Duration.ofMillis(order.millis()))
                .prepared()
                .processorClock(() -> {
                    out.println(MARK);
                    out.flush();
                    return Duration.ZERO;
                })
                .histograms(latencies::add);
        LoadReport report = test.run();
        ByteBuffer encoded = ByteBuffer.allocate(latencies.getNeededByteBufferCapacity());
        int length = latencies.encodeIntoCompressedByteBuffer(encoded);
        byte[] bytes = new byte[length];
        encoded.flip().get(bytes);
        return new Answer(
                true,
                report.throughputPerS(),
                report.committed(),
                report.abortedShare(),
                report.cpuMicros(),
                Base64.getEncoder().encodeToString(bytes),
                report.failures(),
                null,
                null,
                null);
    }

    private static Answer sum(String url) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.setAutoCommit(false);
            connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
            TpcB.Sums sums = TpcB.sums(connection);
            connection.rollback();
            return new Answer(true, 0, 0, 0, 0, null, null, sums, null, null);
        }
    }

    private static Answer checksum(String url) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.setAutoCommit(false);
            Map<String, Long> checksums = TpcB.checksums(connection);
            connection.rollback();
            return new Answer(true, 0, 0, 0, 0, null, null, null, checksums, null);
        }
    }
}
