package org.gorda.jgcs.raft.member;

import java.nio.ByteBuffer;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.LinkedHashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.function.LongUnaryOperator;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.History;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.View;
import org.gorda.jgcs.raft.core.Checkpoint;
import org.gorda.jgcs.raft.core.Configuration;
import org.gorda.jgcs.raft.core.CorruptEntryException;
import org.gorda.jgcs.raft.core.Effects;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.raft.core.RaftCore;
import org.gorda.jgcs.raft.core.RaftMessage;
import org.gorda.jgcs.raft.core.Role;
import org.jspecify.annotations.Nullable;

/**
 * One member: carries out what its {@link RaftCore} wants, brings this member's messages to the leader until they are in the log
 * once, and as leader takes those of the others. Confined to one caller at a time, who then calls {@link #flush}. Any exception
 * but {@link CorruptEntryException} out of it means that the member must stop.
 */
public final class Member implements Effects {

    /** What a member needs of its surroundings. Calls must not lead back into the member. */
    public interface Host {

        /** Sends a frame, or loses it. The array is not changed afterwards. */
        void send(MemberId to, byte[] frame);

        /** Calls {@link Storage#force} and then {@link Member#stored} with these arguments, later. */
        void force(long generation, long index);

        /** Reads entries from disk and calls {@link Member#fetched}, later. */
        void fetch(MemberId forMember, long fromIndex, int bytesMax);

        /** Everything up to {@code index} is decided and stored here. */
        void committed(long index);

        /** {@link RaftCore#heldIndex} has changed; told only while this member {@linkplain #goAhead goes ahead}. */
        void held(long index);

        /** Up to here this member's user may have been shown anything, decided or not. */
        long shownIndex();

        /** The log was cut off before an index. Called before anything comes in its place. */
        void truncated(long fromIndex);

        /** The view may have changed. */
        void viewChanged();

        /**
         * Answers {@link Member#ask}.
         *
         * @param index negative if it could not be done now, or if whether it was done is not known
         */
        void answered(long number, long index);

        /** Another member's user has sent this to ours. */
        void direct(MemberId from, ByteBuffer payload);
    }

    private static final int BATCH_BYTES = RaftCore.BATCH_BYTES;

    /** As leader, take no more messages while so much is not decided: a majority is slow or gone. */
    private static final long UNDECIDED_BYTES_MAX = 64L << 20;

    /** Forward no more to a leader while so much of it is not decided. */
    private static final long FORWARDED_BYTES_MAX = 4L << 20;

    /**
     * While so many batches are on their way, what comes waits for one of them, unless it fills a batch itself. So a lone message
     * goes at once, and many go together: per message, hand-offs and system calls cost more than bytes.
     */
    private static final int BATCHES_IN_FLIGHT = 1;

    private record Batch(long lastIndex, long bytes) {}

    private record Asker(MemberId member, long number) {}

    /** Who asks from where on a read sees all, which is not before {@code shown}. */
    private record Reader(Asker asker, long shown) {}

    private record Gathered(Entry.Kind kind, MemberId member, long incarnation, long sequence, ByteBuffer payload) {}

    /** A member that wants to know when the entry at {@code index}, its message, is decided. */
    private record Waiting(long index, MemberId member) {}

    private final MemberId self;
    private final byte[] selfName;
    private final Storage storage;
    private final Host host;
    private final Outbox outbox;
    private final RaftCore core;
    private final FrameCodec codec;
    private final long resendNanos;
    private final Incarnations incarnations = new Incarnations();

    private long now;
    private boolean started;
    private boolean mustForce;
    private boolean forcing;

    // This member's own messages
    private volatile long incarnation;
    private boolean incarnationDecided;
    private long openSentNanos;
    private @Nullable MemberId forwardedTo;
    private long forwardedTerm;
    private long forwarded;
    private long forwardedOffset;
    private final Deque<Long> inFlight = new ArrayDeque<>();
    private long resendDueNanos;
    private long deliveredAtResend;

