package org.gorda.bindings.postgresql.wire;

import java.io.IOException;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * What a client has sent and nobody has handled yet. It waits behind what ends a cycle of the protocol (Query, Sync), and behind what ends a transaction,
 * up to a bound; one message is handled at a time. Thread-safe.
 */
final class ClientQueue {

    /** What waits to be sent at most, if somebody else can take it meanwhile. */
    private static final int QUEUED_BYTES_MAX = 1 << 20;

    /** The same if nobody else can. */
    private static final int PIPELINED_BYTES_MAX = 64 << 20;

    /** What belongs to a cycle that has ended otherwise: the rows of COPY and their end. */
    private static final String BEHIND_CYCLE = "dcf";

    private final boolean waitsForRoom;
    private final Deque<ClientMessage> queue = new ArrayDeque<>();
    private int queuedBytes;

    /** Somebody handles a client's message. */
    private boolean handling;

    /** The client's messages wait for the thread that takes. */
    private boolean held;

    /** The cycle's last message was sent. */
    private boolean awaitsReady;

    /** The client has sent messages that no Sync has followed yet. */
    private boolean inCycle;

    /** Who sends what has waited is to look. */
    private boolean isWoken;

    /** What ends the session was the last message. */
    private boolean ended;

    private boolean closed;

    /** What is done while nobody else does anything. */
    interface Quiet {
        boolean run() throws IOException;
    }

    /** @param waitsForRoom whether {@link #add} may wait, because another thread takes messages */
    ClientQueue(boolean waitsForRoom) {
        this.waitsForRoom = waitsForRoom;
    }

    synchronized void add(ClientMessage message) throws IOException {
        awaitRoom();
        if (queuedBytes > PIPELINED_BYTES_MAX) {
            throw new IOException(
                    "a client has sent " + queuedBytes + " bytes behind the end of a transaction, without reading");
        }
        queue.add(message);
        queuedBytes += message.bytes().length;
        ended |= message.type() == 'X';
    }

    /** The client sends no more: what ends the session is last, and never too much, unless it has sent that itself. */
    synchronized void finish() {
        if (!ended) {
            for (ClientMessage message : List.of(ClientMessage.COPY_FAIL, ClientMessage.TERMINATE)) {
                queue.add(message);
                queuedBytes += message.bytes().length;
            }
            ended = true;
        }
    }

    private synchronized void awaitRoom() {
        boolean interrupted = false;
        while (waitsForRoom && queuedBytes > QUEUED_BYTES_MAX && !closed) {
            try {
                wait();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** The next message, if it may be handled. */
    private @Nullable ClientMessage due() {
        ClientMessage first = queue.peek();
        boolean waits = first == null || handling || held || (awaitsReady && BEHIND_CYCLE.indexOf(first.type()) < 0);
        return waits ? null : first;
    }

    /** Whether a message may be handled: {@link #awaitWaking} returns then. */
    synchronized boolean wake() {
        isWoken |= due() != null;
        notifyAll();
        return isWoken;
    }

    /** Waits until messages may be handled; false if none ever will be. */
    synchronized boolean awaitWaking() throws InterruptedException {
        while (!isWoken && !closed) {
            wait();
        }
        isWoken = false;
        return !closed;
    }

    /** The next message that may be handled, which must be followed by {@link #handled}; null if there is none, or if it is longer. */
    synchronized @Nullable ClientMessage poll(long most) {
        ClientMessage first = due();
        if (first == null || first.bytes().length > most) {
            return null;
        }
        handling = true;
        queue.remove();
        queuedBytes -= first.bytes().length;
        notifyAll();
        return first;
    }

    synchronized void handled() {
        handling = false;
    }

    /** What follows waits until {@link #release}. */
    synchronized void hold() {
        held = true;
    }

    synchronized void release() {
        held = false;
    }

    /** A message that a Sync is to follow is handled. */
    synchronized void beginCycle() {
        inCycle = true;
    }

    /** Whether messages were handled that no Sync has followed yet. */
    synchronized boolean isInCycle() {
        return inCycle;
    }

    /** What follows waits until {@link #ready}. */
    synchronized void endCycle() {
        awaitsReady = true;
        inCycle = false;
    }

    synchronized void ready() {
        awaitsReady = false;
    }

    /** Does something if the client has been answered all that it has sent, and it has not begun anything; what it sends meanwhile waits. */
    synchronized boolean ifQuiet(Quiet action) throws IOException {
        boolean isQuiet = !closed && !handling && !held && !awaitsReady && !inCycle && queue.isEmpty();
        return isQuiet && action.run();
    }

    synchronized boolean isClosed() {
        return closed;
    }

    synchronized void close() {
        closed = true;
        notifyAll();
    }
}
