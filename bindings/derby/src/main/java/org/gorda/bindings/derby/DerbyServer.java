package org.gorda.bindings.derby;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.lang.reflect.Field;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLServerSocket;
import org.apache.derby.impl.drda.NetworkServerControlImpl;
import org.gorda.gapi.NetworkClients;
import org.gorda.gapi.ReflectionException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Derby's network server with bounds for its clients, and if wanted a TLS context of its own. Derby itself has but the one of the whole process: what
 * listens is put into the place of Derby's by reflection, when that is bound and nobody is let in yet. Thread-safe.
 */
final class DerbyServer implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(DerbyServer.class);

    private static final String UNKNOWN_VERSION =
            "this version of Derby's network server is not known: take derbynet 10.16.1.1";

    /** What Derby has noted with a session once somebody has logged in. */
    private static final int LOGGED_IN = 4;

    private static final long START_SECONDS = 60;
    private static final long END_MILLIS = 20_000;

    private final NetworkServerControlImpl derby;
    private final @Nullable SSLContext tls;
    private final NetworkClients clients;
    private final Field listening;
    private final Field sessions;
    private final Field client;
    private final Field state;
    private final CompletableFuture<DerbyServerSocket> opened = new CompletableFuture<>();
    private final Thread thread;

    /**
     * Starts it.
     *
     * @throws ReflectionException if it does not start
     */
    DerbyServer(InetAddress host, int port, @Nullable SSLContext tls, NetworkClients clients) {
        this.tls = tls;
        this.clients = clients;
        String at = new InetSocketAddress(host, port).toString();
        try {
            Class<?> session = Class.forName("org.apache.derby.impl.drda.Session");
            listening = field(NetworkServerControlImpl.class, "serverSocket");
            sessions = field(NetworkServerControlImpl.class, "sessionTable");
            client = field(session, "clientSocket");
            state = field(session, "state");
            derby = new NetworkServerControlImpl(host, port);
        } catch (NoSuchFieldException | ClassNotFoundException e) {
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

    private static Field field(Class<?> of, String name) throws NoSuchFieldException {
        Field field = of.getDeclaredField(name);
        field.setAccessible(true);
        return field;
    }

    private boolean isLoggedIn(Socket socket) {
        try {
            for (Object session : ((Map<?, ?>) sessions.get(derby)).values().toArray()) {
                if (client.get(session) == socket) {
                    return state.getInt(session) == LOGGED_IN;
                }
            }
            return false;
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
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
                replaceSocket();
            }
        }

        @Override
        public void flush() {}

        @Override
        public void close() {}
    }

    private void replaceSocket() {
        try {
            if (listening.get(derby) instanceof ServerSocket plain) {
                if (tls != null && plain instanceof SSLServerSocket) {
                    plain.close();
                    throw new ReflectionException(
                            "derby.drda.sslMode is set, and this replica has TLS of its own: leave it out");
                }
                DerbyServerSocket bounded = new DerbyServerSocket(plain, tls, clients, this::isLoggedIn);
                listening.set(derby, bounded);
                opened.complete(bounded);
            }
        } catch (IOException | IllegalAccessException e) {
            throw new ReflectionException("Derby's network server cannot be bounded: " + e, e);
        }
    }

    /** Ends it and its clients' connections, also with those who do not read. */
    @Override
    public void close() {
        clients.end();
        thread.interrupt(); // upon this Derby ends it; to ask for that by its port would need a client with TLS
        try {
            thread.join(END_MILLIS);
            DerbyServerSocket socket = opened.exceptionally(e -> null).getNow(null);
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