    // As leader, for the others
    private final Deque<Batch> undecided = new ArrayDeque<>();
    private long undecidedBytes;
    private final List<Gathered> gathered = new ArrayList<>();
    private final Map<MemberId, Incarnations.Last> gatheredLast = new HashMap<>();
    private long gatheredBytes;
    private final Deque<Waiting> waiting = new ArrayDeque<>();
    private final Set<MemberId> toTell = new LinkedHashSet<>();
    private final Map<Long, Reader> reads = new HashMap<>();
    private final TreeMap<Long, Asker> changes = new TreeMap<>();
    private long lastRead;
    private long toldHeld;
    private volatile boolean goesAhead;

    public Member(
            GroupConfiguration configuration, Storage storage, Outbox outbox, LongUnaryOperator random, Host host) {
        this.self = configuration.self();
        this.selfName = MessageHeader.nameOf(self);
        this.storage = storage;
        this.host = host;
        this.outbox = outbox;
        long electionNanos = configuration.electionTimeout().toNanos();
        this.resendNanos = electionNanos / 2;
        this.core =
                new RaftCore(self, storage.admission(), configuration.members(), electionNanos, random, this, storage);
        this.codec = new FrameCodec(configuration.group(), configuration.speaks(), self, storage.admission());
    }

    /**
     * Reads the storage and starts.
     *
     * @param incarnationAtLeast a number that an earlier run has hardly used, for instance the time
     * @param forms as {@link org.gorda.jgcs.GroupListener#mayForm}
     */
    public void start(long nowNanos, long incarnationAtLeast, boolean forms) {
        now = nowNanos;
        Checkpoint checkpoint = storage.checkpoint();
        core.recover(checkpoint, storage.formed());
        incarnations.reset(checkpoint.state());
        Storage.Boot boot = storage.open(entry -> {
            core.recover(entry);
            incarnations.append(entry);
        });
        incarnation = storage.nextIncarnation(incarnationAtLeast);
        codec.run(incarnation);
        codec.history(storage.history());
        Configuration newest = core.configuration();
        if (newest.timeline() > storage.history().timeline()) {
            learn(newest.history()); // it was told to go on alone, and killed before it wrote that down
        }
        core.lost(boot.lostConfiguration());
        if (!forms) {
            core.formsNone();
        }
        core.start(now, incarnation, boot.standing(), boot.term(), boot.vote());
        started = true;
        learnGroup();
    }

    private void learn(History history) {
        storage.saveHistory(history);
        codec.history(history);
    }

    // ---------------------------------------------------------------------------------------------- what is known

    public RaftCore core() {
        return core;
    }

    public View view() {
        return core.view(now);
    }

    /** The group's identity, unknown until its first entry is decided here. Thread-safe. */
    public GroupId group() {
        return history().group();
    }

    /** Which history the log is a part of, unknown until it is learned. Thread-safe. */
    public History history() {
        return codec.history();
    }

    /** Whether the message was sent by this process. Thread-safe. */
    public boolean isOwn(MessageId id) {
        return id.incarnation() == incarnation && id.member().equals(self);
    }

    /** Numbers this run. Thread-safe. */
    public long incarnation() {
        return incarnation;
    }

    // ------------------------------------------------------------------------------------------------------ events

    /**
     * A frame has arrived.
     *
     * @throws CorruptEntryException if it is not a frame of this group; it was ignored
     */
    public void receive(long nowNanos, byte[] bytes) {
        FrameCodec.Received received = codec.decode(bytes);
        MemberId from = received.from();
        if (from.equals(self)) {
            throw new CorruptEntryException("a frame that claims to come from this member itself");
        }
        now = nowNanos;
        try {
            work(received);
        } catch (CorruptEntryException e) {
            // Not the frame is damaged, but what it brought, and some of that may have been done already.
            throw new IllegalStateException("what " + from + " sent cannot be understood: " + e.getMessage(), e);
        }
    }

