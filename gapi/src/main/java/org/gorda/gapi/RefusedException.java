package org.gorda.gapi;

/** Thrown by a listener to refuse what a client asks for; the binding tells the client. */
public final class RefusedException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    private final transient Refusal refusal;

    public RefusedException(Refusal refusal) {
        // Refusals are part of normal work: no stack trace.
        super(refusal.message(), null, false, false);
        this.refusal = refusal;
    }

    public Refusal refusal() {
        return refusal;
    }
}
