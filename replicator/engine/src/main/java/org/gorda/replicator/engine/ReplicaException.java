package org.gorda.replicator.engine;

import org.jspecify.annotations.Nullable;

/** A replica cannot be started, or cannot do what was asked; the message says why and what to do. */
public final class ReplicaException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public ReplicaException(String message) {
        super(message);
    }

    public ReplicaException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