    private void work(FrameCodec.Received received) {
        MemberId from = received.from();
        Frame frame = received.frame();
        if (frame instanceof Frame.Core message) {
            boolean leads =
                    message.message() instanceof RaftMessage.Append || message.message() instanceof RaftMessage.Install;
            if (leads && !codec.history().isKnown() && received.history().isKnown()) {
                learn(received.history()); // which may begin far behind what it sends first
            }
            core.receive(now, from, received.admission(), received.run(), message.message());
        } else if (frame instanceof Frame.Propose propose) {
            takeProposal(from, propose);
        } else if (frame instanceof Frame.Open open) {
            takeOpen(from, open.incarnation());
        } else if (frame instanceof Frame.Expected expected) {
            onExpected(from, expected);
        } else if (frame instanceof Frame.Ask ask) {
            takeQuestion(new Asker(from, ask.number()), ask.question(), ask.about());
        } else if (frame instanceof Frame.Answer answer) {
            host.answered(answer.number(), answer.index());
        } else if (frame instanceof Frame.Direct direct) {
            host.direct(from, direct.payload());
        }
    }

    public void tick(long nowNanos) {
        now = nowNanos;
        core.tick(now);
        if (now >= resendDueNanos) {
            // Without progress, what was forwarded may be lost. A leader that has it already ignores it.
            if (outbox.deliveredSequence() == deliveredAtResend) {
                forwardAgain();
            } else {
                resendDueNanos = now + resendNanos;
                deliveredAtResend = outbox.deliveredSequence();
            }
        }
    }

    public void disconnected(long nowNanos, MemberId member) {
        now = nowNanos;
        core.suspect(now, member);
        if (member.equals(forwardedTo)) {
            forwardedTo = null;
        }
    }

    /** Entries are on disk. */
    public void stored(long nowNanos, long generation, long index) {
        now = nowNanos;
        forcing = false;
        if (generation == core.generation()) {
            storage.acknowledge(index);
            core.stored(now, generation, index);
        }
    }

    public void fetched(long nowNanos, MemberId forMember, List<Entry> entries) {
        now = nowNanos;
        core.fetched(now, forMember, entries);
    }

    /** The delivery has moved to another place in the log, so that messages of this member may never be delivered to it. */
    public void passedOver() {
        outbox.delivered(incarnations.decidedSequence(self, incarnation));
    }

    /** Its user is shown what is {@linkplain RaftCore#heldIndex held}, so that nothing is gained by waiting for a batch to be decided. Thread-safe. */
    public void goAhead(boolean ahead) {
        goesAhead = ahead;
    }

    /** The log begins behind the checkpoint now, which {@link Storage#prepare} has written. */
    public void compact(long nowNanos, Checkpoint checkpoint) {
        now = nowNanos;
        if (checkpoint.index() > storage.checkpoint().index()) {
            storage.adopt(checkpoint);
            core.compacted(checkpoint.index());
        }
    }

    /** Asks the leader, whoever it is; {@link Host#answered} tells. */
    public void ask(long nowNanos, long number, Question question, MemberId about) {
        now = nowNanos;
        MemberId leader = core.leader();
        if (leader == null) {
            host.answered(number, -1);
        } else if (leader.equals(self)) {
            takeQuestion(new Asker(self, number), question, about);
        } else {
            send(leader, new Frame.Ask(number, question, about));
        }
    }

    /** A frame that brings a user's message to another member's user. Thread-safe. */
    public byte[] direct(ByteBuffer payload) {
        return codec.encode(new Frame.Direct(payload));
    }

    /** Does what the events since the last flush have made possible; to be called after each or after several. */
    public void flush(long nowNanos) {
        now = nowNanos;
        bringOwnMessages();
        proposeGathered();
        force();
        tellDecided();
        if (goesAhead && core.heldIndex() != toldHeld) {
            toldHeld = core.heldIndex();
            host.held(toldHeld);
        }
    }

    // ------------------------------------------------------------------------------------- this member's own messages

    private void bringOwnMessages() {
        MemberId leader = core.leader();
        boolean leads = self.equals(leader);
        if (leader == null || (leads && !core.acceptsProposals())) {
            return;
        }
        if (!leader.equals(forwardedTo) || forwardedTerm != core.term()) {
            forwardedTo = leader;
            forwardedTerm = core.term();
            forwardAgain();
            openSentNanos = 0;
        }
        if (!incarnationDecided) {
            openIncarnation(leader);
        } else if (leads) {
            takeOwn();
        } else {
            forward(leader);
        }
    }

