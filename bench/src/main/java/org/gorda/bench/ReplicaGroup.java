package org.gorda.bench;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.gorda.bench.workload.BenchException;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.Tls;
import org.gorda.replicator.node.NodeClient;
import org.gorda.replicator.node.NodeStatus;
import org.jspecify.annotations.Nullable;

/** Replica processes of one database on this machine. Confined to one thread. */
public final class ReplicaGroup implements AutoCloseable {

    private static final int PORTS = 3;
    private static final int PORT_TRIES = 100;
    private static final String LOOPBACK = "127.0.0.1:";
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(50);
    /** The name of each replica's database in its directory. */
    static final String DATABASE = "bank";

    /** What the processes of a group have in common. */
    private record Common(
            Path directory,
            Map<String, String> settings,
            String heap,
            List<String> options,
            @Nullable Engine engine) {

        /** @param clients the port for the database's own protocol, or for what the clients in an embedded replica are to do */
        ReplicaProcess replica(
                int number, String self, String service, int clients, List<String> members, List<String> services) {
            Path own = directory.toAbsolutePath().resolve("replica" + number);
            DatabaseServer server = engine instanceof ServerEngine servers ? servers.server(own, DATABASE) : null;
            String database = server == null ? own.resolve(DATABASE).toString() : server.database();
            String all = String.join(",", members);
            List<String> command = java(heap, options);
            command.addAll(
                    engine instanceof EmbeddedEngine
                            ? List.of(EmbeddedReplica.class.getName())
                            : List.of("org.gorda.cli.Gorda", "node"));
            command.addAll(List.of("--database", database, "--self", self));
            command.addAll(List.of("--members", all, "--services", String.join(",", services)));
            command.addAll(List.of("--clients", LOOPBACK + clients));
            if (engine != null) {
                command.addAll(List.of("--directory", own.toString()));
                command.addAll(List.of("--engine", engine.key()));
            }
            if (engine instanceof ServerEngine servers) {
                command.addAll(List.of("--user", servers.user()));
            }
            StringBuilder url = new StringBuilder("jdbc:gorda:derby:" + database + ";self=" + self + ";members=" + all);
            settings.forEach((key, value) -> {
                command.addAll(List.of("--" + key, value));
                url.append(';').append(key).append('=').append(value);
            });
            return new ReplicaProcess(
                    "replica " + number, own, service, LOOPBACK + clients, url.toString(), command, server);
        }
    }

    private final Common common;
    private final List<String> members;
    private final List<ReplicaProcess> replicas;
    private final NodeClient client;

    private ReplicaGroup(Common common, List<String> members, List<ReplicaProcess> replicas) {
        this.common = common;
        this.members = List.copyOf(members);
        this.replicas = List.copyOf(replicas);
        this.client = new NodeClient(Tls.of(setting -> common.settings().get(setting.key())));
    }

    /**
     * Describes a group on free ports; nothing is started yet.
     *
     * @param settings of all replicas
     */
    public static ReplicaGroup of(int size, Path directory, Map<String, String> settings) {
        return of(size, directory, settings, "768m", QUICK);
    }

    /**
     * As {@link #of(int, Path, Map)}.
     *
     * @param heap of each process, as Java's {@code -Xmx} takes it
     */
    public static ReplicaGroup of(int size, Path directory, Map<String, String> settings, String heap) {
        return of(size, directory, settings, heap, QUICK);
    }

    /**
     * As {@link #of(int, Path, Map)}.
     *
     * @param options of Java, for each process
     */
    public static ReplicaGroup of(
            int size, Path directory, Map<String, String> settings, String heap, List<String> options) {
        return of(size, directory, settings, heap, options, null);
    }

    /**
     * As {@link #of(int, Path, Map)}.
     *
     * @param engine of the databases; null for Derby
     */
    public static ReplicaGroup of(int size, Path directory, Map<String, String> settings, @Nullable Engine engine) {
        return of(size, directory, settings, "768m", QUICK, engine);
    }

    /** As {@link #of(int, Path, Map, String, List)} and {@link #of(int, Path, Map, Engine)}. */
    public static ReplicaGroup of(
            int size,
            Path directory,
            Map<String, String> settings,
            String heap,
            List<String> options,
            @Nullable Engine engine) {
        return of(size, new Common(directory, settings, heap, options, engine));
    }

