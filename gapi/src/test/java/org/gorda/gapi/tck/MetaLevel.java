package org.gorda.gapi.tck;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.function.Consumer;
import org.gorda.gapi.ConnectionContext;
import org.gorda.gapi.Content;
import org.gorda.gapi.Generator;
import org.gorda.gapi.GeneratorRange;
import org.gorda.gapi.GeneratorState;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.TransactionContext;
import org.gorda.gapi.TransactionListener;
import org.gorda.gapi.WriteSet;

/**
 * The meta level under test: numbers commits, keeps their write sets as they would travel, and answers as the test wants; at once
 * with success unless told otherwise. Thread-safe.
 */
public final class MetaLevel implements TransactionListener {

    private final Object committer = new Object();
    private final List<WriteSet> writeSets = new ArrayList<>();
    private final List<TransactionContext> begun = new ArrayList<>();
    private final Set<TransactionContext> ended = new HashSet<>();
    private final List<TransactionContext> rolledBack = new ArrayList<>();
    private boolean handsOver = true;
    private Consumer<SuspendedCommit> answer = this::succeed;
    private Consumer<SuspendedCommit> late = commit -> {};
    private Duration patience = Duration.ofSeconds(30);
    private Refusal refuseChanges;
    private boolean hasFailed;
    private boolean isBackup;
    private boolean schemaChangesWin;
    private boolean wantsKeys = true;
    private Map<Generator, Deque<Long>> leased;
    private final Map<String, Generator> generators = new HashMap<>();
    private final List<GeneratorState> leasedFor = new ArrayList<>();
    private long index;

    /** How commits are answered from now on. */
    public synchronized void answer(Consumer<SuspendedCommit> next) {
        answer = next;
        handsOver = true;
    }

    /** As {@link #answer}, of commits that are not {@linkplain SuspendedCommit#handOver handed over} before. */
    public synchronized void answerUnsent(Consumer<SuspendedCommit> next) {
        answer = next;
        handsOver = false;
    }

    public synchronized void overdue(Duration after, Consumer<SuspendedCommit> then) {
        patience = after;
        late = then;
    }

    /** Refuses first changes from now on, or no longer if null. */
    public synchronized void refuseChanges(Refusal refusal) {
        refuseChanges = refusal;
    }

    /** From now on writes belong elsewhere. */
    public synchronized void becomeBackup() {
        isBackup = true;
        refuseChanges(new Refusal(Refusal.Cause.BACKUP, "a backup takes no writes"));
    }

    @Override
    public synchronized boolean takesWrites() {
        return !isBackup;
    }

    /** From now on schema changes win against other transactions. */
    public synchronized void letSchemaChangesWin() {
        schemaChangesWin = true;
    }

    @Override
    public synchronized boolean wins(TransactionContext transaction) {
        return schemaChangesWin;
    }

    /** What those who begin from now on are to carry. */
    public synchronized void wantsKeys(boolean value) {
        wantsKeys = value;
    }

    @Override
    public synchronized boolean wantsKeys() {
        return wantsKeys;
    }

    /** From now on generators have these values only. */
    public synchronized void lease(Map<Generator, List<Long>> values) {
        leased = new HashMap<>();
        values.forEach((generator, some) -> leased.put(generator, new ArrayDeque<>(some)));
    }

    /** What was told of generators when values were asked for. */
    public synchronized List<GeneratorState> leasedFor() {
        return List.copyOf(leasedFor);
    }

    @Override
    public synchronized boolean leases() {
        return leased != null;
    }

    /** Every other one. */
    @Override
    public synchronized OptionalLong leased(String generator) {
        Generator known = generators.get(generator);
        return known == null || leased.get(known).size() % 2 == 0 ? OptionalLong.empty() : next(known);
    }

    @Override
    public synchronized OptionalLong lease(TransactionContext transaction, String generator, GeneratorState state) {
        leasedFor.add(state);
        generators.put(generator, state.generator());
        return next(state.generator());
    }

    private OptionalLong next(Generator generator) {
        Deque<Long> left = leased.get(generator);
        return left.isEmpty() ? OptionalLong.empty() : OptionalLong.of(left.remove());
    }

