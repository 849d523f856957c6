package org.gorda.replicator.simulator;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import java.util.function.LongConsumer;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.TransactionId;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.View;
import org.gorda.jgcs.simulated.SimulatedGroup;
import org.gorda.replicator.core.Conflict;
import org.gorda.replicator.core.Effects;
import org.gorda.replicator.core.FirstRows;
import org.gorda.replicator.core.LeasedRange;
import org.gorda.replicator.core.Outcome;
import org.gorda.replicator.core.ReplicaCore;
import org.gorda.replicator.core.ReplicaMessage;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.simulator.ClientTransaction.Answer;
import org.jspecify.annotations.Nullable;

/**
 * One run of a replica's process: the shell around the {@link ReplicaCore} in virtual time, by the rules of {@code ReplicaEngine}
 * in real time. Confined to one thread.
 */
final class SimulatedReplica implements GroupListener, Effects {

    /** How many messages there are between two epochs of the same primary, where a mistake is only seen then. */
    private static final int RENEWED_EVERY = 40;

    private static final int SEGMENT_SETS_MAX = 5;
    private static final long MAINTENANCE_NANOS = 700_000_000L;
    private static final long RETRY_NANOS = 50_000_000L;
    private static final long READ_AGAIN_NANOS = 1_000_000L;

    private final SimulatedCluster cluster;
    private final SimulatedHost host;
    private final SplittableRandom random;
    private final ReplicaCore core;
    private final SimulatedGroup group;
    private final SimulatedBank bank;
    private final SimulatedDatabase database;
    private final Position stored;
    private final Map<TransactionId, ClientTransaction> open = new LinkedHashMap<>();
    private final List<ClientTransaction> toRelease = new ArrayList<>();

    /** In the segment: their locks were lost to others that were ordered before. */
    private final List<ClientTransaction> replayed = new ArrayList<>();

    /** What the group has told since the delivery waits for a lock. */
    private final Deque<Runnable> held = new ArrayDeque<>();

    private boolean waits;

    private final Map<Long, Consumer<Outcome>> closing = new LinkedHashMap<>();

    private final SimulatedTurns turns;
    private View view = View.NOTHING;
    private Position last = Position.START;
    private boolean storedFound;
    private boolean primaryHere;
    private boolean online;
    private boolean announced;
    private boolean hasDelivered;

    /** Whether the database may hold what was committed before a majority had it. */
    private boolean mayBeAhead;

    private final DecidedLater decidedLater;

    /** Nothing that comes next is worked off any more. */
    private boolean failed;

    private boolean dead;
    private boolean paused;
    private long visibleIndex;
    private long checkpointedIndex;
    private long restartIndex;
    private long toldDurable;
    private long lastRequest;

    SimulatedReplica(SimulatedCluster cluster, SimulatedHost host) {
        this.cluster = cluster;
        this.host = host;
        this.random = cluster.simulation.random("replica " + host.name + cluster.simulation.now());
        this.core = new ReplicaCore(host.name, random.nextLong(), cluster.begins, this);
        this.lastRequest = random.nextLong() >>> 2;
        this.bank = host.bank;
        this.database = new SimulatedDatabase(cluster, host, this::later);
        this.stored = cluster.flaw == Flaw.STORES_POSITION_AFTERWARDS ? bank.storedBefore() : bank.stored();
        this.turns = new SimulatedTurns(cluster.simulation);
        this.group = cluster.open(host.name, this);
        this.decidedLater = new DecidedLater(group);
    }

    // ----------------------------------------------------------------------------------------------- start and stop

    void start() {
        storedFound = stored.index() == 0;
        Position after = Position.START;
        SimulatedHost.Checkpoint checkpoint = host.checkpoint;
        if (checkpoint != null) {
            if (checkpoint.stored().index() > stored.index()) {
                cluster.simulation.broken(host.name + " finds its database at " + stored + ", behind its checkpoint at "
                        + checkpoint.stored());
            }
            core.restore(checkpoint.state());
            after = checkpoint.position();
            storedFound |= checkpoint.stored().equals(stored);
            checkpointedIndex = after.index();
            restartIndex = neededBehind(after.index());
            last = after;
            visibleIndex = after.index();
            mayBeAhead = core.protocol() == ReplicationProtocol.ASYNCHRONOUS;
        }
        group.join(after);
        later(MAINTENANCE_NANOS, "maintain", this::maintainAgain);
    }

