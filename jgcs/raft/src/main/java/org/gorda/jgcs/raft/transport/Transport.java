package org.gorda.jgcs.raft.transport;

import java.util.Collection;
import java.util.SortedMap;
import org.gorda.jgcs.MemberId;

/** Carries frames between members: each whole and unharmed or not at all, in order while a connection lasts. Thread-safe. */
public interface Transport extends AutoCloseable {

    /** What a transport tells; called on the transport's threads. */
    interface Listener {

        void onFrame(byte[] frame);

        /** The connection to a member was closed, which may mean that its process is dead. */
        void onDisconnected(MemberId member);

        /** A thread has ended by this: from now on frames may stay away for good. */
        void onFailure(Throwable cause);
    }

    /** Starts to accept and to open connections. */
    void start(Listener listener);

    /** Sends a frame or loses it; never waits long. */
    void send(MemberId to, byte[] frame);

    /** Keeps connections to these members, and soon to no others: theirs are closed, unless this is called with them before. */
    void connectTo(Collection<MemberId> members);

    /** The members that are to be connected and cannot be, each with the reason in a few words. */
    SortedMap<MemberId, String> unreached();

    /** How many frames were sent, to all members together. */
    long frames();

    /** Of all those frames. */
    long bytes();

    @Override
    void close();
}