    private void openIncarnation(MemberId leader) {
        boolean inLog = incarnations.last(self).incarnation() == incarnation;
        if (inLog || (openSentNanos != 0 && now - openSentNanos < resendNanos)) {
            return;
        }
        openSentNanos = now;
        if (leader.equals(self)) {
            takeOpen(self, incarnation);
        } else {
            send(leader, new Frame.Open(incarnation));
        }
    }

    private void takeOwn() {
        long last = lastTaken(self).sequence();
        while (undecidedBytes < UNDECIDED_BYTES_MAX && gatheredBytes < BATCH_BYTES) {
            List<Outbox.Pending> next = outbox.after(last, BATCH_BYTES);
            if (next.isEmpty()) {
                return;
            }
            for (Outbox.Pending message : next) {
                gather(Entry.Kind.MESSAGE, self, incarnation, message.sequence(), message.payload());
            }
            proposeGathered();
            last = next.get(next.size() - 1).sequence();
        }
    }

    private void forward(MemberId leader) {
        // Its user may have answered from what another leader has nothing of: that will be decided, or all is
        // abandoned.
        if (host.shownIndex() > core.commitIndex()) {
            return;
        }
        long delivered = outbox.deliveredSequence();
        while (!inFlight.isEmpty() && inFlight.getFirst() <= delivered) {
            inFlight.removeFirst();
        }
        while (forwardedOffset - outbox.deliveredOffset() < FORWARDED_BYTES_MAX) {
            List<Outbox.Pending> next = outbox.after(forwarded, BATCH_BYTES);
            if (next.isEmpty()) {
                return;
            }
            long bytes = next.get(next.size() - 1).endOffset() - forwardedOffset;
            if (inFlight.size() >= BATCHES_IN_FLIGHT && bytes < BATCH_BYTES) {
                return;
            }
            send(
                    leader,
                    new Frame.Propose(
                            incarnation,
                            next.get(0).sequence(),
                            next.stream().map(Outbox.Pending::payload).toList()));
            Outbox.Pending last = next.get(next.size() - 1);
            forwarded = last.sequence();
            forwardedOffset = last.endOffset();
            inFlight.addLast(forwarded);
        }
    }

    private void forwardAgain() {
        forwarded = outbox.deliveredSequence();
        forwardedOffset = outbox.deliveredOffset();
        inFlight.clear();
        resendDueNanos = now + resendNanos;
        deliveredAtResend = forwarded;
    }

    private void onExpected(MemberId from, Frame.Expected expected) {
        if (!from.equals(forwardedTo)) {
            return;
        }
        if (expected.incarnation() == incarnation) {
            if (expected.sequence() < forwarded) {
                forwardAgain();
            }
        } else if (expected.incarnation() > incarnation) {
            if (incarnationDecided) {
                throw new IllegalStateException("another process takes part as " + self + ": it has incarnation "
                        + expected.incarnation() + ", this one " + incarnation);
            }
            beginAfter(expected.incarnation());
        }
    }

    /** There was an incarnation that this directory does not know of. Its run counts as the later one until this one has a higher number. */
    private void beginAfter(long earlier) {
        incarnation = storage.nextIncarnation(earlier + 1);
        codec.run(incarnation);
        core.renumber(incarnation);
        openSentNanos = 0;
    }

    // --------------------------------------------------------------------------------------- as leader, for the others

    /** The last message of a member that is in the log or gathered to be appended. */
    private Incarnations.Last lastTaken(MemberId member) {
        Incarnations.Last last = gatheredLast.get(member);
        return last == null ? incarnations.last(member) : last;
    }

    private void takeOpen(MemberId from, long number) {
        if (!core.acceptsProposals()) {
            return;
        }
        Incarnations.Last last = lastTaken(from);
        if (number > last.incarnation()) {
            gather(Entry.Kind.INCARNATION, from, number, 0, ByteBuffer.allocate(0));
        } else if (number < last.incarnation()) {
            if (from.equals(self)) {
                beginAfter(last.incarnation());
            } else {
                send(from, new Frame.Expected(last.incarnation(), last.sequence()));
            }
        }
    }

