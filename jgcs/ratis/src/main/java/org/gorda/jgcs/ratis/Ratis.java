package org.gorda.jgcs.ratis;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.ArrayList;
import java.util.Collection;
import java.util.List;
import java.util.Optional;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import java.util.stream.Stream;
import org.apache.ratis.RaftConfigKeys;
import org.apache.ratis.client.RaftClient;
import org.apache.ratis.client.RaftClientConfigKeys;
import org.apache.ratis.conf.Parameters;
import org.apache.ratis.conf.RaftProperties;
import org.apache.ratis.grpc.GrpcConfigKeys;
import org.apache.ratis.protocol.ClientId;
import org.apache.ratis.protocol.GroupManagementRequest;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftClientReply;
import org.apache.ratis.protocol.RaftGroup;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.protocol.RaftPeer;
import org.apache.ratis.protocol.RaftPeerId;
import org.apache.ratis.protocol.SetConfigurationRequest;
import org.apache.ratis.protocol.SnapshotManagementRequest;
import org.apache.ratis.protocol.exceptions.AlreadyClosedException;
import org.apache.ratis.protocol.exceptions.GroupMismatchException;
import org.apache.ratis.protocol.exceptions.RaftException;
import org.apache.ratis.protocol.exceptions.RaftRetryFailureException;
import org.apache.ratis.retry.RetryPolicies;
import org.apache.ratis.retry.RetryPolicy;
import org.apache.ratis.rpc.CallId;
import org.apache.ratis.rpc.SupportedRpcType;
import org.apache.ratis.server.DivisionInfo;
import org.apache.ratis.server.RaftConfiguration;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.RaftServerConfigKeys;
import org.apache.ratis.server.raftlog.RaftLog;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.util.ExitUtils;
import org.apache.ratis.util.JavaUtils;
import org.apache.ratis.util.SizeInBytes;
import org.apache.ratis.util.TimeDuration;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.View;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Ratis itself: this member's server and the clients by which it reaches the leader. Thread-safe once {@link #start started}.
 *
 * <p>It always forces the log before it acknowledges: that is Ratis's own default, and no setting of ours weakens it.
 */
final class Ratis implements AutoCloseable {

    static {
        ExitUtils.disableSystemExit(); // the process is its user's
    }

    private static final Logger LOG = LoggerFactory.getLogger(Ratis.class);

    /** Larger files would be read as a whole to read one entry. */
    private static final int SEGMENT_BYTES_MAX = 8 << 20;

    private static final int CACHED_SEGMENTS = 3;
    private static final int LEAST_BUFFER_BYTES = 4 << 20;
    private static final int FRAMING_BYTES = 1 << 20;

    /** So many messages may be on their way; how many bytes, the outbox says. */
    private static final int OUTSTANDING_MAX = 1 << 20;

    private static final int TRIES = 20;

    private final GroupConfiguration configuration;
    private final Identity identity;
    private final RaftProperties properties;
    private final Parameters parameters = new Parameters();
    private final RaftServer server;
    private final long heardWithinMillis;
    private volatile RaftServer.@Nullable Division division;

    /** Whether everything is here that was decided when this member came in touch with its leader: before that it is of no use. */
    private volatile boolean caughtUp;

    private volatile @Nullable Line sender;
    private volatile @Nullable Line asker;
    private volatile @Nullable RaftClient admin;
    private boolean closed;

    Ratis(GroupConfiguration configuration, Identity identity, OrderedLog log, Peers peers) throws IOException {
        this.configuration = configuration;
        this.identity = identity;
        this.properties = properties();
        this.heardWithinMillis = 2 * configuration.electionTimeout().toMillis();
        GrpcConfigKeys.Server.setServicesCustomizer(parameters, peers);
        RaftServer.Builder builder = RaftServer.newBuilder()
                .setServerId(Peers.peerId(identity.member(), identity.admission()))
                .setStateMachineRegistry(group -> log)
                .setOption(RaftStorage.StartupOption.RECOVER)
                .setProperties(properties)
                .setParameters(parameters);
        if (identity.opened()) {
            builder.setGroup(group(identity));
        }
        this.server = builder.build();
    }

