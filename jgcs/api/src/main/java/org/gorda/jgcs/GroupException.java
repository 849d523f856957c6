package org.gorda.jgcs;

/** The root of what goes wrong in group communication. */
public class GroupException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    /** What the caller can do about it. */
    public enum Disposition {
        /** Nothing happened: the same call may succeed later. */
        RETRY,
        /** This member is of no use now: go to another one. */
        RECONNECT,
        /** The call itself, the configuration or the directory is wrong: correct it. */
        CORRECT,
        /** An invariant or a disk is broken: the member has stopped, a person must look. */
        STOP
    }

    private final Disposition disposition;

    public GroupException(Disposition disposition, String message) {
        super(message);
        this.disposition = disposition;
    }

    public GroupException(Disposition disposition, String message, Throwable cause) {
        super(message, cause);
        this.disposition = disposition;
    }

    public final Disposition disposition() {
        return disposition;
    }
}
