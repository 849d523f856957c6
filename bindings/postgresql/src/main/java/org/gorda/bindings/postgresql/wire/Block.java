package org.gorda.bindings.postgresql.wire;

import org.jspecify.annotations.Nullable;

/**
 * The transaction block that a session is in: whose it is, from the moment when what opens it is sent, and how the server has told that it stands. Written
 * by who handles the client's messages or takes the server's, one behind the other; read by all.
 */
final class Block {

    private static final char IDLE = 'I';
    private static final char OPEN = 'T';
    private static final char FAILED = 'E';

    private enum Owner {
        /** There is no block. */
        NONE,
        /** Opened for a statement that the client would have executed without one, and closed behind it. */
        OURS,
        /** Opened by the client, who ends it. */
        CLIENT
    }

    private volatile Owner owner = Owner.NONE;
    private volatile char status = IDLE;

    /** The client's BEGIN makes ours its own, of which the server warns. */
    private volatile boolean isAdopted;

    /** As before, and the server has not executed the BEGIN yet: it passes over it if something before it fails. */
    private volatile boolean awaitsBegin;

    /** What the server answers to our last BEGIN. */
    private volatile Exchange begin = new Exchange();

    /** What may make a failed block go on is sent, and the server has not told since. */
    private volatile boolean mayGoOn;

    /** A Query of the client that begins a block is not answered. */
    private volatile boolean awaitsQuery;

    boolean isOpen() {
        return owner != Owner.NONE;
    }

    boolean isOurs() {
        return owner == Owner.OURS;
    }

    void openOurs(Exchange answered) {
        begin = answered;
        owner = Owner.OURS;
    }

    /** Why the server has not opened the block that we wanted, for instance because that was cancelled; null if it has. */
    @Nullable
    ServerError unopened() {
        return begin.error();
    }

    /** The client opens one, or makes ours its own. */
    void openClients() {
        owner = Owner.CLIENT;
    }

    /** The client is about to begin one by a Query; if that fails the server executes what comes behind it all the same, in no block. */
    void beginByQuery() {
        awaitsQuery = true;
    }

    /** That Query is answered. */
    void begunByQuery() {
        awaitsQuery = false;
    }

    boolean awaitsQuery() {
        return awaitsQuery;
    }

    /** The client's BEGIN is about to be sent. */
    void begin() {
        isAdopted = isOurs();
        awaitsBegin |= isAdopted;
    }

    /** The server has executed it. */
    void begun() {
        awaitsBegin = false;
    }

    /** Whether the client's BEGIN was to make our block its own, and the server has not executed it. */
    boolean awaitsBegin() {
        return awaitsBegin;
    }

    /** Whether the client's BEGIN met our block. */
    boolean isAdopted() {
        return isAdopted;
    }

    /** All that was sent is answered: what the server is in is the client's. */
    void settle() {
        isAdopted = false;
        awaitsBegin = false;
        awaitsQuery = false;
        begin = new Exchange();
        owner = isIdle() ? Owner.NONE : Owner.CLIENT;
    }

    /** As the server has told last. */
    char status() {
        return status;
    }

    void told(char newStatus) {
        mayGoOn = false;
        status = newStatus;
    }

    /** The client's ROLLBACK TO is about to be sent. */
    void goBack() {
        mayGoOn = true;
    }

    boolean isIdle() {
        return status == IDLE;
    }

    boolean hasFailed() {
        return status == FAILED && !mayGoOn;
    }

    /** Whether the server is in the client's block, or ours, which has not failed. */
    boolean isRunning() {
        return isOpen() && status == OPEN;
    }

    /** The server's transaction was made to fail by somebody who does not read its answers. */
    void fail() {
        status = FAILED;
    }

    /** The server's session is over. */
    void leave() {
        status = IDLE;
    }
}
