package org.gorda.gapi;

/** Bytes that should be a write set are not one. */
public final class MalformedWriteSetException extends ReflectionException {

    private static final long serialVersionUID = 1L;

    public MalformedWriteSetException(String message) {
        super(message);
    }
}
