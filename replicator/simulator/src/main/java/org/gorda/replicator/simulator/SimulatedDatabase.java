package org.gorda.replicator.simulator;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.ReflectionException;
import org.gorda.jgcs.Position;
import org.gorda.replicator.simulator.SimulatedTransaction.Loss;

/**
 * A database as one process runs it on a {@link SimulatedBank}: clients' transactions under strict two-phase locking, which wait for each other,
 * and what is ordered, which waits for nobody longer than a rollback takes. Confined to one thread.
 */
final class SimulatedDatabase {

    /** What happens in the process unless it dies first. */
    interface Timer {
        void later(long delayNanos, String what, Runnable action);
    }

    /** Who applies what is ordered. */
    private static final class Applier implements Locks.Owner {
        @Override
        public void giveWay() {}
    }

    private static final long STATEMENT_NANOS_MAX = 1_000_000L;

    /** A client that stays in its transaction for a while. */
    private static final long THINK_NANOS_MAX = 60_000_000L;

    private static final int THINKS_OF = 30;
    private static final int ESCALATES_OF = 10;

    /** When, and how often, somebody who waits looks for a deadlock. */
    private static final long DEADLOCK_NANOS = 40_000_000L;

    private static final int LOCK_TIMEOUT_DEADLOCKS = 20;
    private static final long ROLLBACK_NANOS_MAX = 4_000_000L;
    private static final long INSISTS_NANOS = 500_000L;

    /** Nothing that is ordered waits longer, by far, for those that it rolls back. */
    private static final int INSISTS_MAX = 100;

    private static final int COMMIT_FAILS_OF = 1_000;

    private final SimulatedCluster cluster;
    private final SimulatedHost host;
    private final SimulatedBank bank;
    private final Timer timer;
    private final SplittableRandom random;
    private final Locks locks = new Locks();
    private final Applier applier = new Applier();

    /** Whether what is ordered waits for a lock. */
    private boolean applying;

    SimulatedDatabase(SimulatedCluster cluster, SimulatedHost host, Timer timer) {
        this.cluster = cluster;
        this.host = host;
        this.bank = host.bank;
        this.timer = timer;
        this.random = cluster.simulation.random("database " + host.name + cluster.simulation.now());
    }

    SimulatedBank bank() {
        return bank;
    }

    Flaw flaw() {
        return cluster.flaw;
    }

    /** Whether a reference to a parent keeps its lock to the end, as in PostgreSQL, or while it is checked, as in Derby. */
    boolean holdsParents() {
        return cluster.holdsParents;
    }

    /** Whether nobody has or wants a lock. */
    boolean isQuiet() {
        return locks.isEmpty() && bank.uncommitted() == 0;
    }

    // ------------------------------------------------------------------------------------------ clients' transactions

    /**
     * Begins a transaction.
     *
     * @param wins whether others give way to it, too
     * @param executed called once all statements have run
     * @param lost called if it is rolled back before it is sent
     */
    SimulatedTransaction begin(
            Intent intent, boolean wins, Consumer<SimulatedTransaction> executed, Consumer<Loss> lost) {
        boolean escalates = random.nextInt(ESCALATES_OF) == 0;
        SimulatedTransaction begun = new SimulatedTransaction(this, intent, wins, escalates, executed, lost);
        think(begun);
        return begun;
    }

    private void think(SimulatedTransaction transaction) {
        boolean thinks = random.nextInt(THINKS_OF) == 0;
        timer.later(
                random.nextLong(thinks ? THINK_NANOS_MAX : STATEMENT_NANOS_MAX), "statement", () -> goOn(transaction));
    }

    private void goOn(SimulatedTransaction transaction) {
        if (!transaction.isRunning()) {
            return;
        }
        SimulatedTransaction.Step step = transaction.next();
        if (step == null) {
            transaction.executed();
            return;
        }
        if (transaction.wins) {
            clearTheWay(transaction, step.need());
        }
        Runnable granted = () -> timer.later(0, "granted", () -> execute(transaction, step));
        if (locks.request(transaction, step.need(), transaction.wins, granted)) {
            execute(transaction, step);
        } else {
            awaitLock(transaction, step.need(), 1);
        }
    }

