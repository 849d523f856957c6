package org.gorda.replicator.simulator;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.EnumSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.Generator;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.TransactionId;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.View;
import org.gorda.jgcs.simulated.SimulatedGroup;
import org.gorda.replicator.core.Conflict;
import org.gorda.replicator.core.Effects;
import org.gorda.replicator.core.LeasedRange;
import org.gorda.replicator.core.Outcome;
import org.gorda.replicator.core.ReplicaCore;
import org.gorda.replicator.core.ReplicaMessage;
import org.gorda.replicator.core.ReplicationProtocol;
import org.jspecify.annotations.Nullable;

/**
 * One run of a replica's process: the shell around the {@link ReplicaCore} in virtual time, by the rules of {@code ReplicaEngine}
 * in real time. Confined to one thread.
 */
final class SimulatedReplica implements GroupListener, Effects {

    /** What a client is told of its commit. */
    enum Answer {
        COMMITTED,
        ABORTED,
        /** Nothing was begun: writes belong elsewhere, or nowhere now. */
        REFUSED,
        UNKNOWN
    }

    /** A client's transaction, its rows locked from its execution on. */
    private static final class Local {
        final Intent intent;
        final long epoch;
        final Consumer<Answer> client;

        /** Moved on when its turn to change the schema comes. */
        long begun;

        boolean hasTurn;

        /** What it has read and written, while its rows are locked. */
        @Nullable
        Transfer transfer;

        boolean sent;
        boolean answered;

        Local(Intent intent, long epoch, long begun, Consumer<Answer> client) {
            this.intent = intent;
            this.epoch = epoch;
            this.begun = begun;
            this.client = client;
        }

        /** Whether it has a lock that the other one needs to change its rows. */
        boolean holds(Transfer other) {
            return transfer != null && (transfer.locksRowsOf(other) || other.touches(intent.read()));
        }

        /** Whether a statement of the other one waits for it. */
        boolean delays(Transfer other) {
            return holds(other) || (transfer != null && transfer.delays(other));
        }

        /** As when a lock on a table or in an index stands for rows that are not the transaction's own. */
        boolean holdsMoreThanRowsOf(Transfer other) {
            return transfer != null && page(intent) == page(other.intent());
        }

        private static int page(Intent intent) {
            return (intent.from() + intent.to()) % 4;
        }
    }

    private record Ahead(Position position, Runnable telling) {}

    private static final int SEGMENT_SETS_MAX = 5;
    private static final long MAINTENANCE_NANOS = 700_000_000L;
    private static final long STATEMENT_NANOS_MAX = 4_000_000L;

    /** A client that stays in its transaction for a while before it commits. */
    private static final long THINK_NANOS_MAX = 60_000_000L;

    private static final int THINKS_OF = 6;
    private static final long CHUNK_NANOS_MAX = 300_000_000L;
    private static final long RETRY_NANOS = 50_000_000L;
    private static final long TURN_WAIT_NANOS = 3_000_000_000L;
    private static final long TURN_RENEWAL_NANOS = 1_000_000_000L;
    private static final long TURN_UNRENEWED_NANOS = 3_000_000_000L;

    private final SimulatedCluster cluster;
    private final SimulatedHost host;
    private final SplittableRandom random;
    private final ReplicaCore core;
    private final SimulatedGroup group;
    private final SimulatedBank bank;
    private final Position stored;
    private final Map<TransactionId, Local> open = new LinkedHashMap<>();
    private final Map<TransactionId, Local> inFlight = new LinkedHashMap<>();
    private final List<Local> toRelease = new ArrayList<>();
    private final Map<Long, Consumer<Outcome>> closing = new LinkedHashMap<>();

    /** Whose turn it is to change the schema, one after the other, with when it is over unless it is renewed. */
    private final Map<TransactionId, Long> turns = new LinkedHashMap<>();