    private void takeProposal(MemberId from, Frame.Propose propose) {
        if (!core.acceptsProposals() || undecidedBytes >= UNDECIDED_BYTES_MAX) {
            return;
        }
        Incarnations.Last last = lastTaken(from);
        if (propose.incarnation() != last.incarnation() || propose.firstSequence() > last.sequence() + 1) {
            // If of an earlier one, of a process that is gone, or of one that must learn that another has taken its
            // place.
            send(from, new Frame.Expected(last.incarnation(), last.sequence()));
            return;
        }
        long sequence = propose.firstSequence();
        for (ByteBuffer payload : propose.payloads()) {
            if (sequence > last.sequence()) {
                gather(Entry.Kind.MESSAGE, from, propose.incarnation(), sequence, payload);
            }
            sequence++;
        }
    }

    private void gather(Entry.Kind kind, MemberId member, long ofIncarnation, long sequence, ByteBuffer payload) {
        gathered.add(new Gathered(kind, member, ofIncarnation, sequence, payload));
        gatheredLast.put(member, new Incarnations.Last(ofIncarnation, sequence));
        gatheredBytes += payload.remaining();
        if (gatheredBytes >= BATCH_BYTES) {
            proposeGathered();
        }
    }

    /** Appends what was gathered, encoded into one array: one write to disk, one copy per follower. */
    private void proposeGathered() {
        boolean leads = core.acceptsProposals();
        boolean waits = leads && !goesAhead && undecided.size() >= BATCHES_IN_FLIGHT && gatheredBytes < BATCH_BYTES;
        if (gathered.isEmpty() || waits) {
            return;
        }
        if (leads) {
            byte[][] names = new byte[gathered.size()][];
            int size = 0;
            for (int i = 0; i < names.length; i++) {
                Gathered message = gathered.get(i);
                names[i] = message.member().equals(self) ? selfName : MessageHeader.nameOf(message.member());
                size += Entry.HEADER_BYTES
                        + MessageHeader.length(names[i])
                        + message.payload().remaining();
            }
            byte[] batch = new byte[size];
            List<Entry> entries = new ArrayList<>(names.length);
            long index = core.lastIndex() + 1;
            int offset = 0;
            for (int i = 0; i < names.length; i++) {
                Gathered message = gathered.get(i);
                ByteBuffer payload =
                        ByteBuffer.wrap(batch, offset + Entry.HEADER_BYTES, size - offset - Entry.HEADER_BYTES);
                int start = payload.position();
                MessageHeader.write(payload, names[i], message.incarnation(), message.sequence());
                payload.put(message.payload().duplicate());
                int length = payload.position() - start;
                entries.add(Entry.encode(core.term(), index + i, message.kind(), batch, offset, length));
                offset += Entry.HEADER_BYTES + length;
                if (!message.member().equals(self)) {
                    waiting.addLast(new Waiting(index + i, message.member()));
                }
            }
            core.propose(now, entries);
        }
        gathered.clear();
        gatheredLast.clear();
        gatheredBytes = 0;
    }

    private void takeQuestion(Asker asker, Question question, MemberId about) {
        if (core.role() != Role.LEADER) {
            answer(asker, -1);
            return;
        }
        if (question == Question.READ) {
            reads.put(++lastRead, new Reader(asker, host.shownIndex()));
            core.read(now, lastRead);
            return;
        }
        Configuration current = core.configuration();
        long index = -1;
        if (question == Question.ADD && current.member(about) == null) {
            // The admission is not known before the new member says hello; until then nothing of it counts.
            index = core.change(now, current.with(new Configuration.Member(about, 0, false)));
        } else if (question == Question.REMOVE
                && current.member(about) != null
                && (!current.isVoter(about) || current.voters() > 1)) {
            index = core.change(now, current.without(about));
        } else if (question == Question.TRANSFER && core.transfer(now, about)) {
            answer(asker, core.commitIndex());
            return;
        }
        if (index <= core.commitIndex()) { // not done, or decided already, by a group of one
            answer(asker, index);
        } else {
            changes.put(index, asker);
        }
    }