    private static RaftGroup group(Identity identity) {
        GroupId history = identity.history();
        List<RaftPeer> peers = new ArrayList<>();
        if (identity.founded()) {
            identity.founders().forEach((member, admission) -> peers.add(peer(member, admission)));
        }
        return RaftGroup.valueOf(RaftGroupId.valueOf(new UUID(history.high(), history.low())), peers);
    }

    /** What a frame between members takes at most. */
    static int frameBytesMax(GroupConfiguration configuration) {
        return entryBytesMax(configuration) + FRAMING_BYTES;
    }

    private static int entryBytesMax(GroupConfiguration configuration) {
        return Math.max(LEAST_BUFFER_BYTES, configuration.messageBytesMax() + (FRAMING_BYTES >> 2));
    }

    static int segmentBytes(GroupConfiguration configuration) {
        return Math.min(SEGMENT_BYTES_MAX, configuration.segmentBytes());
    }

    private RaftProperties properties() {
        RaftProperties set = new RaftProperties();
        MemberId self = configuration.self();
        RaftConfigKeys.Rpc.setType(set, SupportedRpcType.GRPC);
        GrpcConfigKeys.Server.setHost(set, self.host());
        GrpcConfigKeys.Server.setPort(set, self.port());
        GrpcConfigKeys.setMessageSizeMax(set, bytes(frameBytesMax(configuration)));

        RaftServerConfigKeys.setStorageDir(
                set, List.of(configuration.directory().resolve("ratis").toFile()));
        RaftServerConfigKeys.setRemovedGroupsDir(
                set, configuration.directory().resolve("removed").toFile());
        int entryBytes = entryBytesMax(configuration);
        int segmentBytes = segmentBytes(configuration);
        RaftServerConfigKeys.Log.setSegmentSizeMax(set, bytes(segmentBytes));
        RaftServerConfigKeys.Log.setPreallocatedSize(set, bytes(Math.min(segmentBytes, LEAST_BUFFER_BYTES)));
        RaftServerConfigKeys.Log.setSegmentCacheNumMax(set, CACHED_SEGMENTS);
        RaftServerConfigKeys.Log.setSegmentCacheSizeMax(set, bytes(CACHED_SEGMENTS * segmentBytes));
        RaftServerConfigKeys.Log.Appender.setBufferByteLimit(set, bytes(entryBytes));
        RaftServerConfigKeys.Log.setWriteBufferSize(set, bytes(entryBytes + 64));
        // With it, Ratis 3.3.0 acknowledges what it has not: a request that begins with the same entry as one that is
        // being worked off counts as the same, also if it is longer (ServerImplUtils.NavigableIndices).
        RaftServerConfigKeys.Log.setAppendEntriesComposeEnabled(set, false);
        RaftServerConfigKeys.Log.setPurgeGap(set, 1);
        RaftServerConfigKeys.Log.setPurgeUptoSnapshotIndex(set, true);
        RaftServerConfigKeys.Snapshot.setAutoTriggerEnabled(set, false);
        RaftServerConfigKeys.Snapshot.setTriggerWhenStopEnabled(set, false);
        RaftServerConfigKeys.Snapshot.setTriggerWhenRemoveEnabled(set, false);
        RaftServerConfigKeys.Snapshot.setRetentionFileNum(set, 1);

        long electionMillis = configuration.electionTimeout().toMillis();
        RaftServerConfigKeys.Rpc.setTimeoutMin(set, millis(electionMillis));
        RaftServerConfigKeys.Rpc.setTimeoutMax(set, millis(electionMillis * 3 / 2));
        RaftServerConfigKeys.Rpc.setRequestTimeout(set, millis(2 * electionMillis));
        RaftServerConfigKeys.Rpc.setSlownessTimeout(set, TimeDuration.valueOf(1, TimeUnit.DAYS));
        // A machine that was suspended goes on; as long as it did not it neither led nor voted.
        RaftServerConfigKeys.setCloseThreshold(set, TimeDuration.valueOf(1, TimeUnit.DAYS));
        RaftServerConfigKeys.LeaderElection.setMemberMajorityAdd(set, true); // from one member to two
        RaftClientConfigKeys.Rpc.setRequestTimeout(set, millis(3 * electionMillis));
        RaftClientConfigKeys.Async.setOutstandingRequestsMax(set, OUTSTANDING_MAX);
        RaftClientConfigKeys.Async.Experimental.setSendDummyRequest(set, false);
        return set;
    }