    /** What happens in this process unless it dies first; while it is paused, not yet. */
    void later(long delayNanos, String what, Runnable action) {
        cluster.simulation.schedule(delayNanos, what, () -> {
            if (paused && !dead) {
                later(RETRY_NANOS, what, action);
            } else if (!dead) {
                action.run();
            }
        });
    }

    void pause(boolean value) {
        paused = value;
        group.pause(value);
    }

    void kill() {
        tellDecided();
        dead = true;
        group.kill();
        List.copyOf(open.values()).forEach(ClientTransaction::answerLost);
    }

    /** Stops by itself; somebody starts it again. */
    private void fail(String why) {
        cluster.simulation.note("fails: " + why);
        primaryHere = false;
        failed = true;
        held.clear();
        // Not from within the group, which may be calling.
        later(0, "failed", () -> host.crash(() -> {}));
    }

    SimulatedGroup group() {
        return group;
    }

    ReplicaCore core() {
        return core;
    }

    boolean isOnline() {
        return online;
    }

    /** Whether clients can write here. */
    boolean executes() {
        return core.isEverywhere() ? online : primaryHere;
    }

    /** Whether everything is done that was asked of this replica. */
    boolean isQuiet() {
        return open.isEmpty()
                && decidedLater.isEmpty()
                && held.isEmpty()
                && database.isQuiet()
                && core.openTransactions() == 0;
    }

    // ------------------------------------------------------------------------------------------- local transactions

    /** Runs a transaction and commits it; the client is told once, unless its connection breaks. */
    void execute(Intent intent, Consumer<Answer> client) {
        later(random.nextLong(1_000_000), "begin", () -> {
            boolean early = cluster.flaw == Flaw.EXECUTES_BEFORE_OWN_ENTRY && leads();
            if (!view.working() || !(executes() || early)) {
                client.accept(Answer.REFUSED);
                return;
            }
            ClientTransaction begun = new ClientTransaction(this, cluster, random, intent, client);
            open.put(intent.id(), begun);
            begun.start();
        });
    }

    SimulatedDatabase database() {
        return database;
    }

    /** Up to where everything is visible here, and has been executed. */
    long visibleIndex() {
        return visibleIndex;
    }

    boolean leads() {
        return view.isLeader(host.name);
    }

    /** Whether clients may go on here, as far as this replica knows. */
    boolean mayExecute() {
        return view.working() && (executes() || cluster.flaw == Flaw.EXECUTES_BEFORE_OWN_ENTRY);
    }

    boolean isTurnOf(TransactionId id) {
        return turns.isTurnOf(id, visibleIndex);
    }

    /** Whether nobody's change of the schema keeps others from sending. */
    boolean isRoom() {
        return turns.isRoom(visibleIndex);
    }

    MessageId multicast(ByteBuffer message) {
        return group.multicast(message, Duration.ZERO);
    }

    void trySend(ReplicaMessage message) {
        try {
            multicast(ReplicaMessage.encode(message));
        } catch (GroupException e) {
            cluster.simulation.note("not sent");
        }
    }

    void isOver(ClientTransaction answered) {
        open.remove(answered.intent.id());
    }

    /** The client goes away without knowing, and the transaction's locks with it: what runs from now on may have read too little. */
    void overdue(ClientTransaction sent) {
        if (sent.isAnswered() || toRelease.contains(sent)) {
            return;
        }
        if (!core.isEverywhere() && cluster.flaw != Flaw.GIVES_UP_WITHOUT_NEW_EPOCH) {
            primaryHere = false;
            inOrder(core::renew);
        }
        sent.answer(Answer.UNKNOWN);
    }

    /** Asks for a transaction's outcome; there may be no answer. */
    void close(TransactionId id, long since, Consumer<Outcome> asker) {
        later(random.nextLong(1_000_000), "close", () -> {
            if (cluster.flaw == Flaw.TELLS_OUTCOME_WITHOUT_ORDER) {
                asker.accept(bank.holds(id) ? Outcome.COMMITTED : Outcome.ABORTED);
                return;
            }
            long request = ++lastRequest;
            closing.put(request, asker);
            try {
                multicast(ReplicaMessage.encode(new ReplicaMessage.Close(id, since, request)));
            } catch (GroupException e) {
                closing.remove(request);
            }
        });
    }

