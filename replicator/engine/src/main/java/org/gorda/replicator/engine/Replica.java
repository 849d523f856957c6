package org.gorda.replicator.engine;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.NetworkInterface;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Properties;
import java.util.ServiceLoader;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import java.util.stream.StreamSupport;
import javax.net.ssl.SSLContext;
import org.gorda.gapi.Capability;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.WriteSetWriter;
import org.gorda.jgcs.Encryption;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupCounts;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.History;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MembershipSession;
import org.gorda.jgcs.Protocol;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.View;
import org.gorda.replicator.core.Outcome;
import org.gorda.replicator.core.ReplicaCore;
import org.gorda.replicator.core.ReplicaMessage;
import org.gorda.replicator.core.ReplicationProtocol;
import org.jspecify.annotations.Nullable;

/**
 * A replica of a database in this process: one member of a group whose databases hold the same. Thread-safe.
 *
 * <pre>{@code
 * try (Replica replica = Replica.builder()
 *         .database("derby", "/var/lib/bank")
 *         .group("bank")
 *         .self("db1:7800")
 *         .members("db1:7800", "db2:7800", "db3:7800")
 *         .start()) {
 *     replica.awaitState(ReplicaState.ONLINE, Duration.ofMinutes(1));
 *     try (Connection connection = replica.connect(new Properties())) { ... }
 * }
 * }</pre>
 */
public final class Replica implements AutoCloseable {

    /** All that members send each other: messages in the order, write sets in them, what goes past it, and checkpoints in that. */
    private static final int SPEAKS =
            ((ReplicaMessage.VERSION * 100 + WriteSetWriter.VERSION) * 100 + DirectMessage.VERSION) * 100
                    + ReplicaCore.STATE_VERSION;

    private final ReplicaConfiguration configuration;
    private final DatabaseBinding binding;

    /** Told what it does before there is an engine to tell it. */
    private final Consumer<String> starting;

    private volatile @Nullable ReflectedDatabase database;
    private volatile @Nullable ReplicaEngine engine;
    private @Nullable InetSocketAddress listening;
    private volatile boolean closed;

    /** Somebody waits to close it. */
    private volatile boolean stopping;

    private Replica(ReplicaConfiguration configuration, Consumer<String> starting) {
        this.configuration = configuration;
        this.starting = starting;
        this.binding = binding(configuration.binding());
        checkCapabilities();
        open();
    }

    private DatabaseConfiguration described() {
        return new DatabaseConfiguration(
                configuration.location(),
                configuration.attributes(),
                configuration.readGrace(),
                configuration.writeSetBytesMax(),
                configuration.directory().resolve("spool"));
    }

    /** At the start, and again to replace the database by one that was received. */
    private void open() {
        DatabaseConfiguration described = described();
        try {
            if (configuration.protocol() == ReplicationProtocol.LOOPBACK) {
                openWithoutGroup(described);
                return;
            }
            PrivateDirectory.make(configuration.directory());
            ReplicaEngine before = engine;
            new ReceivedDatabase(configuration.directory())
                    .install(binding, described, progress -> receiving(before, progress));
            ReplicaEngine started = new ReplicaEngine(configuration, binding.capabilities(), this::reopen);
            starting.accept("opens its log");
            Group group = openGroup(started);
            try {
                starting.accept("opens its database");
                if (!binding.isThere(described)) {
                    StoredHistory.requireNone(configuration);
                }
                ReflectedDatabase opened = binding.open(described, started.local());
                started.database(opened);
                database = opened;
                started.probe(before != null && before.probes().on());
                engine = started;
                started.join(group);
            } catch (RuntimeException | Error e) {
                engine = before;
                started.stop();
                group.close();
                throw e;
            }
        } catch (ReflectionException | GroupException e) {
            throw new ReplicaException(String.valueOf(e.getMessage()), e);
        } catch (IOException e) {
            throw new ReplicaException("the directory " + configuration.directory() + " cannot be used: " + e, e);
        }
    }

    private void openWithoutGroup(DatabaseConfiguration described) throws ReflectionException {
        ReflectedDatabase opened = binding.open(described, new LoopbackListener());
        try {
            StoredHistory.requireNone(opened, configuration);
            database = opened;
        } finally {
            if (database == null) {
                opened.close();
            }
        }
    }

    private void receiving(@Nullable ReplicaEngine before, String progress) {
        if (stopping) {
            throw new ReplicaException("stopped while it " + progress + "; the next start begins with that again");
        }
        if (before == null) {
            starting.accept(progress);
        } else {
            before.receiving(progress);
        }
    }