    @Override
    public synchronized Map<Generator, GeneratorRange> leaseRanges(Map<GeneratorState, Integer> wanted, long seen) {
        Map<Generator, GeneratorRange> ranges = new HashMap<>();
        wanted.forEach((state, most) -> {
            leasedFor.add(state);
            Deque<Long> left = leased.get(state.generator());
            long first = left.isEmpty() ? 0 : left.peek();
            int count = 0;
            while (count < most && !left.isEmpty() && left.peek() == first + count * state.increment()) {
                left.remove();
                count++;
            }
            ranges.put(state.generator(), new GeneratorRange(first, count));
        });
        return ranges;
    }

    /** Commits and releases, one after the other. */
    public void succeed(SuspendedCommit commit) {
        synchronized (committer) {
            if (!commit.commit(nextPosition(), false)) {
                throw new AssertionError("the transaction was lost");
            }
        }
        commit.release();
    }

    /** Gives its next commit the position after this one. */
    public synchronized void continueAfter(long last) {
        index = last;
    }

    public synchronized StoredPosition nextPosition() {
        return new StoredPosition(1, 2, 3, ++index);
    }

    @Override
    public void begin(TransactionContext transaction) {
        synchronized (this) {
            if (refuseChanges != null) {
                throw new RefusedException(refuseChanges);
            }
            begun.add(transaction);
        }
    }

    @Override
    public long committing(SuspendedCommit commit) {
        Consumer<SuspendedCommit> how;
        boolean sends;
        long nanos;
        synchronized (this) {
            sends = handsOver;
            writeSets.add(travel(commit.writeSet()));
            how = answer;
            nanos = patience.toNanos();
        }
        if (sends) {
            commit.handOver();
        }
        how.accept(commit);
        return nanos;
    }

    @Override
    public void overdue(SuspendedCommit commit) {
        Consumer<SuspendedCommit> how;
        synchronized (this) {
            how = late;
        }
        how.accept(commit);
    }

    @Override
    public synchronized void databaseFailed(ReflectionException cause) {
        hasFailed = true;
    }

    /** Whether the database was said to have failed. */
    public synchronized boolean hasFailed() {
        return hasFailed;
    }

    @Override
    public synchronized void ended(TransactionContext transaction, boolean committed) {
        if (!ended.add(transaction)) {
            throw new AssertionError("a transaction ended twice");
        }
        if (!committed) {
            rolledBack.add(transaction);
        }
    }

    @Override
    public void reading(ConnectionContext connection) {}

    @Override
    public boolean wantsReads() {
        return false;
    }

    /** A write set as another replica gets it, from files as far as it does not fit into memory. */
    private static WriteSet travel(WriteSet origin) {
        ByteBuffer bytes = origin.bytes();
        byte[] copy = new byte[bytes.remaining()];
        bytes.get(copy);
        if (origin.precedingLength() == 0) {
            return WriteSet.decode(ByteBuffer.wrap(copy), Content.EMPTY);
        }
        try {
            Path file = Files.createTempFile("preceding", ".tck");
            file.toFile().deleteOnExit();
            Files.copy(origin.preceding().stream(0), file, StandardCopyOption.REPLACE_EXISTING);
            RandomAccessFile preceding = new RandomAccessFile(file.toFile(), "r");
            return WriteSet.decode(ByteBuffer.wrap(copy), (position, target, offset, length) -> {
                try {
                    preceding.seek(position);
                    return Math.max(0, preceding.read(target, offset, length));
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** The write sets of all commits asked for since the last call, decoded as another replica would. */
    public synchronized List<WriteSet> takeWriteSets() {
        List<WriteSet> taken = List.copyOf(writeSets);
        writeSets.clear();
        return taken;
    }

    public synchronized int begun() {
        return begun.size();
    }

    public synchronized TransactionContext lastBegun() {
        return begun.get(begun.size() - 1);
    }

    public synchronized int ended() {
        return ended.size();
    }

    public synchronized int rolledBack() {
        return rolledBack.size();
    }
}
