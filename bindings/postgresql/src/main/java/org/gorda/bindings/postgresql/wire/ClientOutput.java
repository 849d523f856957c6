package org.gorda.bindings.postgresql.wire;

import org.gorda.gapi.Refusal;
import org.jspecify.annotations.Nullable;

/** What a client is to read. Confined to who takes it, and to who answers a commit meanwhile. */
final class ClientOutput {

    private final MessageBuffer out = new MessageBuffer();

    /** The end of the last statement, which the client is told when its transaction is committed. */
    private byte @Nullable [] completion;

    private boolean failed;
    private boolean ending;

    int length() {
        return out.length();
    }

    int take(byte[] target, int offset, int length) {
        return out.take(target, offset, length);
    }

    /** Whether the client was told of an error in this cycle. */
    boolean hasFailed() {
        return failed;
    }

    /** Whether the session ends with what the client was told. */
    boolean isEnding() {
        return ending;
    }

    /** Passes what has no place among the answers. */
    void copy(ServerStream message) {
        message.copyTo(out);
    }

    void pass(ServerStream message) {
        passCompletion();
        message.copyTo(out);
    }

    /** Another statement follows the one whose end was held back, or its transaction is committed. */
    void passCompletion() {
        if (completion != null) {
            out.put(completion);
            completion = null;
        }
    }

    void holdCompletion(ServerStream message) {
        passCompletion();
        completion = message.copy();
    }

    /** Its transaction is not committed. */
    void dropCompletion() {
        completion = null;
    }

    void setting(String name, String value) {
        out.parameter(name, value);
    }

    /** What was described returns no rows. */
    void noData() {
        passCompletion();
        out.noData();
    }

    void complete(String tag) {
        out.complete(tag);
    }

    /** Tells of the server's error. */
    void fail(byte[] error) {
        failed = true;
        out.put(error);
    }

    /** Tells why the replica refuses what was asked for. */
    void refuse(Refusal refusal) {
        failed = true;
        boolean isFatal = refusal.cause().endsSession();
        out.error(isFatal ? "FATAL" : "ERROR", refusal.cause().sqlState(), refusal.message());
        ending |= isFatal;
    }

    /** Ends a cycle. */
    void ready(char status) {
        completion = null;
        failed = false;
        if (!ending) {
            out.ready(status);
        }
    }
}
