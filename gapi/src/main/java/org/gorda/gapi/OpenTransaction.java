package org.gorda.gapi;

import org.jspecify.annotations.Nullable;

/**
 * A client's transaction as a binding knows it, from its first statement on, the same for all bindings; the meta level knows it from its first change on. A
 * binding adds how it is aborted. Thread-safe.
 *
 * @param <C> the binding's connections
 */
public abstract class OpenTransaction<C extends ConnectionContext> implements TransactionContext {

    private final C connection;
    private volatile long begunAt;
    private volatile @Nullable TransactionId id;
    private volatile @Nullable Object attachment;

    /** @param begunAt what {@link TransactionListener#visible} was before its first statement */
    protected OpenTransaction(C connection, long begunAt) {
        this.connection = connection;
        this.begunAt = begunAt;
    }

    @Override
    public final C connection() {
        return connection;
    }

    @Override
    public final TransactionId id() {
        TransactionId given = id;
        if (given == null) {
            throw new IllegalStateException("a transaction that has changed nothing has no identity");
        }
        return given;
    }

    /** It is about to make its first change. */
    public final void begin(TransactionId given) {
        id = given;
    }

    /** Whether it has changed something, or is about to. */
    public final boolean hasBegun() {
        return id != null;
    }

    /** The first change was refused. */
    public final void didNotBegin() {
        id = null;
    }

    @Override
    public final long begunAt() {
        return begunAt;
    }

    /** Nothing that it has read was read before. */
    public final void beginsAt(long visible) {
        begunAt = visible;
    }

    @Override
    public final @Nullable Object attachment() {
        return attachment;
    }

    @Override
    public final void attach(@Nullable Object newAttachment) {
        attachment = newAttachment;
    }
}
