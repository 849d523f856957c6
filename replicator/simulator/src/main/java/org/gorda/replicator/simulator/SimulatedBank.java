package org.gorda.replicator.simulator;

import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.Hash64;
import org.gorda.gapi.TransactionId;
import org.gorda.jgcs.Position;

/**
 * A replica's database and its disk: accounts with unique names, branches that they refer to, which transactions were applied, and up
 * to which position. As with an engine that commits without a sync, a crash takes back what was not flushed, or some of it, by whole
 * local transactions. Confined to one thread.
 */
final class SimulatedBank {

    static final int ACCOUNTS = 8;

    /** An account has one of them or none, and no two the same: few, so that many want the same. */
    static final int NAMES = 4;

    /** An account is in one of them or in none. */
    static final int BRANCHES = 2;

    private static final long OPENING_BALANCE = 1_000;

    /**
     * A transaction in the database.
     *
     * @param fingerprint of everything up to and with this one
     */
    private record Applied(Position position, Transfer transfer, long fingerprint) {}

    private final long[] balances = new long[ACCOUNTS];
    private final int[] names = new int[ACCOUNTS];
    private final int[] branches = new int[ACCOUNTS];
    private final boolean[] isOpen = new boolean[BRANCHES];
    private final Set<TransactionId> present = new HashSet<>();
    private final List<Applied> applied = new ArrayList<>();

    /** How many were applied when each local transaction that is not on disk yet was committed. */
    private final List<Integer> unforced = new ArrayList<>();

    private int committed;
    private int forced;
    private long schema;

    SimulatedBank() {
        reset();
    }

    private void reset() {
        Arrays.fill(balances, OPENING_BALANCE);
        Arrays.fill(names, Intent.NONE);
        Arrays.fill(branches, Intent.NONE);
        Arrays.fill(isOpen, false);
        schema = 0;
    }

    /** Up to where everything is committed. */
    Position stored() {
        return committed == 0 ? Position.START : applied.get(committed - 1).position();
    }

    /** As {@link #stored}, one transaction before. */
    Position storedBefore() {
        return committed <= 1 ? Position.START : applied.get(committed - 2).position();
    }

    /** Stands for everything that is committed and its order. */
    long fingerprint() {
        return committed == 0 ? 0 : applied.get(committed - 1).fingerprint();
    }

    boolean holds(TransactionId id) {
        return present.contains(id);
    }

    /** How often the schema was changed. */
    long schema() {
        return schema;
    }

    /** The same at all times. */
    boolean balanced() {
        return Arrays.stream(balances).sum() == ACCOUNTS * OPENING_BALANCE;
    }

    /**
     * The change that a client makes that looks before it does: it takes the first name that is free, goes to a branch that is open only,
     * and opens one that is not open or closes it once all have left it.
     */
    Intent look(Intent wanted) {
        int subject = wanted.subject();
        return switch (wanted.change()) {
            case RENAME -> subject == Intent.NONE ? wanted : wanted.with(Intent.Change.RENAME, firstFreeName());
            case MOVE ->
                subject == Intent.NONE || isOpen[subject] ? wanted : wanted.with(Intent.Change.MOVE, Intent.NONE);
            case NOTHING -> wanted;
            case OPEN, CLOSE ->
                wanted.with(
                        !isOpen[subject]
                                ? Intent.Change.OPEN
                                : isEmpty(subject) ? Intent.Change.CLOSE : Intent.Change.NOTHING,
                        subject);
        };
    }

    private int firstFreeName() {
        for (int name = 0; name < NAMES; name++) {
            if (isFree(name)) {
                return name;
            }
        }
        return Intent.NONE;
    }

    private boolean isFree(int name) {
        return Arrays.stream(names).noneMatch(each -> each == name);
    }

    private boolean isEmpty(int branch) {
        return count(branch) == 0;
    }

    /** How many accounts are in the branch. */
    int count(int branch) {
        return (int) Arrays.stream(branches).filter(each -> each == branch).count();
    }

    /** Whether no two accounts have the same name, and all are in branches that are open. */
    boolean keepsConstraints() {
        long named = Arrays.stream(names).filter(name -> name != Intent.NONE).count();
        long taken = Arrays.stream(names)
                .filter(name -> name != Intent.NONE)
                .distinct()
                .count();
        return named == taken
                && Arrays.stream(branches)
                        .filter(branch -> branch != Intent.NONE)
                        .allMatch(branch -> isOpen[branch]);
    }

