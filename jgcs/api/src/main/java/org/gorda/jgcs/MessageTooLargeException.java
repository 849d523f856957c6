package org.gorda.jgcs;

/** A payload exceeds what the group is configured to carry. */
public final class MessageTooLargeException extends GroupException {

    private static final long serialVersionUID = 1L;

    public MessageTooLargeException(long bytes, long bytesMax) {
        super(
                Disposition.CORRECT,
                "a message of " + bytes + " bytes exceeds the limit of " + bytesMax
                        + " bytes: send less at a time, or raise message-bytes-max on all members");
    }
}