    private void execute(SimulatedTransaction transaction, SimulatedTransaction.Step step) {
        if (transaction.isRunning()) {
            step.then().run();
            think(transaction);
        }
    }

    /** Whoever finds that it is in a deadlock is its victim. */
    private void awaitLock(SimulatedTransaction transaction, Locks.Need need, int looks) {
        timer.later(DEADLOCK_NANOS, "deadlock", () -> {
            if (!locks.isWaitingFor(transaction, need)) {
                return;
            }
            if (locks.isDeadlocked(transaction)) {
                transaction.roll(Loss.DEADLOCK);
            } else if (looks >= LOCK_TIMEOUT_DEADLOCKS) {
                transaction.roll(Loss.LOCK_TIMEOUT);
            } else {
                awaitLock(transaction, need, looks + 1);
            }
        });
    }

    private void clearTheWay(Locks.Owner winner, Locks.Need need) {
        locks.obstacles(winner, need).forEach(Locks.Owner::giveWay);
    }

    void release(SimulatedTransaction transaction, Locks.Lock lock) {
        locks.release(transaction, lock);
    }

    /** Rolls back, which may take a while: the client may be within a call. */
    void undo(SimulatedTransaction transaction) {
        if (random.nextBoolean()) {
            locks.release(transaction);
        } else {
            timer.later(random.nextLong(ROLLBACK_NANOS_MAX), "rolled back", () -> locks.release(transaction));
        }
    }

    /** Commits a transaction that has all its locks yet, with its position. */
    void commit(Position position, SimulatedTransaction transaction) {
        change(position, transaction.transfer());
        commit();
        transaction.committed();
        locks.release(transaction);
    }

    // ---------------------------------------------------------------------------------------------- what is ordered

    boolean isApplying() {
        return applying;
    }

    /** Changes what an ordered transaction does, in the current segment. {@code done} is called then, perhaps later. */
    void apply(Position position, Transfer transfer, Runnable done) {
        applyNext(new ArrayDeque<>(transfer.locks()), position, transfer, done);
    }

    private void applyNext(Deque<Locks.Need> needed, Position position, Transfer transfer, Runnable done) {
        boolean first = cluster.flaw != Flaw.APPLIES_WITHOUT_PRIORITY;
        while (!needed.isEmpty()) {
            Locks.Need next = needed.removeFirst();
            if (first) {
                clearTheWay(applier, next);
            }
            Runnable granted = () -> timer.later(0, "granted", () -> applyNext(needed, position, transfer, done));
            if (!locks.request(applier, next, first, granted)) {
                applying = true;
                insist(next, position, 1);
                return;
            }
        }
        applying = false;
        change(position, transfer);
        done.run();
    }

    /** Others may have come before it meanwhile. */
    private void insist(Locks.Need need, Position position, int times) {
        timer.later(INSISTS_NANOS, "insist", () -> {
            if (!locks.isWaitingFor(applier, need)) {
                return;
            }
            if (times > INSISTS_MAX) {
                cluster.simulation.broken(host.name + " stands still: what is ordered at " + position + " waits for "
                        + need + "; " + locks);
                return;
            }
            if (cluster.flaw != Flaw.APPLIES_WITHOUT_PRIORITY) {
                clearTheWay(applier, need);
            }
            insist(need, position, times + 1);
        });
    }

    /** Changes rows whoever has locked them. */
    void change(Position position, Transfer transfer) {
        try {
            bank.apply(position, transfer);
        } catch (DivergenceException e) {
            cluster.simulation.broken(host.name + " has diverged: " + e.getMessage());
        }
    }

    /**
     * Commits the segment, with the position of its last change.
     *
     * @throws ReflectionException now and then; whether it is committed is not known
     */
    void commit() {
        boolean fails = cluster.chaos && random.nextInt(COMMIT_FAILS_OF) == 0;
        if (!fails || random.nextBoolean()) {
            bank.commit();
        }
        if (fails) {
            cluster.failedCommits++;
            throw new ReflectionException(host.name + " cannot tell whether it has committed");
        }
        locks.release(applier);
    }

    /** For a person who wants to know why nothing goes on. */
    @Override
    public String toString() {
        return "stored " + bank.stored() + ", uncommitted " + bank.uncommitted() + ", " + locks;
    }
}