    /** Makes sure to be up to date, then reads up to where the database has everything; there may be no answer. */
    void read(LongConsumer client) {
        if (cluster.flaw == Flaw.READS_WITHOUT_ASKING) {
            client.accept(bank.stored().index());
            return;
        }
        long deadline = cluster.simulation.now() + 3 * cluster.electionTimeout.toNanos();
        var unused = group.readPosition().thenAccept(upTo -> awaitVisible(upTo.index(), deadline, client));
    }

    private void awaitVisible(long index, long deadline, LongConsumer client) {
        if (dead || cluster.simulation.now() > deadline) {
            return;
        }
        if (visibleIndex >= index) {
            client.accept(bank.stored().index());
        } else {
            later(READ_AGAIN_NANOS, "await visible", () -> awaitVisible(index, deadline, client));
        }
    }

    // ----------------------------------------------------------------------------------------------- the group tells

    /** While a change waits for a lock the group delivers nothing, and what it has told already waits, too. */
    private void inOrder(Runnable event) {
        if (waits) {
            held.addLast(event);
        } else {
            work(event);
        }
    }

    private void work(Runnable event) {
        try {
            event.run();
        } catch (ReflectionException e) {
            fail("commit");
        }
        waits = database.isApplying();
        group.stall(waits);
    }

    private void goOn(Runnable first) {
        work(first);
        while (!waits && !held.isEmpty()) {
            work(held.removeFirst());
        }
    }

    @Override
    public void onMessage(Message message) {
        inOrder(() -> deliver(message));
    }

    private void deliver(Message message) {
        if (failed) {
            return;
        }
        tellDecided();
        boolean isFirst = !hasDelivered;
        hasDelivered = true;
        last = message.position();
        if (isFirst && host.checkpoint != null && cluster.flaw == Flaw.SKIPS_ONE_AFTER_RESTART) {
            return;
        }
        tell(() -> cluster.witness.delivered(host.name, message));
        if (!checkStored(message.position())) {
            return;
        }
        core.delivered(cluster.flaw == Flaw.IGNORES_THE_EPOCH ? withCurrentEpoch(message) : message);
        if (cluster.flaw == Flaw.IGNORES_THE_EPOCH && message.position().index() % RENEWED_EVERY == 0) {
            core.renew(); // as after a transaction that has lost its locks
        }
    }

    private Message withCurrentEpoch(Message message) {
        if (!(ReplicaMessage.decode(message.payload()) instanceof ReplicaMessage.Commit commit)) {
            return message;
        }
        ByteBuffer changed = ByteBuffer.allocate(message.payload().remaining());
        ReplicaMessage.putWriteSetHeader(
                changed, commit.id(), core.epoch(), commit.begun(), commit.executed(), commit.chunks());
        return new Message(
                message.position(),
                message.id(),
                changed.put(commit.writeSet().duplicate()).flip());
    }

    /** Whether what is done now follows from what no majority is known to have yet. */
    private boolean isAhead() {
        return decidedLater.isAhead(last);
    }

    private void tell(Runnable telling) {
        decidedLater.tell(last, telling);
    }

    /** Tells the witness what is decided by now; what is lost, it never learns. */
    void tellDecided() {
        if (!dead) {
            decidedLater.tellDecided();
        }
    }

    /** The client relies on it, and may yet lose it. */
    private void answerCommitted(ClientTransaction committed) {
        if (mayBeAhead && isAhead()) {
            cluster.witness.risked(committed.intent.id());
        }
        committed.answer(Answer.COMMITTED);
    }

    /** A chunk is not held any more, which is nobody's fault if this replica did not count when the others released it. */
    private boolean lacks(long[] chunks) {
        if (chunks.length > 0 && chunks[0] <= group.firstHeld().index() && chunks[0] > host.released) {
            host.wantCopy();
            fail("a chunk is gone");
        }
        return failed;
    }