    private long turnsMoved;
    private View view = new View(List.of(), List.of(), Optional.empty(), false);
    private Position last = Position.START;
    private boolean storedFound;
    private boolean primaryHere;
    private boolean online;
    private boolean announced;
    private boolean hasDelivered;

    /** Whether the database may hold what was committed before a majority had it. */
    private boolean mayBeAhead;

    /** What the witness is told once it is decided, with the place of the message that it follows from. */
    private final Deque<Ahead> ahead = new ArrayDeque<>();

    /** What comes next cannot be understood any more. */
    private boolean lacking;

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
        this.stored = cluster.flaw == Flaw.STORES_POSITION_AFTERWARDS ? bank.storedBefore() : bank.stored();
        this.group = cluster.open(host.name, this);
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
    private void later(long delayNanos, String what, Runnable action) {
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
        List<Local> waiting = new ArrayList<>(open.values());
        waiting.forEach(local -> answer(local, local.sent ? Answer.UNKNOWN : Answer.ABORTED));
    }

    /** Stops by itself; somebody starts it again. */
    private void fail(String why) {
        cluster.simulation.note("fails: " + why);
        primaryHere = false;
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
        return open.isEmpty() && ahead.isEmpty() && bank.uncommitted() == 0 && core.openTransactions() == 0;
    }

    // ------------------------------------------------------------------------------------------- local transactions

    /** Runs a transaction and commits it; the client is told once, unless its connection breaks. */
    void execute(Intent intent, Consumer<Answer> client) {
        later(random.nextLong(1_000_000), "begin", () -> {
            boolean early = cluster.flaw == Flaw.EXECUTES_BEFORE_OWN_ENTRY && view.isLeader(host.name);
            if (!view.working() || !(executes() || early)) {
                client.accept(Answer.REFUSED);
                return;
            }
            Local begun = new Local(intent, core.epoch(), visibleIndex, client);
            open.put(intent.id(), begun);
            if (intent.changesSchema() && core.isEverywhere() && cluster.flaw != Flaw.CHANGES_SCHEMA_BESIDE_ROWS) {
                begun.hasTurn = true;
                renewTurn(begun);
                awaitTurn(begun, cluster.simulation.now() + TURN_WAIT_NANOS);
                return;
            }
            later(random.nextLong(STATEMENT_NANOS_MAX), "statement", () -> change(begun));
        });
    }

    private void renewTurn(Local local) {
        if (!local.answered) {
            trySend(new ReplicaMessage.SchemaTurn(local.intent.id(), false));
            later(TURN_RENEWAL_NANOS, "renew turn", () -> renewTurn(local));
        }
    }

    private void awaitTurn(Local local, long deadlineNanos) {
        if (local.answered) {
            return;
        }
        if (local.intent.id().equals(currentTurn()) && visibleIndex >= turnsMoved) {
            local.begun = visibleIndex;
            later(random.nextLong(STATEMENT_NANOS_MAX), "statement", () -> change(local));
        } else if (cluster.simulation.now() > deadlineNanos) {
            answer(local, Answer.ABORTED);
        } else {
            later(RETRY_NANOS / 10, "await turn", () -> awaitTurn(local, deadlineNanos));
        }
    }

    private @Nullable TransactionId currentTurn() {
        turns.values().removeIf(end -> cluster.simulation.now() >= end);
        return turns.isEmpty() ? null : turns.keySet().iterator().next();
    }

    private void trySend(ReplicaMessage message) {
        try {
            group.multicast(ReplicaMessage.encode(message), Duration.ZERO);
        } catch (GroupException e) {
            cluster.simulation.note("not sent");
        }
    }

    private void change(Local local) {
        if (local.answered) {
            return;
        }
        Transfer transfer = bank.find(bank.look(local.intent));
        if (local.hasTurn) {
            makeWayFor(transfer);
        }
        boolean delayed = bank.isDelayed(transfer) || open.values().stream().anyMatch(other -> other.delays(transfer));
        if (delayed) {
            answer(local, Answer.ABORTED);
            return;
        }
        local.transfer = transfer;
        boolean thinks = random.nextInt(THINKS_OF) == 0;
        later(random.nextLong(thinks ? THINK_NANOS_MAX : STATEMENT_NANOS_MAX), "commit", () -> committing(local));
    }

