package org.gorda.replicator.core;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeMap;
import org.gorda.gapi.Content;
import org.gorda.gapi.Generator;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.WriteSet;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.View;
import org.jspecify.annotations.Nullable;

/**
 * One replica's decisions. A transaction carries the epoch that it began in, which is a place in the order; one whose epoch is not
 * current at its own place is discarded by all. An epoch either belongs to a primary, which alone executes (synchronous
 * primary-backup replication: Budhiraja, Marzullo, Schneider, Toueg 1993; asynchronous if its place in the order is taken for certain before a majority
 * has it, which is the shell's matter), or everywhere: every member executes, and what is ordered
 * is certified, see {@link Certifier}. Which {@link ReplicationProtocol}, the group's first epoch decides, and whoever changes it in the order.
 *
 * <p>A large transaction comes in chunks, of which only the places are kept: they are read again from the
 * log when the transaction is committed, and are of no use once it cannot be, because it was closed or its epoch is over. Pure; confined to one caller at a time.
 */
public final class ReplicaCore {

    /** Of what {@link #checkpoint} gives, which other replicas receive, too. */
    public static final byte STATE_VERSION = 9;

    /** A transaction may take so many places in the order from one of its chunks to the next, where every member executes. */
    private static final long CHUNKS_KEPT = 1_000_000;

    /** And so many bytes of the log, which is kept from its first chunk on. */
    private static final long CHUNKS_KEPT_BYTES = 1L << 30;

    private final MemberId self;
    private final long run;
    private final ReplicationProtocol configured;
    private final Effects effects;
    private final Outcomes outcomes = new Outcomes();
    private final Chunks chunks = new Chunks();
    private final Certifier certifier = new Certifier();
    private final Leases leases = new Leases();
    private final TreeMap<MemberId, Long> durable = new TreeMap<>();

    private FirstRows rows = FirstRows.NONE;
    private @Nullable MemberId primary;
    private long primaryRun;
    private ReplicationProtocol protocol = ReplicationProtocol.PRIMARY_BACKUP;
    private boolean everywhere;
    private long epoch;
    private long lastIndex;

    /** Of all messages taken. */
    private long bytes;

    private List<MemberId> members = List.of();
    private List<MemberId> learners = List.of();
    private boolean leads;

    /** Until it is delivered: what others have sent before, or this replica in earlier runs, is no answer to it. */
    private boolean candidacySent;

    private boolean renewalSent;

    /**
     * @param run tells this run of the replica from its earlier ones
     * @param configured what a group that has no epoch yet is to run
     */
    public ReplicaCore(MemberId self, long run, ReplicationProtocol configured, Effects effects) {
        this.self = self;
        this.run = run;
        this.configured = configured;
        this.effects = effects;
    }

    // ---------------------------------------------------------------------------------------------- what is known

    /** Who executes, if that is decided. */
    public @Nullable MemberId primary() {
        return primary;
    }

    /** The place in the order at which the primary became it; 0 if there is none. */
    public long epoch() {
        return epoch;
    }

    /** What the group runs, once it has an epoch. */
    public ReplicationProtocol protocol() {
        return protocol;
    }

    /** Whether every member executes. */
    public boolean isEverywhere() {
        return everywhere;
    }

    /** Whether a member executes in the current epoch. */
    private boolean executes(MemberId member) {
        return everywhere || member.equals(primary);
    }

    public boolean isPrimaryHere() {
        return self.equals(primary) && primaryRun == run;
    }

    /** The index of the last message taken. */
    public long lastIndex() {
        return lastIndex;
    }

    /** The lowest index whose message is needed to go on from here, {@link Long#MAX_VALUE} if none is. */
    public long firstNeeded() {
        return chunks.first();
    }

    /** The place of the last transaction that changed the schema where every member executes; 0 if there was none. */
    public long schemaChanged() {
        return certifier.schemaChanged();
    }

    /** Of how many transactions there are chunks, and no decision yet. */
    public int openTransactions() {
        return chunks.transactions();
    }

    /** What this replica's database holds that nobody has replicated; to be called before the first event. */
    public void holds(FirstRows held) {
        rows = held;
    }

    // ------------------------------------------------------------------------------------------------------ events

