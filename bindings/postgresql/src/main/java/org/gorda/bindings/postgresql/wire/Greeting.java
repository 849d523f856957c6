package org.gorda.bindings.postgresql.wire;

import org.gorda.gapi.Refusal;

/** What a client is told before it has a session. Thread-safe. */
public final class Greeting {

    /** As the server has it for who is not let in by that way; upon this, clients that may do either try TLS. */
    private static final String NO_ENTRY = "28000";

    private final MessageBuffer out = new MessageBuffer();
    private boolean ended;

    /** There is no encryption. */
    public synchronized void refuseEncryption() {
        out.no();
    }

    /** There is no session without TLS. */
    public synchronized void requireTls() {
        out.error(
                "FATAL",
                NO_ENTRY,
                "this replica speaks TLS with its clients, and nothing else: connect with sslmode=verify-full");
        ended = true;
    }

    /** There is no session. */
    public synchronized void refuse(Refusal refusal) {
        out.error("FATAL", refusal.cause().sqlState(), refusal.message());
        ended = true;
    }

    /** There is no more to be told. */
    public synchronized void end() {
        ended = true;
    }

    public synchronized boolean isEnded() {
        return ended;
    }

    /** Takes what is told; as many bytes as there are, at most {@code length}. */
    public synchronized int take(byte[] target, int offset, int length) {
        return out.take(target, offset, length);
    }
}
