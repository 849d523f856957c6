package org.gorda.bindings.postgresql;

import java.io.IOException;
import java.util.concurrent.TimeUnit;
import org.gorda.gapi.Refusal;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** The statement that a client's session executes without a transaction, as one that only reads or VACUUM: it has locks all the same, for as long as its client takes to read what it returns. Thread-safe. */
final class StatementAlone {

    private static final Logger LOG = LoggerFactory.getLogger(StatementAlone.class);

    private static final long GRACE_NANOS = TimeUnit.SECONDS.toNanos(2);

    private final ClientSession session;

    // ------------------------------------------------------------------------------------------------ guarded by this
    private @Nullable Refusal refusal;
    private long refusedNanos;

    StatementAlone(ClientSession session) {
        this.session = session;
    }

    /** Another one is about to be sent. */
    void begins() {
        boolean wasRefused;
        synchronized (this) {
            wasRefused = refusal != null;
            refusal = null;
        }
        if (wasRefused) {
            session.interceptor().awaitCancelled();
        }
    }

    /** Why it was cancelled, which its client is told now; null if it was not. */
    synchronized @Nullable Refusal takeRefusal() {
        Refusal told = refusal;
        refusal = null;
        return told;
    }

    /** Cancels it; cuts the client off if that does not help, as it does not while the server waits for the client to read. */
    void giveWay(Refusal why) {
        boolean isNew;
        synchronized (this) {
            isNew = refusal == null;
            if (isNew) {
                refusal = why;
                refusedNanos = System.nanoTime();
            } else if (System.nanoTime() - refusedNanos < GRACE_NANOS) {
                return;
            }
        }
        if (isNew) {
            cancel();
        } else {
            LOG.warn("{}: cut off, because it does not give way: {}", session.session(), why.message());
            session.interceptor().close();
        }
    }

    private void cancel() {
        try {
            session.interceptor().cancel(() -> session.transaction() == null && isRefused());
        } catch (IOException e) {
            LOG.warn(
                    "{}: what its client executes cannot be cancelled, so it is cut off: {}",
                    session.session(),
                    e.getMessage());
            session.interceptor().close();
        }
    }

    private synchronized boolean isRefused() {
        return refusal != null;
    }
}