    /** False if the database is of no use any more. */
    private boolean checkStored(Position position) {
        storedFound |= cluster.flaw == Flaw.IGNORES_WHERE_ITS_DATABASE_ENDS;
        boolean isBefore = position.index() < stored.index() && position.term() <= stored.term();
        if (storedFound || isBefore) {
            return true;
        }
        if (!position.equals(stored)) {
            return endsElsewhere("it has " + position);
        }
        storedFound = true;
        return true;
    }

    private boolean endsElsewhere(String history) {
        if (mayBeAhead) {
            host.wantCopy();
            fail("what only an asynchronous primary had is lost");
        } else {
            cluster.simulation.broken(
                    host.name + " holds " + stored + ", which is not part of the history: " + history);
        }
        return false;
    }

    @Override
    public void onCaughtUp(Position upTo) {
        inOrder(() -> caughtUp(upTo));
    }

    private void caughtUp(Position upTo) {
        if (failed) {
            return;
        }
        commitSegment();
        releaseDurably();
        if (!storedFound && upTo.term() > stored.term() && upTo.index() < stored.index()) {
            endsElsewhere("it ends at " + upTo);
            return;
        }
        tellDecided();
        visibleIndex = Math.max(visibleIndex, upTo.index());
        online |= isUpToDate(view);
        announceRun();
    }

    private boolean isUpToDate(View now) {
        return storedFound && now.working() && visibleIndex >= now.decided();
    }

    private void releaseDurably() {
        if (!toRelease.isEmpty()) {
            bank.flush();
            toRelease.forEach(this::answerCommitted);
            toRelease.clear();
        }
    }

    private void announceRun() {
        if (online && core.isEverywhere() && !announced) {
            announced = true;
            send(new ReplicaMessage.Durable(host.name, restartIndex));
        }
    }

    @Override
    public void onView(View next) {
        inOrder(() -> view(next));
    }

    private void view(View next) {
        if (failed) {
            return;
        }
        boolean began = next.working() && !view.working();
        view = next;
        online &= next.working() && visibleIndex >= next.decided();
        online |= began && visibleIndex >= group.lastCommitted().index() && isUpToDate(next);
        announceRun();
        core.viewChanged(next);
    }

    @Override
    public void onGap(Position firstHeld, String reason) {
        inOrder(() -> {
            host.wantCopy();
            fail("gap");
        });
    }

    @Override
    public void onStop(GroupException cause) {
        fail("stop");
    }

    // ------------------------------------------------------------------------------------------------ the core wants

    @Override
    public void commit(Position position, TransactionId id, long[] chunks, ByteBuffer writeSet) {
        boolean released = chunks.length > 0 && chunks[0] <= group.firstHeld().index();
        if (position.index() <= stored.index() && released && cluster.flaw != Flaw.APPLIES_WHAT_IS_STORED) {
            tell(() -> cluster.witness.decided(host.name, position.index(), id, true));
            return;
        }
        if (lacks(chunks)) {
            return;
        }
        Transfer transfer = Transfer.decode(id, read(chunks), writeSet);
        tell(() -> cluster.witness.ordered(host.name, position, transfer));
        if (position.index() <= stored.index() && cluster.flaw != Flaw.APPLIES_WHAT_IS_STORED) {
            return;
        }
        ClientTransaction waiting = open.get(id);
        SimulatedTransaction locked = waiting == null ? null : waiting.locked();
        if (waiting != null && locked != null) {
            commitOwn(position, waiting, locked);
            return;
        }
        if (waiting != null && !core.isEverywhere() && primaryHere) {
            cluster.simulation.broken(host.name + " has lost the locks of " + id + " before it was committed");
        }
        boolean beside = cluster.flaw == Flaw.EXECUTES_BEFORE_OWN_ENTRY
                || (waiting != null && cluster.flaw == Flaw.REPLAYS_WITHOUT_PRIORITY);
        if (beside) {
            database.change(position, transfer);
            applied(waiting);
        } else {
            database.apply(position, transfer, () -> {
                if (waits) {
                    goOn(() -> applied(waiting));
                } else {
                    applied(waiting);
                }
            });
        }
    }

