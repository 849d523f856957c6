package org.gorda.bench;

import com.sun.management.OperatingSystemMXBean;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStream;
import java.io.Writer;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicLong;
import org.gorda.bench.workload.TpcB;
import org.gorda.bench.workload.Workload;

/**
 * What the reflection API costs: CPU time per TPC-B transaction of an embedded, in-memory Derby with {@code protocol=loopback}
 * (everything is captured and encoded, and answered at once) as a ratio to the same Derby without GORDA.
 *
 * <p>In each round two JVMs are started, one of each kind, warmed up, and then take turns of some seconds, so that what else the machine
 * does falls on both; the CPU time is that of the whole process. A round's ratio is the median of its turns', the result the median of
 * the rounds.
 *
 * <p>Run it as {@code java -cp 'replicator/cli/target/lib/*' org.gorda.bench.LoopbackCost [CLIENTS] [ROUNDS]}.
 */
public final class LoopbackCost {

    private static final String PLAIN = "jdbc:derby:memory:bank;create=true";
    private static final String LOOPBACK = "jdbc:gorda:derby:memory:bank;protocol=loopback";
    private static final int WARM_UP = 12;
    private static final int TURNS = 20;
    private static final int TRANSACTIONS = 5_000;

    private LoopbackCost() {}

    /** Measures and prints. */
    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 3 && arguments[0].equals("measure")) {
            measure(arguments[1], Integer.parseInt(arguments[2]));
            return;
        }
        int clients = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 1;
        int rounds = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 5;
        List<Double> ratios = new ArrayList<>();
        for (int round = 0; round < rounds; round++) {
            ratios.add(round(clients));
        }
        System.out.printf(Locale.ROOT, "%d clients: median of %d rounds %.3f%n", clients, rounds, median(ratios));
    }

    private static double round(int clients) throws IOException {
        List<Double> plain = new ArrayList<>();
        List<Double> loopback = new ArrayList<>();
        List<Double> ratios = new ArrayList<>();
        try (Measured a = new Measured(PLAIN, clients);
                Measured b = new Measured(LOOPBACK, clients)) {
            for (int turn = 0; turn < WARM_UP + TURNS; turn++) {
                boolean plainFirst = turn % 2 == 0;
                double first = (plainFirst ? a : b).turn();
                double second = (plainFirst ? b : a).turn();
                if (turn >= WARM_UP) {
                    plain.add(plainFirst ? first : second);
                    loopback.add(plainFirst ? second : first);
                    ratios.add(plainFirst ? second / first : first / second);
                }
            }
        }
        System.out.printf(
                Locale.ROOT,
                "%d clients: plain %.1f us, loopback %.1f us of CPU per transaction; ratio %.3f (quarters %.3f to %.3f)%n",
                clients,
                median(plain),
                median(loopback),
                median(ratios),
                quantile(ratios, 0.25),
                quantile(ratios, 0.75));
        return median(ratios);
    }

    private static double median(List<Double> values) {
        return quantile(values, 0.5);
    }

    private static double quantile(List<Double> values, double part) {
        return values.stream().sorted().toList().get((int) (part * (values.size() - 1)));
    }

    /** A JVM that runs as many transactions as it is told to and answers what they cost. */
    private static final class Measured implements AutoCloseable {
        private final Process process;
        private final BufferedReader answers;
        private final Writer orders;

        Measured(String url, int clients) throws IOException {
            process = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-Xms1g",
                            "-Xmx1g",
                            "-XX:+UseSerialGC",
                            "-Dderby.stream.error.field=" + LoopbackCost.class.getName() + ".NOWHERE",
                            "-cp",
                            System.getProperty("java.class.path"),
                            LoopbackCost.class.getName(),
                            "measure",
                            url,
                            Integer.toString(clients))
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
            answers = process.inputReader(StandardCharsets.UTF_8);
            orders = process.outputWriter(StandardCharsets.UTF_8);
        }

        double turn() throws IOException {
            orders.write("go\n");
            orders.flush();
            String answer = answers.readLine();
            if (answer == null) {
                throw new BenchException("a measured process has ended");
            }
            return Double.parseDouble(answer);
        }

        @Override
        public void close() {
            process.destroy();
        }
    }

    /** Derby's log goes here. */
    public static final OutputStream NOWHERE = OutputStream.nullOutputStream();

    /** For each line it reads, prints the microseconds of CPU per transaction. */
    private static void measure(String url, int clients) throws SQLException, IOException, InterruptedException {
        TpcB bank = TpcB.of(1);
        try (Connection connection = DriverManager.getConnection(url)) {
            bank.load(connection, (rows, ofAll) -> {});
        }
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (int run = 1; orders.readLine() != null; run++) {
            long before = system.getProcessCpuTime();
            run(bank, url, clients, TRANSACTIONS, run);
            System.out.printf(Locale.ROOT, "%.3f%n", (system.getProcessCpuTime() - before) / 1e3 / TRANSACTIONS);
            System.out.flush();
        }
    }

    private static void run(TpcB bank, String url, int clients, int count, int run) throws InterruptedException {
        AtomicLong left = new AtomicLong(count);
        Acknowledged names = new Acknowledged(run);
        List<Thread> threads = new ArrayList<>();
        for (int client = 0; client < clients; client++) {
            int number = client;
            Thread thread = new Thread(() -> work(bank, url, number, names, left));
            thread.start();
            threads.add(thread);
        }
        for (Thread thread : threads) {
            thread.join();
        }
    }

    private static void work(TpcB bank, String url, int client, Acknowledged names, AtomicLong left) {
        SplittableRandom random = new SplittableRandom(client);
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.setAutoCommit(false);
            for (int number = 1; left.getAndDecrement() > 0; number++) {
                bank.run(connection, new Workload.Choices(client, random, names.name(client, number)));
            }
        } catch (SQLException e) {
            throw new BenchException("a client failed: " + e.getMessage(), e);
        }
    }
}
