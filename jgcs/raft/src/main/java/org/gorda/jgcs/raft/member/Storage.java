package org.gorda.jgcs.raft.member;

import java.util.List;
import java.util.function.Consumer;
import org.gorda.jgcs.History;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.raft.core.Checkpoint;
import org.gorda.jgcs.raft.core.Configuration;
import org.gorda.jgcs.raft.core.Effects;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.raft.core.Standing;
import org.jspecify.annotations.Nullable;

/**
 * A member's memory. Called by one thread at a time where not stated otherwise. Every method throws {@link
 * java.io.UncheckedIOException} when the disk fails, after which the member must stop: nothing is retried.
 */
public interface Storage extends Effects.Log, AutoCloseable {

    /**
     * What the directory held when it was opened.
     *
     * @param lostConfiguration the newest configuration that the log had, if it does not reach that any more
     */
    record Boot(
            Standing standing,
            long term,
            @Nullable MemberId vote,
            @Nullable Entry lostConfiguration) {}

    /** This directory's number, drawn at random when it was created. */
    long admission();

    /** What was last given to {@link #saveAdmitted}, or the empty configuration. */
    Configuration formed();

    /** What was last given to {@link #saveHistory}, or the unknown one. */
    History history();

    /**
     * Reads what is there; called once, first of all.
     *
     * @param visitor is given each entry after the checkpoint, in order
     */
    Boot open(Consumer<Entry> visitor);

    /** Forced to disk on return. */
    void saveVote(long term, @Nullable MemberId vote);

    /** Forced to disk on return. */
    void saveAdmitted(Configuration configuration);

    /** Remembers of which history the log is a part. Forced to disk on return. */
    void saveHistory(History history);

    /** Remembers that nothing is missing any more from the log. */
    void saveCertain();

    /** The number of this run, higher than that of any run before it. */
    long nextIncarnation(long atLeast);

    /** Writes entries to the log file. A configuration is forced to disk on return, and remembered beside the log. */
    void append(List<Entry> entries);

    /** Drops the entries from {@code fromIndex} on. */
    void truncate(long fromIndex);

    /** Replaces the log by a checkpoint. Forced to disk on return. */
    void install(Checkpoint checkpoint);

    /** Writes a checkpoint to disk, without effect until {@link #adopt}. Thread-safe. */
    void prepare(Checkpoint checkpoint);

    /** From now on the log begins behind the checkpoint, which was prepared. */
    void adopt(Checkpoint checkpoint);

    /** Deletes whole files that the checkpoint covers. Thread-safe. */
    void trim();

    /** Whether entries count as stored only after {@link #force}; otherwise they do after {@link #append}. */
    boolean synced();

    /** Forces to disk what was appended before the call. Thread-safe. */
    void force();

    /** Remembers, before it is told to anybody, that entries up to {@code index} count as stored. */
    void acknowledge(long index);

    /**
     * Entries from {@code fromIndex} to at most {@code toIndex}, from memory or disk, up to about {@code bytesMax} bytes but at
     * least one; empty if the log does not hold the first. Thread-safe.
     */
    List<Entry> read(long fromIndex, long toIndex, int bytesMax);

    /** The largest index up to which {@link #trim} could free files, given that nothing up to {@code index} is needed. */
    long compactable(long index);

    /** Closes; {@code clean} tells the next start that everything is on disk. */
    void close(boolean clean);

    @Override
    default void close() {
        close(false);
    }
}
