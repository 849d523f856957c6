package org.gorda.jgcs.simulated;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Consumer;
import org.gorda.jgcs.History;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.raft.core.Checkpoint;
import org.gorda.jgcs.raft.core.Configuration;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.raft.core.Standing;
import org.gorda.jgcs.raft.member.Storage;
import org.jspecify.annotations.Nullable;

/**
 * One member's directory, which outlives its processes. Keeps apart what was written, which the kill of a process does not
 * touch, and what was forced, which alone survives a power loss. Confined to one thread.
 */
public final class SimulatedDisk {

    private final SplittableRandom random;
    private long admission;
    private boolean admitted;
    private Configuration formed = Configuration.EMPTY;
    private History history = History.UNKNOWN;
    private long term;
    private @Nullable MemberId vote;
    private Checkpoint checkpoint = Checkpoint.NONE;
    private List<Entry> written = new ArrayList<>();
    private List<Entry> forced = new ArrayList<>();
    private @Nullable Entry configured;
    private long acknowledged;
    private boolean uncertain;
    private boolean machineStopped;
    private boolean synced;
    private long incarnation;
    private boolean forgot;
    private boolean failing;

    public SimulatedDisk(SplittableRandom random) {
        this.random = random;
        this.admission = random.nextLong();
    }

    /** Every write and force fails from now on, or works again. */
    public void fail(boolean fails) {
        failing = fails;
    }

    /** The machine loses power: what was not forced is lost, or some of it. */
    public void losePower() {
        machineStopped = true;
        int common = 0;
        while (common < Math.min(forced.size(), written.size()) && forced.get(common) == written.get(common)) {
            common++;
        }
        if (common < forced.size() && random.nextBoolean()) {
            written = new ArrayList<>(forced);
        } else {
            int kept = common + random.nextInt(written.size() - common + 1);
            written = new ArrayList<>(written.subList(0, kept));
        }
        forced = new ArrayList<>(written);
    }

    /** Somebody deletes the end of the log. */
    public void loseTail(int entries) {
        written = new ArrayList<>(written.subList(0, Math.max(0, written.size() - entries)));
        forced = new ArrayList<>(written);
    }

    /** What is in the log. */
    List<Entry> written() {
        return List.copyOf(written);
    }

    /** Somebody copies the directory while no process uses it; to be run when it is restored from there. */
    public Runnable copy() {
        long oldTerm = term;
        MemberId oldVote = vote;
        Checkpoint oldCheckpoint = checkpoint;
        List<Entry> oldLog = List.copyOf(written);
        Entry oldConfigured = configured;
        long oldAcknowledged = acknowledged;
        long oldIncarnation = incarnation;
        return () -> {
            term = oldTerm;
            vote = oldVote;
            checkpoint = oldCheckpoint;
            written = new ArrayList<>(oldLog);
            forced = new ArrayList<>(oldLog);
            configured = oldConfigured;
            acknowledged = oldAcknowledged;
            incarnation = oldIncarnation;
        };
    }

    /** Somebody deletes the directory. */
    public void wipe() {
        admission = random.nextLong();
        admitted = false;
        formed = Configuration.EMPTY;
        history = History.UNKNOWN;
        term = 0;
        vote = null;
        checkpoint = Checkpoint.NONE;
        written = new ArrayList<>();
        forced = new ArrayList<>();
        configured = null;
        acknowledged = 0;
        uncertain = false;
        machineStopped = false;
        incarnation = 0;
    }

    /** A mistake, for tests of tests: in which term it was and for whom it has voted was never written. */
    public void forgetVote() {
        term = 0;
        vote = null;
    }

    /** A mistake, for tests of tests: the last run was never numbered. */
    public void forgetIncarnation() {
        forgot = incarnation > 0;
    }

    /** A mistake, for tests of tests: the log is lost, and what would show that is not. */
    public void wipeUnnoticed() {
        forgetVote();
        checkpoint = Checkpoint.NONE;
        written = new ArrayList<>();
        forced = new ArrayList<>();
        configured = null;
        acknowledged = 0;
    }

    /** Opens the directory for a new process. */
    public Storage mount(boolean withForce) {
        return new Mounted(withForce);
    }

    private final class Mounted implements Storage {

        private final boolean withForce;

        Mounted(boolean withForce) {
            this.withForce = withForce;
        }

        private void check() {
            if (failing) {
                throw new UncheckedIOException(new IOException("simulated disk failure"));
            }
        }

        @Override
        public long admission() {
            return admission;
        }

        @Override
        public Configuration formed() {
            return formed;
        }