    private static SizeInBytes bytes(int size) {
        return SizeInBytes.valueOf(size);
    }

    private static TimeDuration millis(long time) {
        return TimeDuration.valueOf(time, TimeUnit.MILLISECONDS);
    }

    /**
     * Listens, and goes on with the log that is there.
     *
     * @throws GroupException if it cannot listen
     */
    void start() throws IOException {
        MemberId self = configuration.self();
        try (ServerSocket socket = new ServerSocket()) {
            socket.setReuseAddress(true);
            socket.bind(new InetSocketAddress(InetAddress.getByName(self.host()), self.port()));
        } catch (IOException e) {
            throw new GroupException(
                    GroupException.Disposition.CORRECT,
                    "cannot listen on " + self + " (" + e.getMessage()
                            + "): is another process using that port, and is the host an address of this machine?",
                    e);
        }
        server.start();
    }

    /** Takes part in its history: forms it, if this member is one of its founders, or else waits to be taken in. */
    void open(Identity known) throws IOException {
        RaftGroup group = group(known);
        boolean has = false;
        for (RaftGroupId id : server.getGroupIds()) {
            has |= id.equals(group.getGroupId());
        }
        if (!has && !known.opened()) {
            RaftClientReply reply = server.groupManagement(GroupManagementRequest.newAdd(
                    ClientId.randomId(), server.getId(), CallId.getAndIncrement(), group));
            require(reply);
        }
        division = server.getDivision(group.getGroupId());
    }

    private static RaftPeer peer(MemberId member, long admission) {
        return RaftPeer.newBuilder()
                .setId(Peers.peerId(member, admission))
                .setAddress(member.name())
                .build();
    }

    boolean isOpen() {
        return division != null;
    }

    private RaftServer.Division opened() {
        RaftServer.Division now = division;
        if (now == null) {
            throw new GroupException(
                    GroupException.Disposition.RETRY, configuration.self() + " does not belong to a group yet");
        }
        return now;
    }

    RaftLog log() {
        return opened().getRaftLog();
    }

    /** Whether it still does what it is there for. */
    boolean isAlive() {
        return !isOpen() || opened().getInfo().isAlive();
    }

    // ---------------------------------------------------------------------------------------------- what is known

    private static List<MemberId> members(Collection<RaftPeer> peers) {
        return peers.stream()
                .map(peer -> Peers.member(peer.getId()))
                .distinct()
                .sorted()
                .toList();
    }

    View view(Set<MemberId> wanted) {
        RaftServer.Division now = division;
        if (now == null) {
            return View.NOTHING;
        }
        DivisionInfo info = now.getInfo();
        MemberId self = configuration.self();
        boolean counts = contains(self, identity.admission()); // and not the directory that it had before
        List<MemberId> members = members(now.getRaftConf().getCurrentPeers()).stream()
                .filter(member -> counts || !member.equals(self))
                .toList();
        List<MemberId> learners = Stream.concat(wanted.stream(), counts ? Stream.empty() : Stream.of(self))
                .filter(member -> !members.contains(member))
                .distinct()
                .sorted()
                .toList();
        RaftPeerId leader = info.getLeaderId();
        if (!isInTouch(info, leader)) {
            caughtUp = false;
        } else if (info.isLeader() || info.getLastAppliedIndex() >= commitIndexOf(now, leader)) {
            caughtUp = true;
        }
        boolean working = caughtUp && (counts || wanted.contains(self));
        return new View(members, learners, Optional.ofNullable(leader).map(Peers::member), working, 0);
    }

    private boolean isInTouch(DivisionInfo info, @Nullable RaftPeerId leader) {
        return info.isLeader()
                ? info.isLeaderReady()
                : leader != null && info.isFollower() && silentMillis(info) < heardWithinMillis;
    }

    /** For so long a follower has not heard of its leader. */
    private static long silentMillis(DivisionInfo info) {
        return info.getRoleInfoProto().getFollowerInfo().getLeaderInfo().getLastRpcElapsedTimeMs();
    }

