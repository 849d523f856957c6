package org.gorda.bench.gcs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.Writer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.gorda.bench.workload.BenchException;

/** A {@link GroupMember} as its parent has it: orders in, answers out. Confined to one thread but for its end. */
final class MemberProcess implements AutoCloseable {

    private static final Duration END_WAIT = Duration.ofSeconds(20);

    private static final String HEAP = "1g";
    private static final String ENDED = "ended";

    private final String name;
    private final Process process;
    private final Writer orders;
    private final BlockingQueue<String> answers = new LinkedBlockingQueue<>();

    MemberProcess(int number, Path directory, List<Integer> ports) {
        this.name = "member " + (number + 1);
        try {
            this.process = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "java")
                                    .toString(),
                            "-ea",
                            "-Xms" + HEAP,
                            "-Xmx" + HEAP,
                            "-XX:+ExitOnOutOfMemoryError",
                            "-cp",
                            System.getProperty("java.class.path"),
                            GroupMember.class.getName(),
                            Integer.toString(number),
                            directory.toString(),
                            ports.stream().map(String::valueOf).collect(Collectors.joining(",")))
                    .redirectError(ProcessBuilder.Redirect.INHERIT)
                    .start();
        } catch (IOException e) {
            throw new BenchException(name + " cannot be started: " + e, e);
        }
        this.orders = process.outputWriter(StandardCharsets.UTF_8);
        Thread reader = new Thread(this::read, "answers of " + name);
        reader.setDaemon(true);
        reader.start();
    }

    private void read() {
        try (BufferedReader lines = process.inputReader(StandardCharsets.UTF_8)) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                answers.add(line);
            }
        } catch (IOException e) {
            // Its end, as below.
        }
        answers.add(ENDED);
    }

    /** Tells it what to do. */
    void order(String line) {
        try {
            orders.write(line + "\n");
            orders.flush();
        } catch (IOException e) {
            throw new BenchException(name + " has ended: " + e, e);
        }
    }

    /**
     * What it answers to the oldest order that was not answered yet, in words.
     *
     * @throws BenchException if it failed, ended, or takes longer
     */
    String[] answer(Duration atMost) {
        try {
            String answer = answers.poll(atMost.toMillis(), TimeUnit.MILLISECONDS);
            if (answer == null || answer.equals(ENDED) || answer.startsWith("failed")) {
                throw new BenchException(
                        name + (answer == null ? " does not answer for " + atMost.toSeconds() + " s" : " " + answer));
            }
            return answer.split(" ", -1);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new BenchException("interrupted", e);
        }
    }

    /** What its process has used of the processors' time. */
    Duration cpu() {
        return process.info()
                .totalCpuDuration()
                .orElseThrow(() ->
                        new BenchException("this system does not tell how much processor time " + name + " has used"));
    }

    /** Kills it. For any thread. */
    @Override
    public void close() {
        process.destroyForcibly();
        try {
            process.waitFor(END_WAIT.toMillis(), TimeUnit.MILLISECONDS); // it may still write files
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