    /** The database was received anew. All begins again with it, as at a start of the process. */
    private synchronized void reopen() {
        if (closed) {
            return;
        }
        ReplicaEngine before = engine();
        try {
            before.receiving("loads the database that it received");
            // As a member still: however long it takes, the log here has what follows.
            new ReceivedDatabase(configuration.directory())
                    .prepare(binding, described(), progress -> receiving(before, progress));
            before.retire("opens the database that it received");
            open();
            InetSocketAddress address = listening;
            if (address != null) {
                database().listen(address, tls());
            }
        } catch (RuntimeException | Error e) {
            engine().fail(
                            "the database that was received cannot be opened: "
                                    + (e instanceof Error ? e : e.getMessage()),
                            e);
        }
    }

    private ReflectedDatabase database() {
        return Objects.requireNonNull(database);
    }

    private void checkCapabilities() {
        Set<Capability> missing = configuration.protocol().missing(binding.capabilities());
        if (!missing.isEmpty()) {
            throw new ReplicaException("protocol " + configuration.protocol() + " needs " + missing
                    + ", which the binding " + binding.name() + " does not have");
        }
    }

    private @Nullable SSLContext tls() {
        Tls tls = configuration.tls();
        return tls == null ? null : tls.context();
    }

    private @Nullable Encryption encryption() {
        Tls tls = configuration.tls();
        return tls == null ? null : new Encryption(tls.context(), tls.trust());
    }

    private Group openGroup(ReplicaEngine listener) {
        Protocol protocol = toolkit(configuration.toolkit());
        GroupConfiguration group = GroupConfiguration.builder(
                        configuration.group(),
                        configuration.self(),
                        configuration.directory().resolve(ReplicaConfiguration.LOG))
                .speaks(SPEAKS)
                .members(configuration.members())
                .durability(configuration.durability().log())
                .electionTimeout(configuration.electionTimeout())
                .messageBytesMax(WriteSet.ENCODED_BYTES_MAX + 4096)
                .sendBytesMax(sendBytesMax())
                .segmentBytes(segmentBytes())
                .tls(encryption())
                .build();
        return protocol.open(
                group,
                new Service(
                        Service.Order.TOTAL,
                        Service.Uniformity.UNIFORM,
                        configuration.durability().log()),
                listener);
    }

    /** What is on its way is in memory; a small heap can only spare a part. */
    private static int sendBytesMax() {
        return (int) Math.min(64L << 20, Runtime.getRuntime().maxMemory() / 16);
    }

    /** The log is forgotten file by file. */
    private int segmentBytes() {
        return (int) Math.max(1 << 20, Math.min(64 << 20, configuration.logRetainBytes() / 4));
    }

    static DatabaseBinding binding(String name) {
        return named(DatabaseBinding.class, name, DatabaseBinding::name);
    }

    static Protocol toolkit(String name) {
        return named(Protocol.class, name, Protocol::name);
    }

    private static <T> T named(Class<T> kind, String name, java.util.function.Function<T, String> nameOf) {
        List<T> all = StreamSupport.stream(ServiceLoader.load(kind).spliterator(), false)
                .toList();
        return all.stream()
                .filter(one -> nameOf.apply(one).equals(name))
                .findFirst()
                .orElseThrow(() -> new ReplicaException("no " + kind.getSimpleName() + " named '" + name
                        + "' is on the class path; there is "
                        + all.stream().map(nameOf).sorted().collect(Collectors.joining(", ", "[", "]"))));
    }

    /** Starts a description of a replica. */
    public static Builder builder() {
        return new Builder();
    }

    public ReplicaConfiguration configuration() {
        return configuration;
    }

    ReplicaEngine engine() {
        ReplicaEngine running = engine;
        if (running == null) {
            throw new ReplicaException("a replica under protocol loopback has no group");
        }
        return running;
    }

    /** The replica now. */
    public ReplicaStatus status() {
        ReplicaEngine running = engine;
        if (running == null) {
            return new ReplicaStatus(
                    configuration.self(),
                    closed ? ReplicaState.STOPPED : ReplicaState.ONLINE,
                    "loopback: nothing is replicated",
                    History.UNKNOWN,
                    null,
                    configuration.self(),
                    configuration.protocol(),
                    true,
                    0,
                    true,
                    List.of(configuration.self()),
                    List.of(),
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    0,
                    null,
                    Map.of());
        }
        return running.status();
    }