    private void answer(Asker asker, long index) {
        if (asker.member().equals(self)) {
            host.answered(asker.number(), index);
        } else {
            send(asker.member(), new Frame.Answer(asker.number(), index));
        }
    }

    private void send(MemberId to, Frame frame) {
        host.send(to, codec.encode(frame));
    }

    private void force() {
        if (mustForce && !forcing) {
            mustForce = false;
            forcing = true;
            host.force(core.generation(), core.lastIndex());
        }
    }

    private void tellDecided() {
        for (MemberId member : toTell) {
            core.tellCommit(now, member);
        }
        toTell.clear();
    }

    // ------------------------------------------------------------------------------------------------ the core's wants

    @Override
    public void persist(long term, @Nullable MemberId votedFor) {
        storage.saveVote(term, votedFor);
    }

    @Override
    public void admitted(Configuration configuration) {
        storage.saveAdmitted(configuration);
    }

    @Override
    public void certain() {
        storage.saveCertain();
    }

    @Override
    public boolean append(List<Entry> entries) {
        storage.append(entries);
        long bytes = 0;
        for (Entry entry : entries) {
            incarnations.append(entry);
            bytes += entry.length();
        }
        long last = entries.get(entries.size() - 1).index();
        undecided.addLast(new Batch(last, bytes));
        undecidedBytes += bytes;
        if (storage.synced()) {
            mustForce = true;
            return false;
        }
        storage.acknowledge(last);
        return true;
    }

    @Override
    public void truncate(long fromIndex) {
        storage.truncate(fromIndex);
        host.truncated(fromIndex);
        incarnations.truncate(fromIndex);
        while (!undecided.isEmpty() && undecided.getLast().lastIndex() >= fromIndex) {
            undecidedBytes -= undecided.removeLast().bytes();
        }
    }

    @Override
    public void install(Checkpoint checkpoint) {
        storage.install(checkpoint);
        host.truncated(1);
        incarnations.reset(checkpoint.state());
        undecided.clear();
        undecidedBytes = 0;
        decided(checkpoint.index());
        host.committed(checkpoint.index());
    }

    @Override
    public void send(MemberId to, RaftMessage message) {
        send(to, new Frame.Core(message));
    }

    @Override
    public void fetch(MemberId forMember, long fromIndex, int bytesMax) {
        host.fetch(forMember, fromIndex, bytesMax);
    }

    @Override
    public void commit(long index) {
        decided(index);
        host.committed(index);
    }

    private void decided(long index) {
        incarnations.decided(index);
        while (!undecided.isEmpty() && undecided.getFirst().lastIndex() <= index) {
            undecidedBytes -= undecided.removeFirst().bytes();
        }
        while (!waiting.isEmpty() && waiting.getFirst().index() <= index) {
            toTell.add(waiting.removeFirst().member());
        }
        if (!incarnationDecided && incarnations.isDecided(self, incarnation)) {
            incarnationDecided = true;
            outbox.open();
        }
        while (!changes.isEmpty() && changes.firstKey() <= index) {
            Map.Entry<Long, Asker> change = changes.pollFirstEntry();
            answer(change.getValue(), change.getKey());
        }
        learnGroup();
    }

    private void learnGroup() {
        if (!codec.history().isKnown() && core.commitIndex() > 0) {
            learn(core.configurationAt(core.commitIndex()).history());
        }
    }

    @Override
    public void changed() {
        if (!started) {
            return;
        }
        if (core.role() != Role.LEADER) {
            // Whether a change that is not decided yet will be is not known here any more.
            changes.values().forEach(asker -> answer(asker, -1));
            changes.clear();
            waiting.clear();
        }
        host.viewChanged();
    }

    @Override
    public void readable(long request, long index) {
        Reader reader = reads.remove(request);
        if (reader != null) {
            answer(reader.asker(), Math.max(index, reader.shown()));
        }
    }

    @Override
    public void unreadable(long request) {
        Reader reader = reads.remove(request);
        if (reader != null) {
            answer(reader.asker(), -1);
        }
    }
}
