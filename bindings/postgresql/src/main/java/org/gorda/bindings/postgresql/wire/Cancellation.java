package org.gorda.bindings.postgresql.wire;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.security.MessageDigest;
import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** How what the server executes is cancelled: by a connection of its own, with what the server has told for it. Thread-safe. */
final class Cancellation {

    private static final int TIMEOUT_MILLIS = 5_000;

    private final InetSocketAddress address;
    private volatile int process;
    private volatile byte[] secret = new byte[0];
    private int requests;
    private boolean isForbidden;

    Cancellation(Socket server) {
        this.address = new InetSocketAddress(server.getInetAddress(), server.getPort());
    }

    /** The server tells what must be known to cancel. */
    void told(byte[] key) {
        process = ByteBuffer.wrap(key).getInt();
        secret = Arrays.copyOfRange(key, 4, key.length);
    }

    int process() {
        return process;
    }

    boolean isSecret(byte[] told) {
        return MessageDigest.isEqual(secret, told);
    }

    /** Cancels what the server executes, if it is still what is meant. */
    void request(BooleanSupplier isIt) throws IOException {
        synchronized (this) {
            if (isForbidden || !isIt.getAsBoolean()) {
                return;
            }
            requests++;
        }
        try {
            send();
        } finally {
            synchronized (this) {
                requests--;
                notifyAll();
            }
        }
    }

    /** The server closes the connection when it has told its process. */
    private void send() throws IOException {
        try (Socket cancel = new Socket()) {
            cancel.connect(address, TIMEOUT_MILLIS);
            cancel.setSoTimeout(TIMEOUT_MILLIS);
            cancel.getOutputStream().write(StartupMessage.cancel(process, secret));
            cancel.getOutputStream().flush();
            int end = cancel.getInputStream().read();
            if (end >= 0) {
                throw new IOException("the server answers a request to cancel");
            }
        }
    }

    /** Nothing is cancelled from now on, until {@link #allow}. */
    synchronized void forbid() {
        isForbidden = true;
        await();
    }

    synchronized void allow() {
        isForbidden = false;
    }

    /** A request to cancel must not meet what follows what it is for. */
    synchronized void await() {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(2L * TIMEOUT_MILLIS);
        try {
            for (long left = end - System.nanoTime(); requests > 0 && left > 0; left = end - System.nanoTime()) {
                TimeUnit.NANOSECONDS.timedWait(this, left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