    /** The rows by which transactions of this replica have lost most against others since its start, the hottest first. */
    public List<HotRow> hotRows() {
        return engine == null ? List.of() : engine.hotRows();
    }

    /** Where its time goes, and what its transactions cost. */
    public ReplicaProbes probes() {
        ReplicaEngine running = engine;
        return running == null
                ? new ReplicaProbes(configuration.self(), false, Map.of(), 0, 0, GroupCounts.NONE, 0)
                : running.probes();
    }

    /**
     * Switches its probes on, or off, as they are at first. They measure how long transactions are in each {@link Stage}, from then on.
     *
     * @return what they had measured up to then; off, they forget it
     */
    public ReplicaProbes probe(boolean on) {
        ReplicaProbes before = probes();
        engine().probe(on);
        return before;
    }

    /** Why the replica has stopped by itself, if it has. */
    public Optional<Throwable> failure() {
        ReplicaEngine running = engine;
        return running == null ? Optional.empty() : running.failure();
    }

    /**
     * Waits until the replica is in a state.
     *
     * @throws ReplicaException if that takes longer than {@code atMost}, if the thread is interrupted, or if it has stopped; the message says why
     */
    public void awaitState(ReplicaState wanted, Duration atMost) {
        await(wanted, false, atMost);
    }

    /** As {@link #awaitState} for ONLINE, and until another replica is the primary or this one is, and takes writes. */
    public void awaitPrimary(Duration atMost) {
        await(ReplicaState.ONLINE, true, atMost);
    }

    private void await(ReplicaState wanted, boolean withPrimary, Duration atMost) {
        long end = System.nanoTime() + atMost.toNanos();
        ReplicaStatus now = status();
        while (now.state() != wanted || (withPrimary && !isPrimaryThere(now))) {
            if (now.state() == ReplicaState.STOPPED && wanted != ReplicaState.STOPPED) {
                throw new ReplicaException(
                        "replica " + configuration.self() + " has stopped: " + now.explanation(),
                        failure().orElse(null));
            }
            if (System.nanoTime() > end) {
                throw new ReplicaException("replica " + configuration.self() + " is not " + wanted + " after "
                        + atMost.toSeconds() + " s, it is " + now.state() + ": " + now.explanation());
            }
            if (Thread.currentThread().isInterrupted()) {
                throw new ReplicaException("replica " + configuration.self() + " is not " + wanted
                        + " yet, and the thread was interrupted that waits for it; it is " + now.state() + ": "
                        + now.explanation());
            }
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
            now = status();
        }
    }

    private static boolean isPrimaryThere(ReplicaStatus now) {
        return now.executesHere() || (now.primary() != null && !now.primary().equals(now.self()));
    }

    /** Opens a connection to the local database, whose transactions are replicated. */
    public Connection connect(Properties properties) throws SQLException {
        return database().connect(properties);
    }

    /**
     * Lets clients of the database's own kind in over the network.
     *
     * @return the JDBC URL by which they reach the database
     */
    public synchronized String listen(InetSocketAddress address) {
        listening = address;
        return database().listen(address, tls());
    }

    /**
     * Asks for the outcome of a transaction whose commit was not answered. To ask decides: one that was not ordered yet is aborted.
     *
     * @param since an ordered index that some replica had told before the commit was asked for
     */
    public CompletableFuture<Outcome> outcome(TransactionId id, long since) {
        return engine().requests()
                .close(id, since)
                .thenApplyAsync(outcome -> outcome); // what follows is not for the delivery to do
    }

    /**
     * Has the group run another protocol from a place in the order on, while it works. Transactions that are under way are refused with 40001, and
     * clients at a replica that takes no writes any more are to go elsewhere. All replicas keep to it when they are started again, whatever
     * protocol they are configured for.
     *
     * @throws ReplicaException if it cannot be done, or not now
     */
    public void changeProtocol(ReplicationProtocol protocol) {
        if (protocol == ReplicationProtocol.LOOPBACK) {
            throw new ReplicaException("protocol " + protocol + " has no group: start a replica of its own with it");
        }
        engine().requests().changeProtocol(protocol);
    }