    /** A message is delivered, in its order. */
    public void delivered(Message message) {
        long index = message.position().index();
        if (index <= lastIndex) {
            throw new IllegalStateException("message at " + index + " delivered after " + lastIndex);
        }
        lastIndex = index;
        bytes += message.payload().remaining();
        if (everywhere && chunks.transactions() > 0) {
            chunks.forgetEarlierRuns(message.id());
            // No new epoch will end those of a member that does not come back.
            chunks.forgetBefore(index - CHUNKS_KEPT, bytes - CHUNKS_KEPT_BYTES);
        }
        ReplicaMessage content = ReplicaMessage.decode(message.payload());
        if (content instanceof ReplicaMessage.Commit commit) {
            decide(message, commit);
        } else if (content instanceof ReplicaMessage.Chunk chunk) {
            boolean current = chunk.epoch() == epoch && executes(message.id().member());
            // Those behind the first are only taken up if the first one was, and as long as it counts.
            boolean mayBegin = Outcomes.covers(chunk.base(), index) && outcomes.decided(chunk.id()) == null;
            if (current && (chunk.number() > 0 || mayBegin)) {
                chunks.add(message.id(), chunk.id(), chunk.number(), index, bytes);
            }
            if (everywhere) {
                closeAbandoned();
            }
            effects.chunk(chunk.id());
        } else if (content instanceof ReplicaMessage.Primary proclaimed) {
            if (proclaimed.member().equals(self) && proclaimed.run() == run) {
                candidacySent = false;
            }
            // Where every member executes, it was sent before that was decided.
            if (!everywhere) {
                primary = proclaimed.member();
                primaryRun = proclaimed.run();
                beginEpoch(index);
                effects.primary(proclaimed.member(), epoch, isPrimaryHere());
                seekPrimacy();
            }
        } else if (content instanceof ReplicaMessage.Begin begin) {
            if (message.id().member().equals(self)) {
                candidacySent = false; // also if it was for nothing, because there was an epoch already
            }
            if (epoch == 0) {
                effects.begun(message.position(), message.id().member(), begin.rows());
                changeProtocol(begin.protocol(), message.position());
            }
            seekPrimacy();
        } else if (content instanceof ReplicaMessage.ChangeProtocol change) {
            if (epoch > 0 && change.epoch() == epoch && change.protocol() != protocol) {
                changeProtocol(change.protocol(), message.position());
            }
            seekPrimacy();
        } else if (content instanceof ReplicaMessage.Close close) {
            // If there are chunks of it, it is not decided, however long ago it asked to be committed.
            boolean open = chunks.take(close.id()).length > 0;
            Outcome outcome = outcomes.close(close.id(), open ? index : close.since(), index);
            effects.outcome(close.request(), message.id().member(), close.id(), outcome);
        } else if (content instanceof ReplicaMessage.Abandon abandon) {
            chunks.abandon(abandon);
        } else if (content instanceof ReplicaMessage.Verify verify) {
            if (verify.epoch() == epoch) {
                effects.verify(verify.request(), message.position());
            }
        } else if (content instanceof ReplicaMessage.Lease lease) {
            if (everywhere) {
                boolean current = lease.seen() >= certifier.schemaChanged();
                LeasedRange range = current ? leases.grant(lease.state(), lease.count()) : null;
                effects.lease(lease.request(), message.id().member(), range);
            }
        } else if (content instanceof ReplicaMessage.SchemaTurn turn) {
            if (everywhere) {
                if (!turn.ends()) {
                    certifier.schemaTurn(index, turn.id(), message.id().member());
                }
                effects.schemaTurn(turn.id(), message.position(), turn.ends());
            }
        } else if (content instanceof ReplicaMessage.Durable told) {
            durable.merge(told.member(), told.index(), Math::max);
            tellDurable();
        }
    }

    private void changeProtocol(ReplicationProtocol next, Position position) {
        protocol = next;
        everywhere = next.isEverywhere();
        primary = null;
        Map<Generator, OptionalLong> leased = leases.takeAll();
        beginEpoch(position.index());
        certifier.begin(position.index());
        effects.protocolChanged(next, position, leased);
    }

    private void beginEpoch(long index) {
        epoch = index;
        chunks.clear();
        renewalSent = false;
    }