    /** What this member, which belongs to a group, lacks to be of use. */
    String lacks() {
        RaftServer.Division now = opened();
        DivisionInfo info = now.getInfo();
        RaftPeerId leader = info.getLeaderId();
        if (leader == null || !(info.isLeader() || info.isFollower())) {
            return "Ratis, " + info.getCurrentRole() + " in term " + info.getCurrentTerm()
                    + ", knows no leader with a majority of "
                    + members(now.getRaftConf().getCurrentPeers());
        }
        if (!isInTouch(info, leader)) {
            return info.isLeader()
                    ? "it leads, once a majority has told that it follows"
                    : "its leader, " + Peers.member(leader) + ", has told nothing for " + silentMillis(info) + " ms";
        }
        return "has " + info.getLastAppliedIndex() + " of " + commitIndexOf(now, leader) + " entries that its leader, "
                + Peers.member(leader) + ", has";
    }

    /** What the leader has told to be decided. */
    private static long commitIndexOf(RaftServer.Division division, @Nullable RaftPeerId leader) {
        return division.getCommitInfos().stream()
                .filter(info -> RaftPeerId.valueOf(info.getServer().getId()).equals(leader))
                .mapToLong(info -> info.getCommitIndex())
                .max()
                .orElse(Long.MAX_VALUE);
    }

    boolean leads() {
        RaftServer.Division now = division;
        return now != null && now.getInfo().isLeader() && now.getInfo().isLeaderReady();
    }

    /** Whether a peer with this directory belongs to the group. */
    boolean contains(MemberId member, long admission) {
        return opened().getRaftConf().getPeer(Peers.peerId(member, admission)) != null;
    }

    // ----------------------------------------------------------------------------------------------- to the leader

    /** Whether there is anybody to send to. */
    boolean connect() {
        RaftServer.Division now = division;
        if (now == null || now.getRaftConf().getCurrentPeers().isEmpty()) {
            return false;
        }
        if (admin == null) {
            admin = client(tries());
            asker = renewed(null, tries());
        }
        sender = renewed(sender, RetryPolicies.retryForeverWithSleep(pause()));
        return true;
    }

    private TimeDuration pause() {
        return millis(Math.max(10, configuration.electionTimeout().toMillis() / 10));
    }

    private RetryPolicy tries() {
        return RetryPolicies.retryUpToMaximumCountWithFixedSleep(TRIES, pause());
    }

    /** A client that sends one entry behind the other. Once it has given one of them up it takes no more, for ever: another has to be made. */
    private static final class Line {
        private final RaftClient client;
        private volatile boolean lost;

        Line(RaftClient client) {
            this.client = client;
        }

        CompletableFuture<RaftClientReply> send(ByteString entry) {
            return client.async().send(Message.valueOf(entry)).whenComplete((reply, failure) -> {
                if (failure != null && !isAnswer(JavaUtils.unwrapCompletionException(failure))) {
                    lost = true;
                }
            });
        }

        /** Whether it is what the leader made of one entry, which is no matter of the others. */
        private static boolean isAnswer(Throwable failure) {
            return failure instanceof RaftException
                    && !(failure instanceof GroupMismatchException)
                    && !(failure instanceof AlreadyClosedException)
                    && !(failure instanceof RaftRetryFailureException);
        }

        void close() {
            try {
                client.close();
            } catch (IOException e) {
                LOG.debug("a client did not close in order", e);
            }
        }
    }

    /** The line itself, or another in the place of one that is lost. */
    private synchronized Line renewed(@Nullable Line line, RetryPolicy retry) {
        if (line != null && (!line.lost || closed)) {
            return line;
        }
        if (line != null) {
            Thread closer = new Thread(line::close, "gorda-client-" + configuration.self()); // can take seconds
            closer.setDaemon(true);
            closer.start();
        }
        return new Line(client(retry));
    }

    /** Ratis tells clients apart for ever: none has the name of another, of this run or one before. */
    private RaftClient client(RetryPolicy retry) {
        RaftServer.Division now = opened();
        long member = UUID.nameUUIDFromBytes((configuration.self() + "/" + identity.admission())
                        .getBytes(java.nio.charset.StandardCharsets.UTF_8))
                .getMostSignificantBits();
        return RaftClient.newBuilder()
                .setClientId(ClientId.valueOf(new UUID(member, UUID.randomUUID().getLeastSignificantBits())))
                .setRaftGroup(RaftGroup.valueOf(
                        now.getMemberId().getGroupId(), now.getRaftConf().getCurrentPeers()))
                .setProperties(properties)
                .setParameters(parameters)
                .setRetryPolicy(retry)
                .build();
    }

