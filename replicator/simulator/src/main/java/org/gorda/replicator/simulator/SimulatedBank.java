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
 * A replica's database and its disk: accounts, which transactions were applied, and up to which position. As with an engine that
 * commits without a sync, a crash takes back what was not flushed, or some of it, by whole local transactions. Confined to one
 * thread.
 */
final class SimulatedBank {

    static final int ACCOUNTS = 12;
    private static final long OPENING_BALANCE = 1_000;

    /**
     * A transaction in the database.
     *
     * @param fingerprint of everything up to and with this one
     */
    private record Applied(Position position, Transfer transfer, long fingerprint) {}

    private final long[] balances = new long[ACCOUNTS];
    private final Set<TransactionId> present = new HashSet<>();
    private final List<Applied> applied = new ArrayList<>();

    /** How many were applied when each local transaction that is not on disk yet was committed. */
    private final List<Integer> unforced = new ArrayList<>();

    private int committed;
    private int forced;
    private long schema;

    SimulatedBank() {
        Arrays.fill(balances, OPENING_BALANCE);
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

    long balance(int account) {
        return balances[account];
    }

    /** How often the schema was changed. */
    long schema() {
        return schema;
    }

    /** How many transactions were applied. */
    int transactions() {
        return applied.size();
    }

    /** The same at all times. */
    boolean balanced() {
        return Arrays.stream(balances).sum() == ACCOUNTS * OPENING_BALANCE;
    }

    /** Whether a row is locked by what is applied and not committed. */
    boolean isBeingApplied(int account) {
        return applied.subList(committed, applied.size()).stream()
                .anyMatch(each -> each.transfer().touches(account));
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
        if (transfer.schema() != schema) {
            throw new DivergenceException(
                    transfer + " at " + position + " ran on another schema than " + schema + ", which is there");
        }
        if (transfer.changesSchema()) {
            if (transfer.fromBefore() != applied.size()) {
                throw new DivergenceException(transfer + " at " + position + " has not seen all " + applied.size()
                        + " before it, and changes the schema");
            }
        } else if (balances[transfer.from()] != transfer.fromBefore()
                || balances[transfer.to()] != transfer.toBefore()) {
            throw new DivergenceException(transfer + " at " + position + " ran on other balances than "
                    + balances[transfer.from()] + " and " + balances[transfer.to()] + ", which are there");
        }
        if (transfer.read() != Transfer.NONE && balances[transfer.read()] != transfer.readBefore()) {
            throw new DivergenceException(transfer + " at " + position + " has read another balance than "
                    + balances[transfer.read()] + ", which is there");
        }
        if (!present.add(transfer.id())) {
            throw new DivergenceException(transfer.id() + " is applied for a second time at " + position);
        }
        append(position, transfer);
    }

    private void append(Position position, Transfer transfer) {
        balances[transfer.from()] -= transfer.amount();
        balances[transfer.to()] += transfer.amount();
        schema += transfer.changesSchema() ? 1 : 0;
        long before = applied.isEmpty() ? 0 : applied.get(applied.size() - 1).fingerprint();
        long fingerprint = new Hash64()
                .add(before)
                .add(position.term())
                .add(position.index())
                .add(transfer.hashCode())
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
        Arrays.fill(balances, OPENING_BALANCE);
        present.clear();
        applied.clear();
        schema = 0;
        for (Applied each : content) {
            present.add(each.transfer().id());
            append(each.position(), each.transfer());
        }
        committed = applied.size();
        flush();
    }
}
