package org.gorda.jgcs.raft.core;

import java.util.List;
import org.gorda.jgcs.MemberId;
import org.jspecify.annotations.Nullable;

/**
 * What the core wants done. Called during a step, in the order in which things must happen: a call returns once its effect has
 * happened, except that entries may be stored later. An exception thrown here is a failed disk: the member must stop.
 */
public interface Effects {

    /** Forces term and vote to disk before returning, in all modes of durability. */
    void persist(long term, @Nullable MemberId votedFor);

    /**
     * Remembers for ever that this member has taken part in a group, before returning.
     *
     * @param configuration the group's members as they were told to each other; used until the log says otherwise
     */
    void admitted(Configuration configuration);

    /** Remembers that this member's log lacks nothing any more of what it ever acknowledged. */
    void certain();

    /**
     * Appends entries.
     *
     * @return whether they are stored as the configured durability demands; otherwise {@link RaftCore#stored} tells when they are
     */
    boolean append(List<Entry> entries);

    /** Drops the entries from {@code fromIndex} on. None of them was ever committed. */
    void truncate(long fromIndex);

    /** Replaces log and checkpoint. Stored before returning. */
    void install(Checkpoint checkpoint);

    /** Sends a message, or loses it. */
    void send(MemberId to, RaftMessage message);

    /** Asks for entries that {@link Log#cached} did not have; {@link RaftCore#fetched} brings them. */
    void fetch(MemberId forMember, long fromIndex, int bytesMax);

    /** Everything up to {@code index} is decided. */
    void commit(long index);

    /** Role, leader, configuration or contact to a majority changed. */
    void changed();

    /** A read asked for by {@link RaftCore#read} may be answered from {@code index} on. */
    void readable(long request, long index);

    /** A read asked for by {@link RaftCore#read} cannot be answered here. */
    void unreadable(long request);

    /** What the core reads of the log. */
    interface Log {

        /**
         * Entries from {@code fromIndex} as far as they are in memory, up to about {@code bytesMax} bytes but at least one; empty if
         * the first is not in memory.
         */
        List<Entry> cached(long fromIndex, int bytesMax);

        /** The checkpoint before the first entry held. */
        Checkpoint checkpoint();
    }
}