    /**
     * Takes a replica into the group, which has been started with itself and all others as its members. It is a learner, which does not count,
     * until it has the group's log.
     *
     * @return who belongs to the group then
     * @throws ReplicaException if it belongs to the group already
     */
    public CompletableFuture<View> addMember(MemberId member) {
        MembershipSession membership = engine().group().membership().orElseThrow();
        View now = membership.view();
        if (now.members().contains(member) || now.learners().contains(member)) {
            throw new ReplicaException(member + " belongs to the group already");
        }
        return membership.add(member);
    }

    /**
     * Takes a replica out of the group, alive or dead.
     *
     * @return who belongs to the group then
     * @throws ReplicaException if it does not belong to the group, or is the only one
     */
    public CompletableFuture<View> removeMember(MemberId member) {
        MembershipSession membership = engine().group().membership().orElseThrow();
        View now = membership.view();
        boolean counts = now.members().contains(member);
        if (!counts && !now.learners().contains(member)) {
            throw new ReplicaException(member + " does not belong to the group, whose members are " + now.members());
        }
        if (counts && now.members().size() == 1) {
            throw new ReplicaException(member + " is the only member: without it there is no group");
        }
        return membership.remove(member);
    }

    /** Has all replicas note what they hold at one place in the order; to be called at the primary. */
    public Verification verify(Duration wait) {
        return engine().requests().verify(wait);
    }

    /**
     * What this replica noted for a verification, empty if it has not got there.
     *
     * @throws ReplicaException if it was started again since, and cannot tell: what it holds now is of another place
     */
    public Optional<Verification> verification(long request) {
        return engine().requests().verification(request);
    }

    /** Leaves the group in order and closes the database. Idempotent. */
    @Override
    public void close() {
        stopping = true;
        closeInOrder();
    }

    private synchronized void closeInOrder() {
        if (closed) {
            return;
        }
        closed = true;
        ReplicaEngine running = engine;
        if (running != null) {
            running.stop();
        } else {
            database().close();
        }
    }

    /** Describes a replica; what is not set has a default. Confined to one thread. */
    public static final class Builder {
        private String binding = "derby";
        private @Nullable String location;
        private final Map<String, String> attributes = new HashMap<>();
        private ReplicationProtocol protocol = ReplicationProtocol.PRIMARY_BACKUP;
        private String group = "gorda";
        private String toolkit = ReplicaConfiguration.RAFT;
        private @Nullable MemberId self;
        private List<MemberId> members = List.of();
        private @Nullable Path directory;
        private Durability durability = Durability.GROUP;
        private boolean strongReads;
        private Duration commitTimeout = Duration.ofSeconds(30);
        private Duration readGrace = Duration.ofSeconds(1);
        private long lagMax = 10_000;
        private Duration lagPatience = Duration.ofSeconds(30);
        private Duration electionTimeout = Duration.ofSeconds(1);
        private long writeSetBytesMax = 1L << 30;
        private long logRetainBytes = 1L << 30;
        private long transferBytesPerSecond = 64L << 20;
        private @Nullable Tls tls;
        private boolean insecure;

        private Builder() {}

        /** The kind of database, by the name of its binding, and the database itself; for Derby its path. */
        public Builder database(String bindingName, String databaseLocation) {
            binding = bindingName;
            location = databaseLocation;
            return this;
        }

        /** A setting of the database's own, for instance for its creation. */
        public Builder attribute(String key, String value) {
            attributes.put(key, value);
            return this;
        }

        public Builder protocol(ReplicationProtocol value) {
            protocol = value;
            return this;
        }

        /** The group's name, the same on all replicas. */
        public Builder group(String name) {
            group = name;
            return this;
        }

        /** What orders the messages, by the name of its {@link Protocol}; the same on all replicas, raft if not set. */
        public Builder toolkit(String name) {
            toolkit = name;
            return this;
        }

        /** This replica's address for the others, {@code host:port}; one of the members. */
        public Builder self(String member) {
            self = new MemberId(member);
            return this;
        }

        /** The addresses of all replicas, the same list on all. */
        public Builder members(String... all) {
            members = java.util.Arrays.stream(all).map(MemberId::new).toList();
            return this;
        }

        /** Where log and checkpoints are kept; beside the database, if not set. */
        public Builder directory(Path value) {
            directory = value;
            return this;
        }

        public Builder durability(Durability value) {
            durability = value;
            return this;
        }

        /** Every statement first makes sure to see everything that was committed anywhere before it began. */
        public Builder strongReads(boolean value) {
            strongReads = value;
            return this;
        }

        /** How long a commit may wait to be ordered before its client is told that its outcome is unknown. */
        public Builder commitTimeout(Duration value) {
            commitTimeout = value;
            return this;
        }

