package org.gorda.jgcs;

import java.util.concurrent.CompletableFuture;

/** The group's ordered log on this member: up to where it is decided, what of it is read again, forced and forgotten. Thread-safe. */
public interface LogSession {

    /** The position before the oldest entry held here; what follows it can be delivered here. */
    Position firstHeld();

    /** The newest position known here to be decided: a majority has it. */
    Position lastCommitted();

    /**
     * Whether this member, while it leads, delivers what its own log holds as durably as the group's configuration demands, without waiting for a
     * majority. Such a delivery is not uniform (an optimistic one: Pedone, Schiper 1998): if this member ends to lead before a majority has it, others
     * may be ordered in its place, of which {@link GroupListener#onGap} tells, here or after a restart. Here, nothing can be sent any more then: the
     * group is to be left and opened anew. Off at first; nothing is taken back when it is turned off.
     */
    void deliverAhead(boolean ahead);

    /**
     * Reads one message again that is decided, or was delivered here.
     *
     * @param index its place
     * @throws GroupException if the log holds no message there, or does not hold it any more
     */
    Message at(long index);

    /**
     * Forces to disk what was delivered here before the call, whatever durability the group was opened with: a user that forces what it has made of that
     * does so afterwards, or holds more after a power loss of all machines than the log.
     *
     * @throws java.io.UncheckedIOException if the disk fails, upon which the member stops
     */
    void force();

    /**
     * Tells that this member's user will not ask for anything up to {@code position} again, not even after a crash, and that
     * other members need not get it from here. The log may then forget it.
     */
    void release(Position position);

    /**
     * Finds a position that covers everything any member had been told to be decided when this was called (a linearizable read
     * waits until it has processed it). Ongaro 2014, section 6.4: one round to a majority, nothing is written.
     *
     * @return fails with a {@link GroupException} when no majority answers in time
     */
    CompletableFuture<Position> readPosition();
}