    private static ReplicaGroup of(int size, Common common) {
        if (size < 1 || size > 9) {
            throw new BenchException("replicas is " + size + " but must be 1 to 9");
        }
        List<Integer> ports = LoopbackPorts.free(size * PORTS);
        List<String> members = addresses(ports.subList(0, size));
        List<String> services = addresses(ports.subList(size, 2 * size));
        List<ReplicaProcess> replicas = new ArrayList<>();
        for (int i = 0; i < size; i++) {
            replicas.add(
                    common.replica(i + 1, members.get(i), services.get(i), ports.get(2 * size + i), members, services));
        }
        return new ReplicaGroup(common, members, replicas);
    }

    /** One more replica, at a member's default ports, with itself and all others as its members; nothing is started, nor is it added. */
    public ReplicaProcess another() {
        List<Integer> ports = LoopbackPorts.free(PORTS);
        for (int tries = 0; !(ports.get(1) == ports.get(0) + 1 && ports.get(2) == ports.get(0) + 2); tries++) {
            if (tries == PORT_TRIES) {
                throw new BenchException("no " + PORTS + " free ports in a row were found");
            }
            ports = LoopbackPorts.free(PORTS);
        }
        List<String> all = new ArrayList<>(members);
        all.add(LOOPBACK + ports.get(0));
        List<String> services =
                new ArrayList<>(replicas.stream().map(ReplicaProcess::service).toList());
        services.add(LOOPBACK + ports.get(1));
        int last = replicas.size();
        return common.replica(last + 1, all.get(last), services.get(last), ports.get(2), all, services);
    }

    /**
     * These processes live for seconds to minutes: with the
     * quick compiler alone they are at full speed at once, instead of spending two cores on the slow one for the first minute.
     */
    static final List<String> QUICK = List.of("-XX:TieredStopAtLevel=1");

    /** This Java with this class path, for as long as this process lives; a main class is to follow. Assertions are part of the product. */
    static List<String> java(String heap, List<String> options) {
        List<String> line = new ArrayList<>();
        line.add(Path.of(System.getProperty("java.home"), "bin", "java").toString());
        line.add("-ea");
        line.add("-Djdk.serialFilter=org.apache.derby.**;java.base/*;!*");
        line.add("-Xmx" + heap);
        line.addAll(options);
        line.add("-XX:+ExitOnOutOfMemoryError");
        line.addAll(List.of("-cp", System.getProperty("java.class.path"), EndsWithParent.class.getName()));
        return line;
    }

    private static List<String> addresses(List<Integer> ports) {
        return ports.stream().map(port -> LOOPBACK + port).toList();
    }

    public List<ReplicaProcess> replicas() {
        return replicas;
    }

    /** Each replica's address for the others, in the order of {@link #replicas}. */
    public List<String> members() {
        return members;
    }

    /** By which clients reach the group. */
    public String url() {
        if (common.engine() instanceof EmbeddedEngine) {
            return LineDriver.url(replicas.stream().map(ReplicaProcess::clients).toList());
        }
        return "jdbc:gorda://" + replicas.stream().map(ReplicaProcess::service).collect(Collectors.joining(",")) + "/"
                + DATABASE + (common.engine() instanceof ServerEngine servers ? ";user=" + servers.user() : "")
                + common.settings().entrySet().stream()
                        .filter(setting -> setting.getKey().startsWith("tls-"))
                        .map(setting -> ";" + setting.getKey() + "=" + setting.getValue())
                        .collect(Collectors.joining());
    }

    /**
     * By which clients reach the group that have nothing of ours but the engine's own driver.
     *
     * @throws BenchException if the engine has none that finds who takes writes
     */
    public String engineUrl() {
        if (common.engine() instanceof ServerEngine servers) {
            return servers.url(replicas.stream().map(ReplicaProcess::clients).toList(), DATABASE);
        }
        throw new BenchException("the engine's own driver does not find who takes writes");
    }

    /**
     * Connects to one replica, with the engine's own driver if that can be done from here.
     *
     * @throws BenchException if it does not answer
     */
    public Connection connect(ReplicaProcess replica) throws SQLException {
        if (common.engine() instanceof EmbeddedEngine) {
            Properties any = new Properties();
            any.setProperty(LineDriver.READ_ONLY, "true");
            return DriverManager.getConnection(LineDriver.url(List.of(replica.clients())), any);
        }
        NodeStatus status =
                status(replica).orElseThrow(() -> new BenchException(replica.name() + " does not answer any more"));
        Properties login = new Properties();
        if (common.engine() instanceof ServerEngine servers) {
            login.setProperty("user", servers.user());
        }
        return DriverManager.getConnection(status.clients(), login);
    }