    private void commitOwn(Position position, ClientTransaction waiting, SimulatedTransaction transaction) {
        if (cluster.flaw == Flaw.SHOWS_OWN_FIRST) {
            database.change(position, transaction.transfer());
            bank.commitLastFirst();
            tellCommitted();
            commitSegment();
            transaction.rollBack();
        } else {
            commitSegment();
            database.commit(position, transaction);
            tellCommitted();
        }
        visibleIndex = position.index();
        committed(waiting);
    }

    private void committed(ClientTransaction local) {
        if (cluster.flushesBeforeAnswer) {
            toRelease.add(local);
        } else {
            answerCommitted(local);
        }
    }

    private void applied(@Nullable ClientTransaction waiting) {
        if (waiting != null) {
            replayed.add(waiting);
        }
        if (bank.uncommitted() >= SEGMENT_SETS_MAX) {
            commitSegment();
        }
    }

    /** Reads chunks from the log again, as an applier does. */
    private List<ByteBuffer> read(long[] chunks) {
        List<ByteBuffer> contents = new ArrayList<>();
        for (long index : chunks) {
            try {
                Message message = group.at(index);
                if (ReplicaMessage.decode(message.payload()) instanceof ReplicaMessage.Chunk chunk) {
                    contents.add(chunk.content());
                }
            } catch (GroupException e) {
                cluster.simulation.broken(host.name + " lacks a chunk of a committed transaction: " + e.getMessage());
            }
        }
        return contents;
    }

    @Override
    public void chunk(TransactionId id) {}

    private void commitSegment() {
        if (bank.uncommitted() > 0) {
            database.commit();
            visibleIndex = Math.max(visibleIndex, bank.stored().index());
            tellCommitted();
            replayed.forEach(this::committed);
            replayed.clear();
        }
    }

    private void tellCommitted() {
        Position at = bank.stored();
        long fingerprint = bank.fingerprint();
        boolean balanced = bank.balanced();
        tell(() -> cluster.witness.committed(host.name, at, fingerprint, balanced));
    }

    @Override
    public void conflict(TransactionId id, Conflict conflict) {
        discarded(id, core.epoch());
    }

    /** Somebody wants the group to run another protocol, whatever becomes of that. */
    void changeProtocol(ReplicationProtocol next) {
        trySend(new ReplicaMessage.ChangeProtocol(next, core.epoch()));
    }

    @Override
    public void begun(Position position, MemberId member, FirstRows rows) {
        if (!rows.equals(FirstRows.NONE)) {
            cluster.simulation.broken(member + " begins the group with " + rows + ", though all databases are empty");
        }
    }

    @Override
    public void protocolChanged(ReplicationProtocol next, Position epoch, Map<Generator, OptionalLong> leased) {
        group.deliverAhead(false);
        mayBeAhead |= next == ReplicationProtocol.ASYNCHRONOUS;
        beginEpoch(epoch.index());
        turns.clear();
        visibleIndex = Math.max(visibleIndex, epoch.index());
        tell(() -> cluster.protocolChanges.add(epoch.index()));
    }

    @Override
    public void discard(TransactionId id, long epoch, Refusal refusal) {
        discarded(id, epoch);
    }

    private void discarded(TransactionId id, long epoch) {
        long index = core.lastIndex();
        tell(() -> cluster.witness.decided(host.name, index, id, false));
        ClientTransaction waiting = open.get(id);
        if (waiting != null && waiting.epoch() == epoch) {
            waiting.answer(Answer.ABORTED);
        }
    }

    @Override
    public void primary(MemberId member, long newEpoch, boolean here) {
        beginEpoch(newEpoch);
        primaryHere = here;
        boolean asynchronous = core.protocol() == ReplicationProtocol.ASYNCHRONOUS;
        mayBeAhead |= asynchronous;
        group.deliverAhead(here && (asynchronous || cluster.flaw == Flaw.DELIVERS_AHEAD_FOR_ALL));
    }

    private void beginEpoch(long newEpoch) {
        tell(() -> cluster.witness.proclaimed(newEpoch));
        commitSegment();
        releaseDurably(); // what is committed is not aborted with the others
        primaryHere = false;
        // Answered already if committed.
        List.copyOf(open.values()).stream()
                .filter(local -> local.isSent() || cluster.flaw != Flaw.EXECUTES_BEFORE_OWN_ENTRY)
                .forEach(local -> local.answer(Answer.ABORTED));
    }

