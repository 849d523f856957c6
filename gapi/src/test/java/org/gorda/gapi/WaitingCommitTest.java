package org.gorda.gapi;

import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.function.Consumer;
import org.jetbrains.lincheck.Lincheck;
import org.jetbrains.lincheck.datastructures.ModelCheckingOptions;
import org.jetbrains.lincheck.datastructures.Operation;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** Clients, the delivery, appliers and who stops the replica, in all orders that few switches between them make. */
public class WaitingCommitTest {

    private static final int INVOCATIONS = 300;
    private static final long PATIENCE_NANOS = TimeUnit.SECONDS.toNanos(15);

    private static final Refusal CONFLICT = new Refusal(Refusal.Cause.CONFLICT, "another one came first");
    private static final Refusal PRIORITY = new Refusal(Refusal.Cause.PRIORITY, "it was in the way");
    private static final Refusal STOPPED = new Refusal(Refusal.Cause.STOPPED, "this replica stops");
    private static final Refusal UNKNOWN = new Refusal(Refusal.Cause.UNKNOWN_OUTCOME, "ask another one");

    /** In a database of one transaction. */
    private static final class Commit extends WaitingCommit<TransactionContext, RuntimeException> {
        volatile boolean undone;
        volatile boolean committed;
        private final boolean fails;

        Commit(boolean fails) {
            super(begun(), null);
            this.fails = fails;
        }

        private static TransactionContext begun() {
            OpenTransaction<ConnectionContext> transaction = new OpenTransaction<>(null, 0) {
                @Override
                public void abort(Refusal refusal) {}
            };
            transaction.begin(new TransactionId(new SessionId(0, 0), 1));
            return transaction;
        }

        @Override
        protected void checkNew(StoredPosition position) {}

        @Override
        protected boolean commitOpen(@Nullable StoredPosition position, boolean durable) {
            check(!undone, "rolled back before it is committed");
            if (fails) {
                throw new IllegalStateException("the disk is full");
            }
            committed = true;
            return true;
        }

        @Override
        protected void undo() {
            check(!committed, "committed before it is rolled back");
            undone = true;
        }
    }

    private final Commit commit = new Commit(false);

    @Operation
    public boolean handOver() {
        return commit.handOver();
    }

    @Operation
    public boolean giveWay() {
        return commit.giveWay(PRIORITY);
    }

    @Operation
    public boolean giveUp() {
        return commit.giveUp(STOPPED);
    }

    @Operation(nonParallelGroup = "delivery")
    public boolean commit() {
        return commit.commit(null, false);
    }

    @Operation(nonParallelGroup = "delivery")
    public void release() {
        commit.release();
    }

    @Operation(nonParallelGroup = "delivery")
    public boolean abort() {
        return commit.abort(CONFLICT);
    }

    @Operation
    public boolean isAnswered() {
        return commit.isAnswered();
    }

    @Test
    void eachAnswerCountsAtOnePlaceInTime() {
        new ModelCheckingOptions()
                .iterations(10)
                .invocationsPerIteration(200)
                .threads(3)
                .actorsPerThread(2)
                .actorsBefore(1)
                .actorsAfter(1)
                .check(WaitingCommitTest.class);
    }

    /** Has the commit sent at once, as the engine does. */
    private static final class Sender implements TransactionListener {
        private final Thread delivery;
        private volatile boolean sent;

        Sender(Runnable delivery) {
            this.delivery = new Thread(delivery);
        }

        @Override
        public long committing(SuspendedCommit commit) {
            if (!commit.handOver()) {
                throw new RefusedException(PRIORITY);
            }
            sent = true;
            delivery.start();
            return PATIENCE_NANOS;
        }

        @Override
        public void overdue(SuspendedCommit commit) {
            throw new AssertionError("not answered");
        }

        @Override
        public void begin(TransactionContext transaction) {}

        @Override
        public void ended(TransactionContext transaction, boolean committed) {}

        @Override
        public void reading(ConnectionContext connection) {}

        @Override
        public boolean wantsReads() {
            return false;
        }
    }

    private static void commitWhile(Consumer<Commit> other) {
        Commit commit = new Commit(false);
        AtomicBoolean here = new AtomicBoolean();
        Sender sender = new Sender(() -> {
            here.set(commit.commit(null, false));
            commit.release();
        });
        Thread interfering = new Thread(() -> other.accept(commit));
        interfering.start();
        long begin = System.nanoTime();
        Refusal refused = commit.await(sender);
        check(System.nanoTime() - begin < PATIENCE_NANOS / 2, "nobody woke the client");
        boolean undone = commit.undone;
        join(interfering);
        if (sender.sent) {
            join(sender.delivery);
        }
        if (refused == null) {
            check(here.get() != undone, "neither committed here nor rolled back for what was applied");
        } else if (refused.cause() != Refusal.Cause.UNKNOWN_OUTCOME) {
            check(!sender.sent, "told that what was sent did not happen");
        }
    }

    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    private static void join(Thread thread) {
        try {
            thread.join();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void aClientThatLosesItsLocksIsToldTheOutcomeOnceItHasRolledBack() {
        Lincheck.runConcurrentTest(INVOCATIONS, () -> commitWhile(commit -> commit.giveWay(PRIORITY)));
    }

    @Test
    void whoStopsTheReplicaDoesNotTellThatWhatIsSentDidNotHappen() {
        Lincheck.runConcurrentTest(
                INVOCATIONS,
                () -> commitWhile(commit -> {
                    commit.giveUp(STOPPED);
                    commit.leaveUnknown(UNKNOWN);
                }));
    }

    /** In real time: to the model checker, a wait that has an end ends at once. */
    @Test
    void theClientIsWokenAtOnce() {
        for (int i = 0; i < 1000; i++) {
            commitWhile(commit -> commit.giveWay(PRIORITY));
            commitWhile(commit -> commit.leaveUnknown(UNKNOWN));
            commitWhile(commit -> {});
        }
    }

    /** Somebody else would change what they keep, as if this had not happened, and be ordered behind it. */
    @Test
    void whatIsOrderedAndCannotBeCommittedKeepsItsLocksUntilTheReplicaHasStopped() {
        Commit failing = new Commit(true);
        Thread client = Thread.currentThread();
        AtomicBoolean hasStopped = new AtomicBoolean();
        Sender sender = new Sender(() -> {
            try {
                failing.commit(null, false);
            } catch (ReflectionException e) {
                check(!failing.isAnswered() && !failing.giveUp(CONFLICT) && !failing.abort(CONFLICT), "answered");
                failing.giveWay(PRIORITY);
                failing.release();
                while (client.getState() != Thread.State.TIMED_WAITING) {
                    Thread.onSpinWait();
                }
                hasStopped.set(true);
                failing.leaveUnknown(UNKNOWN);
            }
        });
        Refusal refused = failing.await(sender);
        check(hasStopped.get() && !failing.undone, "told before the replica has stopped");
        check(UNKNOWN.equals(refused), "told something else: " + refused);
        join(sender.delivery);
    }
}