    private void decide(Message message, ReplicaMessage.Commit commit) {
        long index = message.position().index();
        MemberId sender = message.id().member();
        Refusal refusal = null;
        String decided = outcomes.decided(commit.id());
        boolean current = commit.epoch() == epoch && executes(sender);
        long[] preceding = current ? chunks.take(message.id(), commit.id()) : Chunks.NONE;
        if (!current) {
            refusal = new Refusal(
                    Refusal.Cause.PRIMARY_CHANGED,
                    "the primary changed from " + sender + " (epoch " + commit.epoch() + ") to "
                            + (everywhere ? "every member" : primary) + " (epoch " + epoch + ") before transaction "
                            + commit.id() + " was ordered at " + message.position()
                            + "; it did not happen: run it again");
        } else if (everywhere && commit.begun() < epoch) {
            refusal = new Refusal(
                    Refusal.Cause.PRIMARY_CHANGED,
                    "transaction " + commit.id() + " began at " + commit.begun()
                            + ", before every replica took writes (epoch " + epoch
                            + "); it did not happen: run it again");
        } else if (!Outcomes.covers(commit.executed(), index)) {
            refusal = new Refusal(
                    Refusal.Cause.OVERDUE,
                    "transaction " + commit.id() + " was ordered at " + index + ", too long after " + commit.executed()
                            + ", where it asked to be committed; it did not happen: run it again");
        } else if (decided != null) {
            refusal = new Refusal(
                    Refusal.Cause.OVERDUE,
                    "transaction " + commit.id() + " was ordered at " + index + ", but " + decided
                            + "; this one did not happen");
        } else if (preceding.length != commit.chunks()) {
            refusal = new Refusal(
                    Refusal.Cause.OVERDUE,
                    "transaction " + commit.id() + " has " + commit.chunks() + " chunks, of which " + preceding.length
                            + " were ordered before " + message.position() + "; it did not happen: run it again");
        }
        if (refusal != null) {
            effects.discard(commit.id(), commit.epoch(), refusal);
        } else if (!everywhere || isCertified(message, commit)) {
            outcomes.put(commit.id(), true, index);
            if (everywhere && certifier.schemaChanged() == index) {
                effects.settle(leases.takeAll());
            }
            effects.commit(message.position(), commit.id(), preceding, commit.writeSet());
        }
    }

    private boolean isCertified(Message message, ReplicaMessage.Commit commit) {
        long index = message.position().index();
        WriteSet writeSet = WriteSet.decode(commit.writeSet(), Content.EMPTY);
        if (!certifier.knows(writeSet, commit.begun(), commit.executed())) {
            effects.discard(
                    commit.id(),
                    commit.epoch(),
                    new Refusal(
                            Refusal.Cause.OVERDUE,
                            "transaction " + commit.id() + " was ordered at " + index + ", too long after "
                                    + commit.begun()
                                    + ", where it began; it did not happen: run it again, in smaller parts if need be"));
            return false;
        }
        Conflict conflict = certifier.certify(
                writeSet,
                commit.begun(),
                commit.executed(),
                index,
                commit.id(),
                message.id().member());
        if (conflict != null) {
            effects.conflict(commit.id(), conflict);
        }
        return conflict == null;
    }

    /** The view has changed. The primary follows the leader of the order, which spares a hop. */
    public void viewChanged(View view) {
        leads = view.working() && view.isLeader(self);
        if (!leads) {
            candidacySent = false;
        }
        members = view.members();
        learners = view.learners();
        seekPrimacy();
        closeAbandoned();
        tellDurable();
    }

    /**
     * A transaction that was sent has lost its locks before its place in the order is known, so that what runs here from now on may
     * not see it and yet follow it. Begins a new epoch, in which it can only be seen or discarded; until then nothing may run here.
     */
    public void renew() {
        if (isPrimaryHere() && !renewalSent) {
            renewalSent = true;
            effects.send(new ReplicaMessage.Primary(self, run));
        }
    }

    private void seekPrimacy() {
        if (leads && !everywhere && !isPrimaryHere() && !candidacySent) {
            candidacySent = true;
            effects.send(
                    epoch == 0 ? new ReplicaMessage.Begin(configured, rows) : new ReplicaMessage.Primary(self, run));
        }
    }