    private void committing(Local local) {
        if (local.answered || local.transfer == null) {
            return;
        }
        boolean early = cluster.flaw == Flaw.EXECUTES_BEFORE_OWN_ENTRY && !core.isEverywhere();
        if (early && !primaryHere && view.isLeader(host.name)) {
            later(RETRY_NANOS, "not yet primary", () -> committing(local));
            return;
        }
        if (!(executes() || early) || !(local.epoch == core.epoch() || early) || !view.working()) {
            answer(local, Answer.ABORTED);
            return;
        }
        if (!local.hasTurn && (currentTurn() != null || visibleIndex < turnsMoved)) {
            later(RETRY_NANOS / 10, "await room", () -> committing(local));
            return;
        }
        int chunks = random.nextInt(4) == 0 ? 1 + random.nextInt(Transfer.CHUNKS_MAX) : 0;
        long epoch = early ? core.epoch() : local.epoch;
        boolean claims = cluster.flaw == Flaw.CLAIMS_TO_HAVE_EXECUTED_ALL
                || (cluster.flaw == Flaw.CHANGES_SCHEMA_BESIDE_ROWS && local.intent.changesSchema());
        long executed = claims ? group.lastCommitted().index() + 10 : local.hasTurn ? local.begun : visibleIndex;
        boolean certified = cluster.flaw == Flaw.CAPTURES_FOR_THE_FIRST_PROTOCOL
                ? cluster.begins.isEverywhere()
                : core.isEverywhere();
        Set<Transfer.Tells> tells = certified ? tells() : Set.of();
        long begun = cluster.flaw == Flaw.CERTIFIES_FROM_ONE_WATERMARK ? executed : local.begun;
        send(local, epoch, visibleIndex, local.transfer.messages(epoch, begun, executed, chunks, tells), 0);
    }

    private Set<Transfer.Tells> tells() {
        Set<Transfer.Tells> tells = EnumSet.allOf(Transfer.Tells.class);
        switch (cluster.flaw) {
            case CERTIFIES_WITHOUT_KEYS -> tells.retainAll(Set.of(Transfer.Tells.SCHEMA));
            case CERTIFIES_WITHOUT_UNIQUE_KEYS -> tells.remove(Transfer.Tells.UNIQUE_KEYS);
            case CERTIFIES_WITHOUT_PARENTS -> tells.remove(Transfer.Tells.PARENTS);
            case CERTIFIES_WITHOUT_READS -> tells.remove(Transfer.Tells.READS);
            case CERTIFIES_WITHOUT_SCHEMA -> tells.remove(Transfer.Tells.SCHEMA);
            default -> {}
        }
        return tells;
    }

    /** Sends the next of a transaction's messages; others' come between. */
    private void send(Local local, long epoch, long base, List<ByteBuffer> messages, int next) {
        boolean last = next == messages.size() - 1;
        boolean given = local.answered
                || epoch != core.epoch()
                || !(executes() || cluster.flaw == Flaw.EXECUTES_BEFORE_OWN_ENTRY)
                || random.nextInt(40) == 0;
        if (next > 0 && given) {
            giveUp(local, base);
            return;
        }
        if (last) {
            local.sent = true;
            inFlight.put(local.intent.id(), local);
        }
        try {
            group.multicast(messages.get(next), Duration.ZERO);
        } catch (GroupException e) {
            inFlight.remove(local.intent.id());
            if (next > 0) {
                giveUp(local, base);
            } else {
                answer(local, Answer.ABORTED);
            }
            return;
        }
        if (!last) {
            later(random.nextLong(CHUNK_NANOS_MAX), "chunk", () -> send(local, epoch, base, messages, next + 1));
            return;
        }
        if (cluster.flaw == Flaw.ACKNOWLEDGES_BEFORE_ORDERED) {
            local.client.accept(Answer.COMMITTED);
        }
        later(cluster.commitTimeoutNanos, "overdue", () -> overdue(local));
    }