        @Override
        public Boot open(Consumer<Entry> visitor) {
            written.forEach(visitor);
            if (withForce) {
                force();
            }
            boolean survived = !machineStopped || synced;
            Entry last = written.isEmpty() ? null : written.get(written.size() - 1);
            boolean isLost = configured != null
                    && !configured.isWithin(last == null ? checkpoint.term() : last.term(), lastIndex());
            boolean certain = !uncertain && survived && lastIndex() >= acknowledged && !isLost;
            uncertain = admitted && !certain;
            synced = withForce;
            machineStopped = false;
            acknowledged = lastIndex();
            Standing standing = !admitted ? Standing.FRESH : certain ? Standing.CERTAIN : Standing.UNCERTAIN;
            return new Boot(standing, term, vote, isLost ? configured : null);
        }

        private long lastIndex() {
            return checkpoint.index() + written.size();
        }

        @Override
        public void saveVote(long newTerm, @Nullable MemberId newVote) {
            check();
            if (newTerm < term) {
                throw new IllegalStateException("term goes back from " + term + " to " + newTerm);
            }
            term = newTerm;
            vote = newVote;
        }

        @Override
        public void saveAdmitted(Configuration configuration) {
            check();
            admitted = true;
            formed = configuration;
        }

        @Override
        public History history() {
            return history;
        }

        @Override
        public void saveHistory(History learned) {
            check();
            history = learned;
        }

        @Override
        public void saveCertain() {
            uncertain = false;
        }

        @Override
        public long nextIncarnation(long atLeast) {
            incarnation = forgot ? incarnation : Math.max(incarnation + 1, atLeast);
            forgot = false;
            return incarnation;
        }

        @Override
        public void append(List<Entry> entries) {
            check();
            for (Entry entry : entries) {
                written.add(entry);
                if (entry.kind() == Entry.Kind.CONFIGURATION) {
                    forced = new ArrayList<>(written);
                    configured = entry;
                }
            }
        }

        @Override
        public void truncate(long fromIndex) {
            check();
            acknowledged = Math.min(acknowledged, fromIndex - 1);
            int kept = (int) (fromIndex - 1 - checkpoint.index());
            if (configured != null && configured.index() >= fromIndex && configured.index() <= lastIndex()) {
                configured = null;
                for (Entry entry : written.subList(0, kept)) {
                    configured = entry.kind() == Entry.Kind.CONFIGURATION ? entry : configured;
                }
            }
            written = new ArrayList<>(written.subList(0, kept));
            if (withForce) {
                forced = new ArrayList<>(written);
            }
        }

        @Override
        public void install(Checkpoint next) {
            check();
            checkpoint = next;
            written = new ArrayList<>();
            forced = new ArrayList<>();
            acknowledged = next.index();
        }

        @Override
        public void prepare(Checkpoint next) {
            check();
        }

        @Override
        public void adopt(Checkpoint next) {
            int covered = (int) (next.index() - checkpoint.index());
            written = new ArrayList<>(written.subList(covered, written.size()));
            forced = new ArrayList<>(forced.subList(Math.min(covered, forced.size()), forced.size()));
            checkpoint = next;
        }

        @Override
        public void trim() {}

        @Override
        public boolean synced() {
            return withForce;
        }

        @Override
        public void force() {
            check();
            forced = new ArrayList<>(written);
        }

        @Override
        public void acknowledge(long index) {
            acknowledged = index;
        }

        @Override
        public Checkpoint checkpoint() {
            return checkpoint;
        }

        @Override
        public List<Entry> cached(long fromIndex, int bytesMax) {
            // Half of the log counts as being on disk only, so that reading it from there is exercised.
            return fromIndex <= checkpoint.index() + written.size() / 2
                    ? List.of()
                    : read(fromIndex, Long.MAX_VALUE, bytesMax);
        }

        @Override
        public List<Entry> read(long fromIndex, long toIndex, int bytesMax) {
            List<Entry> found = new ArrayList<>();
            int bytes = 0;
            long last = Math.min(toIndex, lastIndex());
            for (long index = fromIndex; index <= last && index > checkpoint.index(); index++) {
                Entry entry = written.get((int) (index - checkpoint.index() - 1));
                if (!found.isEmpty() && bytes + entry.length() > bytesMax) {
                    break;
                }
                found.add(entry);
                bytes += entry.length();
            }
            return found;
        }

        @Override
        public long compactable(long index) {
            return Math.max(checkpoint.index(), Math.min(index, lastIndex()));
        }

        @Override
        public void close(boolean clean) {
            if (clean && !failing) {
                forced = new ArrayList<>(written);
            }
        }
    }
}
