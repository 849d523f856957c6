package org.gorda.bench;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
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

/**
 * What the reflection API costs: CPU time per TPC-B transaction of an embedded, in-memory Derby with {@code protocol=loopback}
 * (everything is captured and encoded, and answered at once) as a ratio to the same Derby without GORDA. Each measurement is a JVM of
 * its own; the two kinds take turns, in the order a b b a, so that what else the machine does falls on both.
 *
 * <p>Run it as {@code java -cp 'replicator/cli/target/lib/*' org.gorda.bench.LoopbackCost [CLIENTS] [PAIRS] [TRANSACTIONS]}.
 */
public final class LoopbackCost {

    private static final String PLAIN = "jdbc:derby:memory:bank;create=true";
    private static final String LOOPBACK = "jdbc:gorda:derby:memory:bank;protocol=loopback";

    private LoopbackCost() {}

    /** Measures and prints. */
    public static void main(String[] arguments) throws Exception {
        if (arguments.length == 4 && arguments[0].equals("measure")) {
            measure(arguments[1], Integer.parseInt(arguments[2]), Integer.parseInt(arguments[3]));
            return;
        }
        int clients = arguments.length > 0 ? Integer.parseInt(arguments[0]) : 1;
        int pairs = arguments.length > 1 ? Integer.parseInt(arguments[1]) : 6;
        int transactions = arguments.length > 2 ? Integer.parseInt(arguments[2]) : 40_000;
        List<Double> ratios = new ArrayList<>();
        for (int pair = 0; pair < pairs; pair++) {
            boolean plainFirst = pair % 2 == 0;
            double first = run(plainFirst ? PLAIN : LOOPBACK, clients, transactions);
            double second = run(plainFirst ? LOOPBACK : PLAIN, clients, transactions);
            double plain = plainFirst ? first : second;
            double loopback = plainFirst ? second : first;
            ratios.add(loopback / plain);
            System.out.printf(
                    Locale.ROOT,
                    "%d clients: plain %.1f us, loopback %.1f us of CPU per transaction: %.3f%n",
                    clients,
                    plain,
                    loopback,
                    loopback / plain);
        }
        List<Double> sorted = ratios.stream().sorted().toList();
        double median = (sorted.get((pairs - 1) / 2) + sorted.get(pairs / 2)) / 2;
        System.out.printf(Locale.ROOT, "%d clients: median of %d pairs %.3f%n", clients, pairs, median);
    }

    private static double run(String url, int clients, int transactions) throws IOException, InterruptedException {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Xms1g",
                        "-Xmx1g",
                        "-XX:+UseSerialGC",
                        "-Dderby.stream.error.field=" + LoopbackCost.class.getName() + ".NOWHERE",
                        "-cp",
                        System.getProperty("java.class.path"),
                        LoopbackCost.class.getName(),
                        "measure",
                        url,
                        Integer.toString(clients),
                        Integer.toString(transactions))
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        String answer = new String(process.getInputStream().readAllBytes(), StandardCharsets.UTF_8);
        if (process.waitFor() != 0) {
            throw new BenchException("the measurement of " + url + " ended with " + process.exitValue());
        }
        return Double.parseDouble(answer.strip());
    }

    /** Derby's log goes here. */
    public static final java.io.OutputStream NOWHERE = java.io.OutputStream.nullOutputStream();

    /** Prints microseconds of CPU per transaction, after a warm-up of as many transactions. */
    private static void measure(String url, int clients, int count) throws SQLException, InterruptedException {
        TpcB bank = new TpcB(1, 1);
        try (Connection connection = DriverManager.getConnection(url)) {
            bank.load(connection, new AtomicLong());
        }
        OperatingSystemMXBean system = (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
        run(bank, url, clients, count, 1);
        System.gc();
        long before = system.getProcessCpuTime();
        run(bank, url, clients, count, 2);
        System.out.printf(Locale.ROOT, "%.3f%n", (system.getProcessCpuTime() - before) / 1e3 / count);
        System.out.flush();
        System.exit(0);
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
        SplittableRandom random = bank.random(client);
        try (Connection connection = DriverManager.getConnection(url)) {
            connection.setAutoCommit(false);
            for (int number = 1; left.getAndDecrement() > 0; number++) {
                bank.run(connection, random, names.name(client, number));
            }
        } catch (SQLException e) {
            throw new BenchException("a client failed: " + e.getMessage(), e);
        }
    }
}
