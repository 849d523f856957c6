package org.gorda.jgcs.raft.core;

/** Bytes that should be an entry, a message or a record are not. */
public final class CorruptEntryException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public CorruptEntryException(String message) {
        super(message);
    }
}
