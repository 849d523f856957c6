package org.gorda.jgcs.ratis;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.tck.Recorder;
import org.gorda.jgcs.tck.TckCluster;
import org.junit.jupiter.api.Assumptions;

/** Members on real connections over loopback and real files. */
final class RatisCluster implements TckCluster {

    private final Path directory;
    private final int formed;
    private final Service.Durability durability;
    private final List<MemberId> ids = new ArrayList<>();
    private final List<Recorder> recorders = new ArrayList<>();
    private final Map<Integer, RatisGroup> groups = new HashMap<>();
    private final FaultyLinks links = new FaultyLinks();
    private final boolean[] stalled;

    RatisCluster(Path directory, int formed, int spare, Service.Durability durability) {
        this.directory = directory;
        this.formed = formed;
        this.durability = durability;
        this.stalled = new boolean[formed + spare];
        for (int port : LoopbackPorts.free(formed + spare)) {
            ids.add(new MemberId("127.0.0.1:" + port));
            recorders.add(new Recorder());
        }
    }

    GroupConfiguration configuration(int member) {
        return GroupConfiguration.builder("tck", ids.get(member), directory.resolve("member" + member))
                .members(ids.subList(0, formed))
                .durability(durability)
                .electionTimeout(Duration.ofMillis(400))
                .sendBytesMax(16 << 20)
                .segmentBytes(1 << 20)
                .build();
    }

    @Override
    public int formed() {
        return formed;
    }

    @Override
    public MemberId id(int member) {
        return ids.get(member);
    }

    /** Those of the members it was made for. */
    List<MemberId> ids() {
        return List.copyOf(ids);
    }

    @Override
    public void start(int member) {
        GroupConfiguration configuration = configuration(member);
        RatisProtocol protocol = new RatisProtocol(links.at(ids.get(member)));
        Recorder recorder = recorders.get(member);
        recorder.restarted();
        recorder.before(message -> {
            while (isStalled(member)) {
                LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
            }
        });
        RatisGroup group = (RatisGroup) protocol.open(configuration, protocol.offers(configuration), recorder);
        links.client(ids.get(member), group.hello().admission());
        groups.put(member, group);
        group.control().join(recorder.last());
    }

    @Override
    public void kill(int member) {
        groups.get(member).close();
    }

    /** What was acknowledged was forced. */
    @Override
    public void losePower(int member) {
        kill(member);
    }

    @Override
    public void wipe(int member) {
        try (Stream<Path> files = Files.walk(directory.resolve("member" + member))) {
            for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                Files.delete(file);
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    @Override
    public void loseTail(int member) {
        Assumptions.abort("Ratis forces its log, and does not notice if the end of it is cut off all the same");
    }

    /** Closes the file of the log under Ratis, whose next write fails as on a disk that does. */
    @Override
    public void failDisk(int member) {
        try {
            Object log = groups.get(member).raftLog();
            Object output = field(field(field(log, "fileLogWorker"), "out"), "out");
            ((FileChannel) field(output, "fileChannel")).close();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    Ratis ratis(int member) {
        return (Ratis) field(groups.get(member), "ratis");
    }

    private static Object field(Object of, String name) {
        try {
            Field field = of.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return field.get(of);
        } catch (ReflectiveOperationException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void mendDisk(int member) {}

    @Override
    public void cut(int from, int to) {
        links.cut(ids.get(from), ids.get(to));
    }

    @Override
    public void hold(int from, int to) {
        links.hold(ids.get(from), ids.get(to));
    }

    @Override
    public void release(int from, int to) {
        links.release(ids.get(from), ids.get(to));
    }

    @Override
    public void heal() {
        links.heal();
    }

    @Override
    public void stall(int member, boolean value) {
        synchronized (stalled) {
            stalled[member] = value;
        }
    }

    private boolean isStalled(int member) {
        synchronized (stalled) {
            return stalled[member];
        }
    }

    @Override
    public Group group(int member) {
        return groups.get(member);
    }

    @Override
    public Recorder recorder(int member) {
        return recorders.get(member);
    }

    @Override
    public void await(String what, BooleanSupplier condition) {
        Awaitility.await(what)
                .atMost(Duration.ofMinutes(2)) // of a machine that has much else to do
                .pollInterval(Duration.ofMillis(5))
                .until(condition::getAsBoolean);
    }

    @Override
    public void pass(Duration time) {
        LockSupport.parkNanos(time.toNanos());
    }

    @Override
    public Duration electionTime() {
        return Duration.ofMillis(1200);
    }

    @Override
    public void close() {
        for (int member = 0; member < stalled.length; member++) {
            stall(member, false);
        }
        // Ratis takes a second to stop, all of them together no longer.
        groups.values().stream()
                .map(group -> CompletableFuture.runAsync(group::close, task -> new Thread(task).start()))
                .toList()
                .forEach(CompletableFuture::join);
    }
}
