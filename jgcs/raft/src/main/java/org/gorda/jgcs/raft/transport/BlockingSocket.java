package org.gorda.jgcs.raft.transport;

import java.io.IOException;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.TimeUnit;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Is closed by a clock when a time-out is over. Java's own time-outs leave a socket non-blocking for good, so that each read of a frame takes three calls of the
 * system in the place of one. Thread-safe.
 */
class BlockingSocket extends Socket {

    private static final Logger LOG = LoggerFactory.getLogger(BlockingSocket.class);

    private final ScheduledExecutorService clock;
    private int timeoutMillis;
    private @Nullable ScheduledFuture<?> end;

    BlockingSocket(ScheduledExecutorService clock) {
        this.clock = clock;
    }

    @Override
    public void connect(SocketAddress to, int connectMillis) throws IOException {
        setSoTimeout(connectMillis);
        try {
            super.connect(to, 0);
        } finally {
            setSoTimeout(0);
        }
    }

    /** Other than in Java, for all that is done until another one is set. */
    @Override
    public final synchronized void setSoTimeout(int millis) throws SocketException {
        if (end != null) {
            end.cancel(false);
            end = null;
        }
        timeoutMillis = millis;
        if (millis > 0) {
            try {
                end = clock.schedule(this::closeLate, millis, TimeUnit.MILLISECONDS);
            } catch (RejectedExecutionException e) {
                throw (SocketException) new SocketException("the transport is closed").initCause(e);
            }
        }
    }

    @Override
    public final synchronized int getSoTimeout() {
        return timeoutMillis;
    }

    final void closeLate() {
        try {
            close();
        } catch (IOException e) {
            LOG.debug("closing {}", this, e);
        }
    }
}