    /** The leader gives up large transactions of members that were removed from the group. Others end those of their earlier runs. */
    private void closeAbandoned() {
        if (leads && everywhere && chunks.transactions() > 0) {
            Set<MemberId> present = new HashSet<>(members);
            present.addAll(learners);
            chunks.ofOthers(present).forEach(effects::send);
        }
    }

    private void tellDurable() {
        long everywhere = Long.MAX_VALUE;
        for (MemberId member : members) {
            everywhere = Math.min(everywhere, durable.getOrDefault(member, 0L));
        }
        if (!members.isEmpty() && everywhere > 0) {
            effects.durableEverywhere(everywhere);
        }
    }

    // -------------------------------------------------------------------------------------------------- checkpoint

    /** Everything that was decided up to {@link #lastIndex} and must be known to go on. */
    public ByteBuffer checkpoint() {
        byte[] name = primary == null ? new byte[0] : primary.name().getBytes(StandardCharsets.UTF_8);
        int size = 1 + 8 * 4 + 1 + 2 + name.length + 4 + outcomes.encodedBytes() + chunks.encodedBytes();
        size += everywhere ? certifier.encodedBytes() + leases.encodedBytes() : 0;
        for (MemberId member : durable.keySet()) {
            size += 10 + member.name().getBytes(StandardCharsets.UTF_8).length;
        }
        ByteBuffer state = ByteBuffer.allocate(size);
        state.put(STATE_VERSION).putLong(lastIndex).putLong(epoch).putLong(primaryRun);
        state.put(ReplicaMessage.Kind.code(protocol));
        state.putShort((short) name.length).put(name);
        state.putLong(bytes);
        state.putInt(durable.size());
        for (Map.Entry<MemberId, Long> entry : durable.entrySet()) {
            byte[] member = entry.getKey().name().getBytes(StandardCharsets.UTF_8);
            state.putLong(entry.getValue()).putShort((short) member.length).put(member);
        }
        outcomes.encode(state);
        chunks.encode(state);
        if (everywhere) {
            certifier.encode(state);
            leases.encode(state);
        }
        return state.flip();
    }

    /**
     * Which protocol the group ran when {@link #checkpoint} gave this.
     *
     * @throws MalformedMessageException if the bytes are not such a checkpoint
     */
    public static ReplicationProtocol protocol(ByteBuffer state) {
        try {
            ByteBuffer in = state.duplicate();
            checkVersion(in.get());
            in.position(in.position() + 3 * Long.BYTES);
            return ReplicaMessage.Kind.protocol(in.get());
        } catch (java.nio.BufferUnderflowException | IllegalArgumentException e) {
            throw new MalformedMessageException("a checkpoint is cut short");
        }
    }

    private static void checkVersion(byte version) {
        if (version != STATE_VERSION) {
            throw new MalformedMessageException("a checkpoint of version " + version + ", this replica reads version "
                    + STATE_VERSION + ": start it with the release that wrote the checkpoint, nothing was changed");
        }
    }

    /**
     * Takes up what {@link #checkpoint} gave, before the first event.
     *
     * @throws MalformedMessageException if the bytes are not such a checkpoint
     */
    public void restore(ByteBuffer state) {
        try {
            ByteBuffer in = state.duplicate();
            checkVersion(in.get());
            lastIndex = in.getLong();
            epoch = in.getLong();
            primaryRun = in.getLong();
            protocol = ReplicaMessage.Kind.protocol(in.get());
            everywhere = protocol.isEverywhere();
            String name = text(in);
            primary = name.isEmpty() ? null : new MemberId(name);
            bytes = in.getLong();
            durable.clear();
            int count = in.getInt();
            for (int i = 0; i < count; i++) {
                long index = in.getLong();
                durable.put(new MemberId(text(in)), index);
            }
            outcomes.decode(in);
            chunks.decode(in);
            if (everywhere) {
                certifier.decode(in);
                leases.decode(in);
            }
        } catch (java.nio.BufferUnderflowException | IllegalArgumentException e) {
            throw new MalformedMessageException("a checkpoint is cut short or malformed: " + e.getMessage());
        }
    }

    static String text(ByteBuffer in) {
        int length = in.getShort() & 0xffff;
        if (length > in.remaining()) {
            throw new java.nio.BufferUnderflowException();
        }
        byte[] bytes = new byte[length];
        in.get(bytes);
        return new String(bytes, StandardCharsets.UTF_8);
    }
}
