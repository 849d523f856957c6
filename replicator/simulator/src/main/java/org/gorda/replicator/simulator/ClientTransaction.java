package org.gorda.replicator.simulator;

import java.nio.ByteBuffer;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.MessageId;
import org.gorda.replicator.core.ReplicaMessage;
import org.gorda.replicator.simulator.SimulatedTransaction.Loss;
import org.jspecify.annotations.Nullable;

/**
 * A client's transaction at its replica: it runs in the database, is sent, and is answered once. From when it is sent on, only its
 * delivery decides. Confined to one thread.
 */
final class ClientTransaction {

    /** What a client is told of its commit. */
    enum Answer {
        COMMITTED,
        ABORTED,
        /** Nothing was begun: writes belong elsewhere, or nowhere now. */
        REFUSED,
        UNKNOWN
    }

    private static final long CHUNK_NANOS_MAX = 300_000_000L;
    private static final long RETRY_NANOS = 50_000_000L;
    private static final long ROOM_NANOS = 5_000_000L;
    private static final long TURN_WAIT_NANOS = 3_000_000_000L;
    private static final long TURN_RENEWAL_NANOS = 1_000_000_000L;
    private static final int GIVES_UP_OF = 40;

    final Intent intent;
    private final SimulatedReplica replica;
    private final SimulatedCluster cluster;
    private final SplittableRandom random;
    private final Consumer<Answer> client;
    private final boolean takesTurn;
    private long epoch;

    /** Up to where everything was visible before its first statement. */
    private long begun;

    /** Once it has begun there. */
    private @Nullable SimulatedTransaction inDatabase;

    private @Nullable MessageId lastSent;
    private boolean sent;
    private boolean answered;
    private boolean keepsLocks;

    /** @param client told once */
    ClientTransaction(
            SimulatedReplica replica,
            SimulatedCluster cluster,
            SplittableRandom random,
            Intent intent,
            Consumer<Answer> client) {
        this.replica = replica;
        this.cluster = cluster;
        this.random = random;
        this.intent = intent;
        this.client = client;
        this.epoch = replica.core().epoch();
        this.begun = replica.visibleIndex();
        this.takesTurn = intent.changesSchema()
                && replica.core().isEverywhere()
                && cluster.flaw != Flaw.CHANGES_SCHEMA_BESIDE_ROWS;
    }

    /** Whether only its delivery decides. */
    boolean isSent() {
        return sent;
    }

    /** In which it began. */
    long epoch() {
        return epoch;
    }

    boolean isAnswered() {
        return answered;
    }

    /** Where it waits for its delivery with all its locks; null if it has lost them. */
    @Nullable
    SimulatedTransaction locked() {
        return inDatabase != null && inDatabase.isSent() ? inDatabase : null;
    }

    void start() {
        if (takesTurn) {
            renewTurn();
            awaitTurn(cluster.simulation.now() + TURN_WAIT_NANOS);
        } else {
            execute();
        }
    }

    private void renewTurn() {
        if (!answered) {
            replica.trySend(new ReplicaMessage.SchemaTurn(intent.id(), false));
            replica.later(TURN_RENEWAL_NANOS, "renew turn", this::renewTurn);
        }
    }

    private void awaitTurn(long deadlineNanos) {
        if (answered) {
            return;
        }
        if (replica.isTurnOf(intent.id())) {
            begun = replica.visibleIndex();
            execute();
        } else if (cluster.simulation.now() > deadlineNanos) {
            answer(Answer.ABORTED);
        } else {
            replica.later(ROOM_NANOS, "await turn", () -> awaitTurn(deadlineNanos));
        }
    }

    private void execute() {
        inDatabase = replica.database().begin(intent, takesTurn, this::committing, this::lost);
    }

    private void lost(Loss why) {
        cluster.lost(why);
        boolean lies = cluster.flaw == Flaw.ACKNOWLEDGES_DEADLOCKED && why == Loss.DEADLOCK;
        answer(lies ? Answer.COMMITTED : Answer.ABORTED);
    }

    private void committing(SimulatedTransaction executed) {
        if (answered) {
            return;
        }
        boolean early = cluster.flaw == Flaw.EXECUTES_BEFORE_OWN_ENTRY
                && !replica.core().isEverywhere();
        if (early && !replica.executes() && replica.leads()) {
            replica.later(RETRY_NANOS, "not yet primary", () -> committing(executed));
            return;
        }
        if (early) {
            epoch = replica.core().epoch();
        }
        int chunks = random.nextInt(4) == 0 ? 1 + random.nextInt(Transfer.CHUNKS_MAX) : 0;
        send(executed, executed.transfer().messages(epoch, replica.visibleIndex(), chunks, tells()), 0);
    }

