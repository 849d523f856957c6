package org.gorda.jgcs.raft;

import com.sun.management.OperatingSystemMXBean;
import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.Semaphore;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.View;
import org.openjdk.jmh.annotations.AuxCounters;
import org.openjdk.jmh.annotations.Benchmark;
import org.openjdk.jmh.annotations.BenchmarkMode;
import org.openjdk.jmh.annotations.Fork;
import org.openjdk.jmh.annotations.Level;
import org.openjdk.jmh.annotations.Measurement;
import org.openjdk.jmh.annotations.Mode;
import org.openjdk.jmh.annotations.OutputTimeUnit;
import org.openjdk.jmh.annotations.Param;
import org.openjdk.jmh.annotations.Scope;
import org.openjdk.jmh.annotations.Setup;
import org.openjdk.jmh.annotations.State;
import org.openjdk.jmh.annotations.TearDown;
import org.openjdk.jmh.annotations.Warmup;
import org.openjdk.jmh.results.RunResult;
import org.openjdk.jmh.runner.Runner;
import org.openjdk.jmh.runner.RunnerException;
import org.openjdk.jmh.runner.options.OptionsBuilder;

/**
 * What it costs to order an entry: three members in this process, over loopback and with files, one of whom, the leader, has a
 * number of messages on their way. The entries per second count what its own delivery has confirmed; the processor's time is that of
 * the whole process, so of all three members.
 */
@State(Scope.Benchmark)
@BenchmarkMode(Mode.Throughput)
@OutputTimeUnit(TimeUnit.SECONDS)
@Warmup(iterations = 3, time = 2)
@Measurement(iterations = 5, time = 2)
@Fork(1)
public class CostPerEntryBenchmark {

    private static final int PAYLOAD_BYTES = 600;
    private static final int RELEASE_EVERY = 20_000;

    /** How many messages are on their way at any time. */
    @Param({"1", "16", "64"})
    public int outstanding;

    @Param({"WRITTEN", "SYNCED"})
    public Service.Durability durability;

    private final List<Group> groups = new ArrayList<>();
    private Path directory;
    private Group leader;
    private Semaphore window;

    /** The processor's time that all three members took. */
    @State(Scope.Thread)
    @AuxCounters(AuxCounters.Type.OPERATIONS)
    public static class Processor {
        private static final OperatingSystemMXBean SYSTEM =
                (OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();

        private long startNanos;

        @Setup(Level.Iteration)
        public void start() {
            startNanos = SYSTEM.getProcessCpuTime();
        }

        /** Per second of the measurement. */
        public long cpuMicros() {
            return (SYSTEM.getProcessCpuTime() - startNanos) / 1000;
        }
    }

    private final class Listener implements GroupListener {
        private final int number;
        private volatile View view;
        private int sinceRelease;

        Listener(int number) {
            this.number = number;
        }

        @Override
        public void onMessage(Message message) {
            if (window != null
                    && message.id().member().equals(groups.get(number).self())) {
                window.release();
            }
            if (++sinceRelease == RELEASE_EVERY) {
                sinceRelease = 0;
                groups.get(number).log().orElseThrow().release(message.position());
            }
        }

        @Override
        public void onCaughtUp(Position upTo) {}

        @Override
        public void onView(View changed) {
            view = changed;
        }

        @Override
        public void onGap(Position firstHeld, String reason) {
            throw new IllegalStateException(reason);
        }

        @Override
        public void onStop(GroupException cause) {
            throw cause;
        }

        boolean leads() {
            View known = view;
            return known != null
                    && known.working()
                    && known.isLeader(groups.get(number).self());
        }
    }

    @Setup(Level.Trial)
    public void open() throws IOException {
        directory = Files.createTempDirectory("cost-per-entry");
        List<MemberId> members = LoopbackPorts.free(3).stream()
                .map(port -> new MemberId("127.0.0.1:" + port))
                .toList();
        List<Listener> listeners = new ArrayList<>();
        RaftProtocol protocol = new RaftProtocol();
        for (int i = 0; i < members.size(); i++) {
            GroupConfiguration configuration = GroupConfiguration.builder(
                            "cost", members.get(i), directory.resolve("member" + i))
                    .members(members)
                    .durability(durability)
                    .build();
            Listener listener = new Listener(i);
            listeners.add(listener);
            groups.add(protocol.open(configuration, protocol.offers(configuration), listener));
        }
        groups.forEach(group -> group.control().join(Position.START));
        Awaitility.await()
                .atMost(Duration.ofSeconds(30))
                .until(() -> listeners.stream().anyMatch(Listener::leads));
        leader = groups.get(listeners.indexOf(
                listeners.stream().filter(Listener::leads).findFirst().orElseThrow()));
        window = new Semaphore(outstanding);
    }

    @TearDown(Level.Trial)
    public void close() throws IOException {
        groups.forEach(Group::close);
        try (Stream<Path> files = Files.walk(directory)) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        }
    }

    /** Sends one message as soon as there is room for it among those on their way. */
    @Benchmark
    public void order(Processor processor) throws InterruptedException {
        if (!window.tryAcquire(30, TimeUnit.SECONDS)) {
            throw new IllegalStateException("nothing was delivered for 30 s: " + leader.explanation());
        }
        leader.data().multicast(ByteBuffer.allocate(PAYLOAD_BYTES), Duration.ofSeconds(10));
    }

    /** Runs everything and prints a table. */
    public static void main(String[] arguments) throws RunnerException {
        StringBuilder table =
                new StringBuilder("| durability | outstanding | entries/s | CPU µs per entry |\n|---|---|---|---|\n");
        OptionsBuilder options = new OptionsBuilder();
        options.include(CostPerEntryBenchmark.class.getName());
        for (RunResult result : new Runner(options.build()).run()) {
            double entries = result.getPrimaryResult().getScore();
            double micros = result.getSecondaryResults().get("cpuMicros").getScore();
            table.append(String.format(
                    Locale.ROOT,
                    "| %s | %s | %,.0f | %.1f |%n",
                    result.getParams().getParam("durability"),
                    result.getParams().getParam("outstanding"),
                    entries,
                    micros / entries));
        }
        System.out.print(table);
    }
}
