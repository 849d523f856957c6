package org.gorda.replicator.simulator;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.function.Consumer;
import org.gorda.replicator.simulator.Locks.Kind;
import org.gorda.replicator.simulator.Locks.Lock;
import org.gorda.replicator.simulator.Locks.Mode;
import org.gorda.replicator.simulator.Locks.Need;
import org.jspecify.annotations.Nullable;

/**
 * A client's transaction in the database of its replica: which locks its statements take one after the other, and what they find once they
 * have them, which is its write set. It changes the rows when it commits; until then its locks keep them for it. Confined to one thread.
 */
final class SimulatedTransaction implements Locks.Owner {

    /** Why the database has rolled back a transaction that had not been sent. */
    enum Loss {
        GAVE_WAY,
        DEADLOCK,
        LOCK_TIMEOUT,
        CONSTRAINT
    }

    private enum State {
        RUNNING,
        /** Only its place in the order decides. */
        SENT,
        /** As before, but it has no locks: if it is committed, then by its write set. */
        LOST,
        ENDED
    }

    /** One lock, and what is done with it. */
    record Step(Need need, Runnable then) {}

    /** Whoever is in the way of its locks must give way. */
    final boolean wins;

    private final Consumer<SimulatedTransaction> executed;
    private final SimulatedDatabase database;
    private final SimulatedBank bank;
    private final Consumer<Loss> lost;
    private final Deque<Step> steps = new ArrayDeque<>();

    /** Of a foreign key's check. */
    private final List<Lock> untilChecked = new ArrayList<>();

    private State state = State.RUNNING;
    private Intent intent;
    private long fromBefore;
    private long toBefore;
    private long schema;
    private long readBefore;
    private int countBefore;
    private int subjectBefore = Intent.NONE;

    /**
     * @param escalates whether it takes a lock on the table in the end, as if it had too many on rows
     * @param executed called once all statements have run
     * @param lost called if the database rolls it back before it is sent
     */
    SimulatedTransaction(
            SimulatedDatabase database,
            Intent wanted,
            boolean wins,
            boolean escalates,
            Consumer<SimulatedTransaction> executed,
            Consumer<Loss> lost) {
        this.database = database;
        this.bank = database.bank();
        this.intent = wanted;
        this.wins = wins;
        this.executed = executed;
        this.lost = lost;
        if (wanted.changesSchema()) {
            step(Kind.SCHEMA, 0, Mode.EXCLUSIVE, this::changeSchema);
        } else {
            move(escalates);
        }
    }

    private void step(Kind kind, int number, Mode mode) {
        step(kind, number, mode, () -> {});
    }

    private void step(Kind kind, int number, Mode mode, Runnable then) {
        steps.addLast(new Step(Need.of(kind, number, mode), then));
    }

    private void changeSchema() {
        schema = bank.schema();
        fromBefore = bank.transactions();
        toBefore = bank.balance(intent.to());
    }

    private void move(boolean escalates) {
        step(Kind.SCHEMA, 0, Mode.SHARED, () -> schema = bank.schema());
        step(Kind.ACCOUNTS, 0, Mode.INTENT);
        step(Kind.ACCOUNT, intent.from(), Mode.EXCLUSIVE, () -> fromBefore = bank.balance(intent.from()));
        step(Kind.ACCOUNT, intent.to(), Mode.EXCLUSIVE, () -> toBefore = bank.balance(intent.to()));
        if (intent.read() != Intent.NONE) {
            step(Kind.ACCOUNT, intent.read(), Mode.SHARED, () -> readBefore = bank.balance(intent.read()));
        }
        if (intent.counted() != Intent.NONE) {
            step(Kind.CHILDREN, intent.counted(), Mode.SHARED, () -> countBefore = bank.count(intent.counted()));
        }
        step(Kind.ACCOUNTS, 0, escalates ? Mode.EXCLUSIVE : Mode.INTENT, this::look);
    }

    /** What it does besides depends on what it finds, without locks. */
    private void look() {
        intent = bank.look(intent);
        int subject = intent.subject();
        subjectBefore = bank.subject(intent);
        switch (intent.change()) {
            case NOTHING -> {}
            case RENAME -> {
                entry(subjectBefore);
                entry(subject);
            }
            case MOVE -> {
                parent(subject);
                child(subjectBefore);
                child(subject);
            }
            case OPEN -> step(Kind.BRANCH, subject, Mode.EXCLUSIVE);
            case CLOSE -> {
                step(Kind.BRANCH, subject, Mode.EXCLUSIVE);
                step(Kind.CHILDREN, subject, Mode.SHARED);
                if (subject != intent.counted()) {
                    untilChecked.add(new Lock(Kind.CHILDREN, subject));
                }
            }
        }
        step(Kind.ACCOUNT, intent.from(), Mode.EXCLUSIVE, this::check);
    }

    private void entry(int name) {
        if (name != Intent.NONE && database.flaw() != Flaw.TAKES_NAMES_WITHOUT_LOCKS) {
            step(Kind.NAME, name, Mode.EXCLUSIVE);
        }
    }

    private void parent(int branch) {
        if (branch != Intent.NONE && database.flaw() != Flaw.REFERS_WITHOUT_LOCKS) {
            step(Kind.BRANCH, branch, Mode.SHARED);
            if (!database.holdsParents()) {
                untilChecked.add(new Lock(Kind.BRANCH, branch));
            }
        }
    }

    private void child(int branch) {
        if (branch != Intent.NONE && database.flaw() != Flaw.REFERS_WITHOUT_LOCKS) {
            step(Kind.CHILDREN, branch, Mode.INTENT);
        }
    }

    private void check() {
        if (!bank.allows(intent)) {
            roll(Loss.CONSTRAINT);
        }
        untilChecked.forEach(lock -> database.release(this, lock));
    }

    /** What is to be done next; null if all statements have run. */
    @Nullable
    Step next() {
        return steps.pollFirst();
    }

    void executed() {
        executed.accept(this);
    }

    /** What it has found and is to change, once all statements have run. */
    Transfer transfer() {
        return new Transfer(intent, fromBefore, toBefore, schema, readBefore, countBefore, subjectBefore);
    }

    boolean isRunning() {
        return state == State.RUNNING;
    }

    /** Whether it waits for its place in the order with all its locks. */
    boolean isSent() {
        return state == State.SENT;
    }

    /** It is about to be sent: false if it was rolled back before. */
    boolean handOver() {
        if (state != State.RUNNING) {
            return false;
        }
        state = State.SENT;
        if (database.flaw() == Flaw.LETS_GO_WHEN_SENT) {
            database.undo(this);
        }
        return true;
    }

    @Override
    public void giveWay() {
        if (state == State.SENT && database.flaw() != Flaw.TAKES_GIVING_WAY_FOR_ABORTED) {
            state = State.LOST;
            database.undo(this);
        } else if (state == State.RUNNING && steps.isEmpty() && database.flaw() == Flaw.GOES_ON_AFTER_GIVING_WAY) {
            database.undo(this);
        } else {
            roll(Loss.GAVE_WAY);
        }
    }

    /** The database cannot let it go on. Does nothing if it has lost or is over. */
    void roll(Loss why) {
        if (state == State.RUNNING || state == State.SENT) {
            rollBack();
            lost.accept(why);
        }
    }

    /** Does nothing if it is over. */
    void rollBack() {
        if (state != State.ENDED) {
            State before = state;
            state = State.ENDED;
            if (before != State.LOST) {
                database.undo(this);
            }
        }
    }

    void committed() {
        state = State.ENDED;
    }

    @Override
    public String toString() {
        return intent + " " + state;
    }
}
