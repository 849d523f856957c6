package org.gorda.bindings.postgresql;

import java.io.IOException;
import org.gorda.bindings.postgresql.wire.ClientMessage;
import org.gorda.bindings.postgresql.wire.ClientMessages;
import org.gorda.bindings.postgresql.wire.Greeting;
import org.gorda.bindings.postgresql.wire.StartupMessage;
import org.gorda.gapi.RefusedException;
import org.jspecify.annotations.Nullable;

/**
 * Where a client comes in: a session begins with what the client sends first, or a request to cancel is done. Encryption is the matter of who
 * has the connection. One thread gives
 * what the client sends and one, it may be the same, takes what it is to read; leaving is thread-safe.
 */
final class Door {

    private final Sessions sessions;
    private final boolean isRelayed;
    private final ClientMessages messages = new ClientMessages();
    private final Greeting greeting = new Greeting();
    private boolean requiresTls;
    private volatile @Nullable ClientSession session;

    /** @param isRelayed whether two threads serve the client */
    Door(Sessions sessions, boolean isRelayed) {
        this.sessions = sessions;
        this.isRelayed = isRelayed;
    }

    /** Lets no session begin, which would be without TLS; what is to be cancelled is. */
    void requireTls() {
        requiresTls = true;
    }

    /** The session; null before it has begun. */
    @Nullable
    ClientSession session() {
        return session;
    }

    /** What the client is told before it has a session. */
    Greeting greeting() {
        return greeting;
    }

    void give(byte[] bytes, int offset, int length) throws IOException {
        ClientSession begun = session;
        if (begun != null && begun.process() != 0) {
            messages.letIn();
        }
        messages.accept(bytes, offset, length, this::message);
    }

    void flush() throws IOException {
        ClientSession begun = session;
        if (begun != null) {
            begun.interceptor().flush();
        }
    }

    private void message(ClientMessage message) throws IOException {
        ClientSession begun = session;
        if (begun == null) {
            first(message);
        } else {
            begun.interceptor().accept(message);
        }
    }

    private void first(ClientMessage message) throws IOException {
        StartupMessage startup = StartupMessage.of(message);
        if (startup.isEncryption()) {
            greeting.refuseEncryption();
        } else if (startup.isCancel()) {
            sessions.cancel(startup);
            greeting.end();
        } else if (requiresTls) {
            greeting.requireTls();
        } else {
            try {
                session = sessions.begin(startup, isRelayed);
                messages.started();
            } catch (RefusedException e) {
                greeting.refuse(e.refusal());
            }
        }
    }

    /** The client is gone. */
    void leave() {
        messages.end();
        ClientSession begun = session;
        if (begun != null) {
            begun.leave();
        }
    }
}