    private static <C> C connected(@Nullable C client) {
        if (client == null) {
            throw new GroupException(GroupException.Disposition.RETRY, "no member of the group is known yet");
        }
        return client;
    }

    /** Sends an entry behind those sent before, and again until it is in the order. What fails waits for {@link #connect}, and is then sent anew. */
    CompletableFuture<RaftClientReply> send(ByteString entry) {
        return connected(sender).send(entry);
    }

    /** Sends an entry, or gives up after a while. */
    CompletableFuture<RaftClientReply> trySend(ByteString entry) {
        return asking().send(entry);
    }

    private synchronized Line asking() {
        Line line = renewed(connected(asker), tries());
        asker = line;
        return line;
    }

    /** Waits; other threads are not held up. */
    private void change(UnaryOperator<List<RaftPeer>> change) throws IOException {
        RaftConfiguration conf = opened().getRaftConf();
        List<RaftPeer> current = List.copyOf(conf.getCurrentPeers());
        require(connected(admin)
                .admin()
                .setConfiguration(SetConfigurationRequest.Arguments.newBuilder()
                        .setServersInCurrentConf(current)
                        .setServersInNewConf(change.apply(current))
                        .setMode(SetConfigurationRequest.Mode.COMPARE_AND_SET)
                        .build()));
    }

    private static void require(RaftClientReply reply) throws IOException {
        if (!reply.isSuccess()) {
            throw new IOException(reply.getException());
        }
    }

    /** Takes a member in with the directory it has, in the place of one that it had. Waits until it has caught up. */
    void admit(MemberId member, long admission) throws IOException {
        change(current -> {
            List<RaftPeer> peers = without(current, member);
            peers.add(peer(member, admission));
            return peers;
        });
    }

    void remove(MemberId member) throws IOException {
        change(current -> without(current, member));
    }

    private static List<RaftPeer> without(List<RaftPeer> peers, MemberId member) {
        List<RaftPeer> others = new ArrayList<>(peers);
        others.removeIf(peer -> Peers.member(peer.getId()).equals(member));
        return others;
    }

    /** Ratis hands leadership only to who has a higher priority than the others, and then back to it whenever it can: so it has it for a while. */
    void transfer(MemberId successor) throws IOException {
        prioritize(successor);
        try {
            for (RaftPeer peer : opened().getRaftConf().getCurrentPeers()) {
                if (Peers.member(peer.getId()).equals(successor)) {
                    require(connected(admin)
                            .admin()
                            .transferLeadership(
                                    peer.getId(),
                                    2 * configuration.electionTimeout().toMillis()));
                }
            }
        } finally {
            prioritize(null);
        }
    }

    /** Gives one member a higher priority than the others have; null to give all the same. */
    void prioritize(@Nullable MemberId first) throws IOException {
        change(current -> prioritized(current, first));
    }

    /** Whether a member has a higher priority than others. */
    boolean isUneven() {
        return opened().getRaftConf().getCurrentPeers().stream()
                        .mapToInt(RaftPeer::getPriority)
                        .distinct()
                        .count()
                > 1;
    }

    private static List<RaftPeer> prioritized(List<RaftPeer> peers, @Nullable MemberId first) {
        return peers.stream()
                .map(peer -> RaftPeer.newBuilder(peer)
                        .setPriority(Peers.member(peer.getId()).equals(first) ? 1 : 0)
                        .build())
                .toList();
    }

    /** Has {@link OrderedLog#takeSnapshot} called, and purges what is before it. */
    CompletableFuture<RaftClientReply> snapshot() throws IOException {
        return server.snapshotManagementAsync(SnapshotManagementRequest.newCreate(
                ClientId.randomId(),
                server.getId(),
                opened().getMemberId().getGroupId(),
                CallId.getAndIncrement(),
                TimeUnit.MINUTES.toMillis(1),
                1));
    }

    @Override
    public void close() throws IOException {
        synchronized (this) {
            closed = true;
        }
        for (Line line : new Line[] {sender, asker}) {
            if (line != null) {
                line.close();
            }
        }
        RaftClient last = admin;
        if (last != null) {
            last.close();
        }
        server.close();
    }
}