    private Set<Transfer.Tells> tells() {
        boolean certified = cluster.flaw == Flaw.CAPTURES_FOR_THE_FIRST_PROTOCOL
                ? cluster.begins.isEverywhere()
                : replica.core().isEverywhere();
        if (!certified) {
            return Set.of();
        }
        Set<Transfer.Tells> tells = EnumSet.allOf(Transfer.Tells.class);
        switch (cluster.flaw) {
            case CERTIFIES_WITHOUT_KEYS -> tells.retainAll(Set.of(Transfer.Tells.SCHEMA));
            case CERTIFIES_WITHOUT_UNIQUE_KEYS -> tells.remove(Transfer.Tells.UNIQUE_KEYS);
            case CERTIFIES_WITHOUT_PARENTS -> tells.remove(Transfer.Tells.PARENTS);
            case CERTIFIES_WITHOUT_READS -> tells.remove(Transfer.Tells.READS);
            case CERTIFIES_WITHOUT_COUNTS -> tells.remove(Transfer.Tells.COUNTS);
            case CERTIFIES_WITHOUT_SCHEMA -> tells.remove(Transfer.Tells.SCHEMA);
            default -> {}
        }
        return tells;
    }

    /** Sends the next of its messages; others' come between. */
    private void send(SimulatedTransaction executed, List<ByteBuffer> messages, int next) {
        boolean changesItsMind = next > 0 && random.nextInt(GIVES_UP_OF) == 0;
        if (answered || changesItsMind || epoch != replica.core().epoch() || !replica.mayExecute()) {
            giveUp();
            return;
        }
        boolean last = next == messages.size() - 1;
        if (last && !takesTurn && !replica.isRoom()) {
            replica.later(ROOM_NANOS, "await room", () -> send(executed, messages, next));
            return;
        }
        if (last) {
            // Before it is handed over: whoever gets its locks then has executed more.
            putHeader(messages.get(next), next);
            if (!executed.handOver()) {
                giveUp();
                return;
            }
            sent = true;
        }
        try {
            lastSent = replica.multicast(messages.get(next));
        } catch (GroupException e) {
            giveUp();
            return;
        }
        if (!last) {
            replica.later(random.nextLong(CHUNK_NANOS_MAX), "chunk", () -> send(executed, messages, next + 1));
            return;
        }
        if (cluster.flaw == Flaw.ACKNOWLEDGES_BEFORE_ORDERED) {
            client.accept(Answer.COMMITTED);
        }
        replica.later(cluster.commitTimeoutNanos, "overdue", () -> replica.overdue(this));
    }

    private void putHeader(ByteBuffer message, int chunks) {
        boolean claims = cluster.flaw == Flaw.CLAIMS_TO_HAVE_EXECUTED_ALL
                || (cluster.flaw == Flaw.CHANGES_SCHEMA_BESIDE_ROWS && intent.changesSchema());
        long executed =
                claims ? replica.group().lastCommitted().index() + 10 : takesTurn ? begun : replica.visibleIndex();
        long compared = cluster.flaw == Flaw.CERTIFIES_FROM_ONE_WATERMARK ? executed : begun;
        ReplicaMessage.putWriteSetHeader(message, intent.id(), epoch, compared, executed, chunks);
        message.rewind();
    }

    /** What was sent of it will not be followed by its end. */
    private void giveUp() {
        if (lastSent != null && cluster.flaw != Flaw.LEAVES_CHUNKS_OPEN) {
            replica.send(new ReplicaMessage.Abandon(intent.id(), lastSent));
        }
        keepsLocks = cluster.flaw == Flaw.KEEPS_LOCKS_OF_REFUSED;
        answer(Answer.ABORTED);
    }

    /** Tells the client, unless that was done, and takes back what the database has of it and has not committed. */
    void answer(Answer answer) {
        if (answered) {
            return;
        }
        answered = true;
        if (inDatabase != null && !keepsLocks) {
            inDatabase.rollBack();
        }
        if (takesTurn) {
            replica.trySend(new ReplicaMessage.SchemaTurn(intent.id(), true));
        }
        replica.isOver(this);
        client.accept(answer);
    }

    /** Tells the client that its process is gone. */
    void answerLost() {
        answer(sent ? Answer.UNKNOWN : Answer.ABORTED);
    }
}
