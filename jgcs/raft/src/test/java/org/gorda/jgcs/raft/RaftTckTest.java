package org.gorda.jgcs.raft;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Queue;
import java.util.Set;
import java.util.SortedMap;
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
import org.gorda.jgcs.raft.member.Storage;
import org.gorda.jgcs.raft.transport.TcpTransport;
import org.gorda.jgcs.raft.transport.Transport;
import org.gorda.jgcs.tck.GroupTck;
import org.gorda.jgcs.tck.Recorder;
import org.gorda.jgcs.tck.TckCluster;
import org.junit.jupiter.api.io.TempDir;

/** The suite on real threads, real connections over loopback and real files. */
class RaftTckTest extends GroupTck {

    @TempDir
    Path directory;

    private int clusters;

    @Override
    protected TckCluster open(int formed, int spare, Service.Durability durability) {
        return new RealCluster(directory.resolve("cluster" + clusters++), formed, spare, durability);
    }

    private static final class RealCluster implements TckCluster {
        private final Path directory;
        private final int formed;
        private final Service.Durability durability;
        private final List<MemberId> ids = new ArrayList<>();
        private final List<Recorder> recorders = new ArrayList<>();
        private final Map<Integer, Group> groups = new HashMap<>();
        private final Map<MemberId, FaultyTransport> transports = new HashMap<>();
        private final Set<Integer> failing = new HashSet<>();
        private final boolean[] stalled;

        RealCluster(Path directory, int formed, int spare, Service.Durability durability) {
            this.directory = directory;
            this.formed = formed;
            this.durability = durability;
            this.stalled = new boolean[formed + spare];
            for (int port : LoopbackPorts.free(formed + spare)) {
                ids.add(new MemberId("127.0.0.1:" + port));
                recorders.add(new Recorder());
            }
        }

        @Override
        public int formed() {
            return formed;
        }

        @Override
        public MemberId id(int member) {
            return ids.get(member);
        }

        private Path directory(int member) {
            return directory.resolve("member" + member);
        }

        @Override
        public void start(int member) {
            GroupConfiguration configuration = GroupConfiguration.builder("tck", ids.get(member), directory(member))
                    .members(ids.subList(0, formed))
                    .durability(durability)
                    .electionTimeout(Duration.ofMillis(400))
                    .sendBytesMax(16 << 20)
                    .segmentBytes(1 << 20)
                    .build();
            RaftProtocol protocol = new RaftProtocol(
                    opened -> faulty(member, RaftProtocol.openStorage(opened)),
                    opened -> transports.compute(
                            opened.self(), (id, before) -> new FaultyTransport(new TcpTransport(opened), before)));
            Recorder recorder = recorders.get(member);
            recorder.restarted();
            recorder.before(message -> {
                while (isStalled(member)) {
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
                }
            });
            Group group = protocol.open(configuration, protocol.offers(configuration), recorder);
            groups.put(member, group);
            group.control().join(recorder.last());
        }

        /** A storage every write of which fails while the member's disk is set to fail. */
        private Storage faulty(int member, Storage storage) {
            Set<String> writes = Set.of(
                    "append", "force", "saveVote", "saveAdmitted", "saveHistory", "truncate", "install", "prepare");
            return (Storage) Proxy.newProxyInstance(
                    Storage.class.getClassLoader(), new Class<?>[] {Storage.class}, (proxy, method, arguments) -> {
                        if (writes.contains(method.getName())) {
                            synchronized (failing) {
                                if (failing.contains(member)) {
                                    throw new UncheckedIOException(new IOException("No space left on device"));
                                }
                            }
                        }
                        try {
                            return method.invoke(storage, arguments);
                        } catch (InvocationTargetException e) {
                            throw e.getCause();
                        }
                    });
        }

        @Override
        public void kill(int member) {
            groups.get(member).close();
        }

        @Override
        public void losePower(int member) {
            kill(member);
            try (RandomAccessFile mark =
                    new RandomAccessFile(directory(member).resolve("mark").toFile(), "rw")) {
                // Another run of the machine.
                mark.seek(8);
                mark.writeLong(mark.getFilePointer());
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
            if (durability == Service.Durability.WRITTEN) {
                loseTail(member);
            }
        }

        @Override
        public void wipe(int member) {
            try (Stream<Path> files = Files.walk(directory(member))) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void loseTail(int member) {
            try (Stream<Path> files = Files.list(directory(member))) {
                Path last = files.filter(file -> file.toString().endsWith(".log"))
                        .max(Comparator.naturalOrder())
                        .orElseThrow();
                try (RandomAccessFile log = new RandomAccessFile(last.toFile(), "rw")) {
                    log.setLength(Math.max(0, log.length() - 150));
                }
            } catch (IOException e) {
                throw new UncheckedIOException(e);
            }
        }

        @Override
        public void failDisk(int member) {
            synchronized (failing) {
                failing.add(member);
            }
        }

        @Override
        public void mendDisk(int member) {
            synchronized (failing) {
                failing.remove(member);
            }
        }

        @Override
        public void cut(int from, int to) {
            transports.get(ids.get(from)).cut(ids.get(to));
        }

        @Override
        public void hold(int from, int to) {
            transports.get(ids.get(from)).hold(ids.get(to));
        }

        @Override
        public void release(int from, int to) {
            transports.get(ids.get(from)).release(ids.get(to));
        }

        @Override
        public void heal() {
            transports.values().forEach(FaultyTransport::heal);
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
                    .atMost(Duration.ofSeconds(30))
                    .pollInterval(Duration.ofMillis(5))
                    .until(condition::getAsBoolean);
        }

        @Override
        public void pass(Duration time) {
            long end = System.nanoTime() + time.toNanos();
            Awaitility.await().atMost(time.plusSeconds(5)).until(() -> System.nanoTime() >= end);
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
            groups.values().forEach(Group::close);
        }
    }

    /** Loses and keeps back what it is told to. */
    private static final class FaultyTransport implements Transport {
        private final Transport real;
        private final Set<MemberId> cut;
        private final Map<MemberId, Queue<byte[]>> held;

        FaultyTransport(Transport real, FaultyTransport before) {
            this.real = real;
            this.cut = before == null ? new HashSet<>() : before.cut;
            this.held = before == null ? new HashMap<>() : before.held;
        }

        synchronized void cut(MemberId to) {
            cut.add(to);
        }

        synchronized void hold(MemberId to) {
            held.putIfAbsent(to, new ArrayDeque<>());
        }

        synchronized void release(MemberId to) {
            Queue<byte[]> waiting = held.remove(to);
            if (waiting != null) {
                waiting.forEach(frame -> real.send(to, frame));
            }
        }

        synchronized void heal() {
            cut.clear();
            List.copyOf(held.keySet()).forEach(this::release);
        }

        @Override
        public void send(MemberId to, byte[] frame) {
            synchronized (this) {
                if (cut.contains(to)) {
                    return;
                }
                Queue<byte[]> waiting = held.get(to);
                if (waiting != null) {
                    waiting.add(frame);
                    return;
                }
            }
            real.send(to, frame);
        }

        @Override
        public void start(Listener listener) {
            real.start(listener);
        }

        @Override
        public void connectTo(Collection<MemberId> members) {
            real.connectTo(members);
        }

        @Override
        public SortedMap<MemberId, String> unreached() {
            return real.unreached();
        }

        @Override
        public long frames() {
            return real.frames();
        }

        @Override
        public long bytes() {
            return real.bytes();
        }

        @Override
        public void close() {
            real.close();
        }
    }
}