    /** Whether the constraints allow the change that goes with the transfer. */
    boolean allows(Intent intent) {
        int subject = intent.subject();
        return switch (intent.change()) {
            case NOTHING -> true;
            case RENAME -> subject == Intent.NONE || isFree(subject);
            case MOVE -> subject == Intent.NONE || isOpen[subject];
            case OPEN -> !isOpen[subject];
            case CLOSE -> isOpen[subject] && isEmpty(subject);
        };
    }

    /** How many transactions are applied. */
    int transactions() {
        return applied.size();
    }

    long balance(int account) {
        return balances[account];
    }

    /** The name or the branch that the account has which the change is about. */
    int subject(Intent intent) {
        return switch (intent.change()) {
            case RENAME -> names[intent.from()];
            case MOVE -> branches[intent.from()];
            case NOTHING, OPEN, CLOSE -> Intent.NONE;
        };
    }

    /** The transaction as it would be if it ran now. */
    private Transfer find(Intent intent) {
        return new Transfer(
                intent,
                intent.changesSchema() ? transactions() : balance(intent.from()),
                balance(intent.to()),
                schema,
                intent.read() == Intent.NONE ? 0 : balance(intent.read()),
                intent.counted() == Intent.NONE ? 0 : count(intent.counted()),
                subject(intent));
    }

    int uncommitted() {
        return applied.size() - committed;
    }

    /** Changes the rows, within the current local transaction. */
    void apply(Position position, Transfer transfer) {
        long latest = applied.isEmpty()
                ? 0
                : applied.get(applied.size() - 1).position().index();
        if (position.index() <= latest) {
            throw new DivergenceException(position + " is applied after " + latest);
        }
        Transfer found = find(transfer.intent());
        if (!transfer.equals(found)) {
            throw new DivergenceException(transfer + " at " + position + " ran on something else than " + found);
        }
        if (!allows(transfer.intent())) {
            throw new DivergenceException(transfer + " at " + position + " breaks a constraint");
        }
        if (!present.add(transfer.intent().id())) {
            throw new DivergenceException(transfer.intent().id() + " is applied for a second time at " + position);
        }
        append(position, transfer);
    }

    /** A mistake: the last one is committed alone, before those that precede it. */
    void commitLastFirst() {
        List<Applied> before = List.copyOf(applied.subList(committed, applied.size() - 1));
        Applied last = applied.get(applied.size() - 1);
        load(List.copyOf(applied.subList(0, committed)));
        append(last.position(), last.transfer());
        commit();
        before.forEach(each -> append(each.position(), each.transfer()));
    }

    private void append(Position position, Transfer transfer) {
        Intent intent = transfer.intent();
        balances[intent.from()] -= intent.amount();
        balances[intent.to()] += intent.amount();
        schema += intent.changesSchema() ? 1 : 0;
        switch (intent.change()) {
            case NOTHING -> {}
            case RENAME -> names[intent.from()] = intent.subject();
            case MOVE -> branches[intent.from()] = intent.subject();
            case OPEN -> isOpen[intent.subject()] = true;
            case CLOSE -> isOpen[intent.subject()] = false;
        }
        long before = applied.isEmpty() ? 0 : applied.get(applied.size() - 1).fingerprint();
        long fingerprint = new Hash64()
                .add(before)
                .add(position.term())
                .add(position.index())
                .add(transfer.hash())
                .value();
        applied.add(new Applied(position, transfer, fingerprint));
    }

    /** Commits the current local transaction, its position with it, without waiting for the disk. */
    void commit() {
        committed = applied.size();
        unforced.add(committed);
    }

    /** Brings everything committed to disk. */
    void flush() {
        forced = committed;
        unforced.clear();
    }

    /** The process is gone: what was not flushed is lost, or the end of it. */
    void crash(SplittableRandom random) {
        int kept = random.nextInt(unforced.size() + 1);
        int count = kept == 0 ? forced : unforced.get(kept - 1);
        load(List.copyOf(applied.subList(0, count)));
    }

    /** Becomes a copy of what the other one has committed. */
    void copy(SimulatedBank other) {
        load(List.copyOf(other.applied.subList(0, other.committed)));
    }

    private void load(List<Applied> content) {
        reset();
        present.clear();
        applied.clear();
        for (Applied each : content) {
            present.add(each.transfer().intent().id());
            append(each.position(), each.transfer());
        }
        committed = applied.size();
        flush();
    }
}
