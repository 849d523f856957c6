package org.gorda.bindings.derby;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import org.apache.derby.impl.drda.NetworkServerControlImpl;
import org.gorda.gapi.ReflectionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Derby's network server with a TLS context of its own. Derby itself has but the one of the whole process: what listens is put into the place of Derby's by
 * reflection, when that is bound and nobody is let in yet. Thread-safe.
 */
final class EncryptedServer implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(EncryptedServer.class);

    private static final String UNKNOWN_VERSION =
            "this version of Derby's network server is not known, so that it cannot be given TLS: take derbynet 10.16.1.1";

    private static final long START_SECONDS = 60;
    private static final long END_MILLIS = 20_000;

    private final NetworkServerControlImpl derby;
    private final SSLContext tls;
    private final Field listening;
    private final CompletableFuture<EncryptedServerSocket> opened = new CompletableFuture<>();
    private final Thread thread;

    /**
     * Starts it.
     *
     * @throws ReflectionException if it does not start
     */
    EncryptedServer(InetAddress host, int port, SSLContext tls) {
        this.tls = tls;
        String at = new InetSocketAddress(host, port).toString();
        try {
            listening = NetworkServerControlImpl.class.getDeclaredField("serverSocket");
            listening.setAccessible(true);
            derby = new NetworkServerControlImpl(host, port);
        } catch (NoSuchFieldException e) {
            throw new ReflectionException(UNKNOWN_VERSION, e);
        } catch (Exception e) { // what Derby declares
            throw new ReflectionException("Derby's network server does not start on " + at + ": " + e, e);
        }
        thread = new Thread(this::run, "gorda-derby-server-" + port);
        thread.setDaemon(true);
        thread.start();
        try {
            opened.get(START_SECONDS, TimeUnit.SECONDS);
        } catch (InterruptedException e) {
            close();
            Thread.currentThread().interrupt();
            throw new ReflectionException("interrupted while Derby's network server was starting", e);
        } catch (ExecutionException | TimeoutException e) {
            close();
            throw e.getCause() instanceof ReflectionException known
                    ? known
                    : new ReflectionException("Derby's network server does not start on " + at + ": " + e, e);
        }
    }

    private void run() {
        try {
            derby.blockingStart(new PrintWriter(new Console()));
            opened.completeExceptionally(new ReflectionException(UNKNOWN_VERSION));
        } catch (Exception | Error e) { // what Derby declares
            if (!opened.completeExceptionally(e)) {
                LOG.warn("Derby's network server has ended", e);
            }
        }
    }

    /** What Derby tells: first, when it is bound to its port, and before it lets anybody in, that it is ready. */
    private final class Console extends Writer {

        @Override
        public void write(char[] text, int offset, int length) {
            if (!opened.isDone()) {
                encrypt();
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }

    private void encrypt() {
        try {
            if (listening.get(derby) instanceof ServerSocket plain) {
                if (plain instanceof SSLServerSocket) {
                    plain.close();
                    throw new ReflectionException(
                            "derby.drda.sslMode is set, and this replica has TLS of its own: leave it out");
                }
                EncryptedServerSocket encrypted = new EncryptedServerSocket(plain, tls);
                listening.set(derby, encrypted);
                opened.complete(encrypted);
            }
        } catch (IOException | IllegalAccessException e) {
            throw new ReflectionException("Derby's network server cannot be given TLS: " + e, e);
        }
    }

    /** Ends it and its clients' connections, also with those who do not read. */
    @Override
    public void close() {
        EncryptedServerSocket socket = opened.getNow(null);
        if (socket != null) {
            socket.endClients();
        }
        thread.interrupt(); // upon this Derby ends it; to ask for that by its port would need a client with TLS
        try {
            thread.join(END_MILLIS);
            if (socket != null) {
                socket.close();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException e) {
            LOG.debug("not closed in order", e);
        }
        if (thread.isAlive()) {
            LOG.warn("Derby's network server has not ended within {} s", TimeUnit.MILLISECONDS.toSeconds(END_MILLIS));
        }
    }
}