    /** What was sent of a transaction will not be followed by its end. */
    private void giveUp(Local local, long base) {
        if (cluster.flaw != Flaw.LEAVES_CHUNKS_OPEN) {
            send(new ReplicaMessage.Close(local.intent.id(), base, 0));
        }
        answer(local, Answer.ABORTED);
    }

    /** The client goes away without knowing, and the transaction's locks with it: what runs from now on may have read too little. */
    private void overdue(Local local) {
        if (local.answered || toRelease.contains(local)) {
            return;
        }
        if (!core.isEverywhere() && cluster.flaw != Flaw.GIVES_UP_WITHOUT_NEW_EPOCH) {
            primaryHere = false;
            core.renew();
        }
        answer(local, Answer.UNKNOWN);
    }

    private void answer(Local local, Answer answer) {
        if (!local.answered) {
            local.answered = true;
            open.remove(local.intent.id());
            if (local.hasTurn) {
                trySend(new ReplicaMessage.SchemaTurn(local.intent.id(), true));
            }
            local.client.accept(answer);
        }
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
                group.multicast(ReplicaMessage.encode(new ReplicaMessage.Close(id, since, request)), Duration.ZERO);
            } catch (GroupException e) {
                closing.remove(request);
            }
        });
    }

    // ----------------------------------------------------------------------------------------------- the group tells

    @Override
    public void onMessage(Message message) {
        if (lacking) {
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
        return !ahead.isEmpty() || last.index() > group.lastCommitted().index();
    }

    private void tell(Runnable telling) {
        if (isAhead()) {
            ahead.addLast(new Ahead(last, telling));
        } else {
            telling.run();
        }
    }

    /** Tells the witness what is decided by now; what is lost, it never learns. */
    void tellDecided() {
        while (!dead
                && !ahead.isEmpty()
                && ahead.getFirst().position().index() <= group.lastCommitted().index()
                && isInTheLog(ahead.getFirst().position())) {
            ahead.removeFirst().telling().run();
        }
    }

    private boolean isInTheLog(Position position) {
        try {
            return position.index() <= group.firstHeld().index()
                    || group.at(position.index()).position().equals(position);
        } catch (GroupException e) {
            return false;
        }
    }

    /** The client relies on it, and may yet lose it. */
    private void answerCommitted(Local local) {
        if (mayBeAhead && isAhead()) {
            cluster.witness.risked(local.intent.id());
        }
        answer(local, Answer.COMMITTED);
    }

    /** A chunk is not held any more, which is nobody's fault if this replica did not count when the others released it. */
    private boolean lacks(long[] chunks) {
        if (chunks.length > 0 && chunks[0] <= group.firstHeld().index() && chunks[0] > host.released) {
            lacking = true;
            host.wantCopy();
            fail("a chunk is gone");
        }
        return lacking;
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
            lacking = true;
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
        if (lacking) {
            return;
        }
        commitSegment();
        if (!toRelease.isEmpty()) {
            bank.flush();
            toRelease.forEach(this::answerCommitted);
            toRelease.clear();
        }
        if (!storedFound && upTo.term() > stored.term() && upTo.index() < stored.index()) {
            endsElsewhere("it ends at " + upTo);
            return;
        }
        tellDecided();
        visibleIndex = Math.max(visibleIndex, upTo.index());
        online |= storedFound && view.working();
        announceRun();
    }

    private void announceRun() {
        if (online && core.isEverywhere() && !announced) {
            announced = true;
            send(new ReplicaMessage.Durable(host.name, restartIndex));
        }
    }

    @Override
    public void onView(View next) {
        boolean began = next.working() && !view.working();
        view = next;
        online &= next.working();
        online |= began && visibleIndex >= group.lastCommitted().index() && storedFound;
        announceRun();
        core.viewChanged(next);
    }

    @Override
    public void onGap(Position firstHeld, String reason) {
        host.wantCopy();
        fail("gap");
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
        Local waiting = inFlight.remove(id);
        if (waiting != null && !waiting.answered) {
            if (waiting.transfer == null && cluster.flaw != Flaw.REPLAYS_WITHOUT_PRIORITY) {
                makeWayFor(transfer);
            }
            if (cluster.flaw == Flaw.SHOWS_OWN_FIRST) {
                apply(position, transfer);
                bank.commitLastFirst();
                tellCommitted();
            } else {
                commitSegment();
                apply(position, transfer);
            }
            commitSegment();
            visibleIndex = position.index();
            waiting.transfer = null;
            if (cluster.flushesBeforeAnswer) {
                toRelease.add(waiting);
            } else {
                answerCommitted(waiting);
            }
            return;
        }
        makeWayFor(transfer);
        apply(position, transfer);
        if (bank.uncommitted() >= SEGMENT_SETS_MAX) {
            commitSegment();
        }
    }

    /** What is ordered never loses to what is not. */
    private void makeWayFor(Transfer transfer) {
        for (Local local : List.copyOf(open.values())) {
            boolean inTheWay = local.holds(transfer) || (core.isEverywhere() && local.holdsMoreThanRowsOf(transfer));
            if (inTheWay && cluster.flaw != Flaw.EXECUTES_BEFORE_OWN_ENTRY) {
                giveWay(local);
            }
        }
    }

    private void giveWay(Local local) {
        if (!core.isEverywhere()) {
            answer(local, local.sent ? Answer.UNKNOWN : Answer.ABORTED);
        } else if (!local.sent || cluster.flaw == Flaw.TAKES_GIVING_WAY_FOR_ABORTED) {
            answer(local, Answer.ABORTED);
        } else {
            local.transfer = null; // and with it its locks; its answer is still to come
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

    private void apply(Position position, Transfer transfer) {
        try {
            bank.apply(position, transfer);
        } catch (DivergenceException e) {
            cluster.simulation.broken(host.name + " has diverged: " + e.getMessage());
        }
    }

    private void commitSegment() {
        if (bank.uncommitted() > 0) {
            bank.commit();
            visibleIndex = Math.max(visibleIndex, bank.stored().index());
            tellCommitted();
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
        discarded(id);
    }

    /** Somebody wants the group to run another protocol, whatever becomes of that. */
    void changeProtocol(ReplicationProtocol next) {
        trySend(new ReplicaMessage.ChangeProtocol(next, core.epoch()));
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
    public void discard(TransactionId id, Refusal refusal) {
        discarded(id);
    }

    private void discarded(TransactionId id) {
        long index = core.lastIndex();
        tell(() -> cluster.witness.decided(host.name, index, id, false));
        Local waiting = inFlight.remove(id);
        if (waiting != null) {
            answer(waiting, Answer.ABORTED);
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
        primaryHere = false;
        inFlight.values().removeIf(local -> {
            answer(local, Answer.ABORTED);
            return true;
        });
        if (cluster.flaw != Flaw.EXECUTES_BEFORE_OWN_ENTRY) {
            // Answered already if committed, but for those that wait for the disk.
            List.copyOf(open.values()).stream()
                    .filter(local -> !toRelease.contains(local))
                    .forEach(local -> answer(local, Answer.ABORTED));
        }
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
        if (ends) {
            turns.remove(id);
        } else {
            turns.put(id, cluster.simulation.now() + TURN_UNRENEWED_NANOS);
        }
        turnsMoved = position.index();
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
        return bank.uncommitted() > 0 || !storedFound
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
                && (!mayBeAhead || isInTheLog(taken.position()));
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
