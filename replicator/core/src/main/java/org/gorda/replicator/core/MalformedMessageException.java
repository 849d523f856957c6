package org.gorda.replicator.core;

/** A delivered message is none that this release of a replica sends. The replica must stop: others may have understood it. */
public final class MalformedMessageException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public MalformedMessageException(String message) {
        super(message);
    }
}