    /** Starts all. */
    public void start() {
        replicas.forEach(ReplicaProcess::start);
    }

    /** What a replica tells of itself, empty if it does not answer. */
    public Optional<NodeStatus> status(ReplicaProcess replica) {
        try {
            return Optional.of(client.status(replica.service()));
        } catch (ReplicaException e) {
            return Optional.empty();
        }
    }

    /** The replica that executes, or the first that does, empty if there is none now. */
    public Optional<ReplicaProcess> primary() {
        return replicas.stream()
                .filter(ReplicaProcess::isAlive)
                .filter(replica -> status(replica).filter(NodeStatus::executes).isPresent())
                .findFirst();
    }

    /** One that runs and is not the primary, empty if there is none. */
    public Optional<ReplicaProcess> backup() {
        Optional<ReplicaProcess> primary = primary();
        return replicas.stream()
                .filter(ReplicaProcess::isAlive)
                .filter(replica -> !primary.equals(Optional.of(replica)))
                .findFirst();
    }

    /**
     * Waits until all have everything that is decided and know the primary.
     *
     * @param progress is told who is not there yet, and why; at most once a second, and nothing twice
     * @throws BenchException if one has ended, or if it takes too long
     */
    public void awaitOnline(Duration atMost, Consumer<String> progress) {
        long begin = System.nanoTime();
        long told = begin;
        List<String> last = List.of();
        while (true) {
            replicas.forEach(ReplicaProcess::requireAlive);
            List<String> waiting = waiting();
            long now = System.nanoTime();
            if (waiting.isEmpty()) {
                return;
            }
            if (now - begin > atMost.toNanos()) {
                throw new BenchException("not ready after " + atMost.toSeconds() + " s: " + String.join("; ", waiting));
            }
            if (now - told > TimeUnit.SECONDS.toNanos(1) && !waiting.equals(last)) {
                told = now;
                last = waiting;
                progress.accept("waiting     " + String.join("; ", waiting));
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    /** Which replicas do not have everything that is decided or do not know the primary, and why. */
    public List<String> waiting() {
        List<String> waiting =
                replicas.stream().map(this::behind).flatMap(Optional::stream).toList();
        return waiting.isEmpty() && primary().isEmpty() ? List.of("none works as the primary yet") : waiting;
    }

    private Optional<String> behind(ReplicaProcess replica) {
        Optional<NodeStatus> status = status(replica);
        if (status.isEmpty()) {
            return Optional.of(replica.name() + " does not answer yet");
        }
        NodeStatus now = status.get();
        if (now.clients().isEmpty() && !(common.engine() instanceof EmbeddedEngine)) {
            return Optional.of(replica.name() + " lets no clients in yet");
        }
        boolean ready = now.state().equals("ONLINE") && (now.primary() != null || now.executes()) && now.lag() == 0;
        return ready
                ? Optional.empty()
                : Optional.of(replica.name() + " " + now.state() + " at " + now.applied() + " of " + now.ordered()
                        + ": " + now.explanation());
    }

    /**
     * Has all replicas compare what they hold.
     *
     * @param wait how long a primary may be missing, and how long the answers may take then
     */
    public NodeClient.Comparison verify(Duration wait) {
        long begin = System.nanoTime();
        Optional<ReplicaProcess> any = primary();
        while (any.isEmpty()) {
            if (System.nanoTime() - begin > wait.toNanos()) {
                throw new BenchException("there is no primary to verify with for " + wait.toSeconds() + " s");
            }
            LockSupport.parkNanos(POLL_NANOS);
            any = primary();
        }
        return client.verify(any.get().service(), wait);
    }

    /** Ends all in order; they may be started again. */
    public void stop() {
        replicas.parallelStream().forEach(ReplicaProcess::stop);
    }

    /** Ends all in order, and for good: none is started again, whoever tries. For any thread. */
    @Override
    public void close() {
        replicas.parallelStream().forEach(ReplicaProcess::retire);
    }
}