        /** How long transactions that only read may hold up changes of others. */
        public Builder readGrace(Duration value) {
            readGrace = value;
            return this;
        }

        /** How many transactions a replica may be behind the others before they wait for it; 10,000 if not set. */
        public Builder lagMax(long value) {
            lagMax = value;
            return this;
        }

        /** How long they wait for a replica that stays behind; 30 s if not set. */
        public Builder lagPatience(Duration value) {
            lagPatience = value;
            return this;
        }

        /** How long a silent leader is believed in; a closed connection is noticed at once. */
        public Builder electionTimeout(Duration value) {
            electionTimeout = value;
            return this;
        }

        /** Encrypts all that leaves the process, and lets in as members only whom the authority vouches for; null, as if not set: nothing is. */
        public Builder tls(@Nullable Tls value) {
            tls = value;
            return this;
        }

        /** Lets replicas talk over a network, though what they say is not encrypted; loopback needs no leave. */
        public Builder insecure(boolean value) {
            insecure = value;
            return this;
        }

        public Builder writeSetBytesMax(long value) {
            writeSetBytesMax = value;
            return this;
        }

        public Builder logRetainBytes(long value) {
            logRetainBytes = value;
            return this;
        }

        /** How fast the database is received from another replica, at most, should the log not reach back far enough. */
        public Builder transferBytesPerSecond(long value) {
            transferBytesPerSecond = value;
            return this;
        }

        private MemberId onlyLocalMember() {
            List<MemberId> local = members.stream().filter(Builder::isLocal).toList();
            if (local.size() != 1) {
                throw new ReplicaException("self is not set, and of the members " + members + " "
                        + (local.isEmpty() ? "none has" : local + " have")
                        + " an address of this machine: set self to this replica's own address");
            }
            return local.get(0);
        }

        private static boolean isLocal(MemberId member) {
            try {
                InetAddress address = InetAddress.getByName(member.host());
                return address.isLoopbackAddress() || NetworkInterface.getByInetAddress(address) != null;
            } catch (IOException e) {
                return false;
            }
        }

        private static boolean isLoopback(MemberId member) {
            try {
                return InetAddress.getByName(member.host()).isLoopbackAddress();
            } catch (IOException e) {
                return false;
            }
        }

        /**
         * Starts the replica; {@link Replica#awaitState} tells when it is ready.
         *
         * @throws ReplicaException if a value cannot be, or if database, directory or port cannot be used
         */
        public Replica start() {
            return start(progress -> {});
        }

        /**
         * As {@link #start()}, which takes long where a database that was received is put in its place, or has much to recover.
         *
         * @param progress is told meanwhile what it does, for people
         */
        public Replica start(Consumer<String> progress) {
            String database = location;
            if (database == null || database.isBlank()) {
                throw new ReplicaException("no database is given: name the binding and the database's location");
            }
            Replica.binding(binding); // who has mistaken it need not be told first what else there is to say
            MemberId me = self;
            if (me == null) {
                me = protocol == ReplicationProtocol.LOOPBACK ? new MemberId("localhost:1") : onlyLocalMember();
            }
            List<MemberId> all = members.isEmpty() ? List.of(me) : members;
            if (!all.contains(me)) {
                throw new ReplicaException("self is " + me + " but must be one of the members " + all);
            }
            Tls encrypts = tls;
            if (encrypts == null && !insecure && !all.stream().allMatch(Builder::isLoopback)) {
                throw new ReplicaException("what replicas send each other is not encrypted, and members " + all
                        + " are not all on this machine: set tls-authority, tls-certificate and tls-key, or"
                        + " insecure=true if their network is safe");
            }
            if (encrypts != null && protocol != ReplicationProtocol.LOOPBACK) {
                encrypts.requireServer(me.host());
            }
            Path kept = directory == null ? ReplicaConfiguration.standardDirectory(database) : directory;
            ReplicaConfiguration described = new ReplicaConfiguration(
                    binding,
                    database,
                    attributes,
                    protocol,
                    group,
                    toolkit,
                    me,
                    all,
                    kept,
                    durability,
                    strongReads,
                    commitTimeout,
                    readGrace,
                    lagMax,
                    lagPatience,
                    electionTimeout,
                    writeSetBytesMax,
                    logRetainBytes,
                    transferBytesPerSecond,
                    encrypts);
            return new Replica(described, progress);
        }
    }
}