    @Override
    public void outcome(long request, MemberId asker, TransactionId id, Outcome outcome) {
        Consumer<Outcome> waiting = asker.equals(host.name) ? closing.remove(request) : null;
        if (waiting != null) {
            if (mayBeAhead && isAhead()) {
                cluster.witness.risked(id);
            }
            waiting.accept(outcome);
        }
    }

    @Override
    public void settle(Map<Generator, OptionalLong> next) {}

    @Override
    public void lease(long request, MemberId asker, @Nullable LeasedRange range) {}

    @Override
    public void schemaTurn(TransactionId id, Position position, boolean ends) {
        turns.delivered(id, position, ends);
    }

    @Override
    public void verify(long request, Position position) {
        commitSegment();
    }

    @Override
    public void durableEverywhere(long index) {
        long needed = Math.min(index, restartIndex) - cluster.logRetained;
        if (needed > 0) {
            host.released = Math.max(host.released, needed);
            group.release(new Position(last.group(), 0, needed));
        }
    }

    @Override
    public void send(ReplicaMessage message) {
        later(random.nextLong(1_000_000), "send", () -> {
            try {
                group.multicast(ReplicaMessage.encode(message), Duration.ZERO);
            } catch (GroupException e) {
                if (e.disposition() == GroupException.Disposition.RETRY) {
                    later(RETRY_NANOS, "no room", () -> send(message));
                }
            }
        });
    }

    // --------------------------------------------------------------------------------------------------- maintenance

    private void maintainAgain() {
        SimulatedHost.Checkpoint taken = checkpoint();
        if (taken != null && taken.position().index() > checkpointedIndex) {
            // Meanwhile messages are delivered.
            later(random.nextLong(100_000_000), "flush", () -> save(taken));
        }
        later(MAINTENANCE_NANOS, "maintain", this::maintainAgain);
    }

    /** At once; false if it cannot be done at this moment. Whoever is ahead keeps the one that it has, which is decided. */
    boolean maintain() {
        tellDecided();
        if (isAhead()) {
            return bank.uncommitted() == 0;
        }
        SimulatedHost.Checkpoint taken = checkpoint();
        return taken != null && save(taken);
    }

    private SimulatedHost.@Nullable Checkpoint checkpoint() {
        return waits || failed || bank.uncommitted() > 0 || !storedFound
                ? null
                : new SimulatedHost.Checkpoint(last, bank.stored(), core.checkpoint(), neededBehind(last.index()));
    }

    /** Where the log begins that a restart at {@code index} needs. */
    private long neededBehind(long index) {
        return cluster.flaw == Flaw.RELEASES_OPEN_CHUNKS ? index : Math.min(index, core.firstNeeded() - 1);
    }

    private boolean save(SimulatedHost.Checkpoint taken) {
        tellDecided();
        boolean decided = taken.position().index() <= group.lastCommitted().index()
                && (!mayBeAhead || decidedLater.isInTheLog(taken.position()));
        if (!decided && cluster.flaw != Flaw.CHECKPOINTS_WHAT_IS_NOT_DECIDED) {
            return false;
        }
        if (host.diskFails) {
            fail("disk");
            return false;
        }
        if (cluster.flaw != Flaw.CHECKPOINTS_WITHOUT_FLUSH) {
            bank.flush();
        }
        host.checkpoint = taken;
        checkpointedIndex = taken.position().index();
        restartIndex = taken.neededBehind();
        if (restartIndex - toldDurable >= cluster.tellDurableEvery) {
            toldDurable = restartIndex;
            send(new ReplicaMessage.Durable(host.name, restartIndex));
        }
        return true;
    }

    @Override
    public String toString() {
        return (online ? "online" : "not online") + (executes() ? ", executes" : "") + ", epoch " + core.epoch()
                + " of "
                + core.primary() + ", taken " + core.lastIndex() + ", stored " + bank.stored() + ", open " + open.size()
                + ", " + group.core().explain() + ", " + group.core().standing() + ", log up to "
                + group.core().lastIndex() + ", confirmed " + group.isConfirmed() + ", "
                + group.stopped().map(Throwable::getMessage).orElse("runs");
    }
}
