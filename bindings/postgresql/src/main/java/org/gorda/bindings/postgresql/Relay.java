package org.gorda.bindings.postgresql;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Lets clients in over the network, whatever speaks PostgreSQL's protocol, with two threads for each, a third one if it sends much without reading. Thread-safe. */
final class Relay implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Relay.class);

    private static final int BUFFER_BYTES = 64 << 10;
    private static final int GREETING_BYTES = 1024;

    /** The server has a bound of its own, max_connections, which is lower as a rule. */
    private static final int CLIENTS_MAX = 10_000;

    /** So long may a client take to begin a session. */
    private static final int STARTUP_TIMEOUT_MILLIS = 60_000;

    /** So long what a client has sent goes on being executed, and answered, once it has ended its side. */
    private static final long LEAVING_MILLIS = 10_000;

    /** Before it is tried again to let somebody in. */
    private static final long PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    private final Sessions sessions;
    private final @Nullable SSLContext tls;
    private final String host;
    private final ServerSocket listening;
    private final Set<Socket> clients = ConcurrentHashMap.newKeySet();

    /** @param tls with which clients are spoken to, and in no other way; if null, in plain text */
    Relay(Sessions sessions, InetSocketAddress address, @Nullable SSLContext tls) throws IOException {
        this.sessions = sessions;
        this.tls = tls;
        // With TLS the name as it was given: a certificate is for names.
        this.host = tls == null ? address.getAddress().getHostAddress() : address.getHostString();
        this.listening = new ServerSocket();
        try {
            listening.setReuseAddress(true);
            listening.bind(address);
        } catch (IOException e) {
            listening.close();
            throw e;
        }
        start("gorda-relay", this::accept);
    }

    /** Host and port, as in a URL. */
    String address() {
        return (host.indexOf(':') >= 0 ? "[" + host + "]" : host) + ":" + listening.getLocalPort();
    }

    private static Thread start(String name, Runnable work) {
        Thread thread = new Thread(work, name);
        thread.setDaemon(true);
        thread.start();
        return thread;
    }

    private void accept() {
        while (!listening.isClosed()) {
            try {
                admit(listening.accept());
            } catch (IOException | OutOfMemoryError e) { // the system gives no more files, or threads, for now
                if (!listening.isClosed()) {
                    LOG.warn("a client was not let in: {}", e.getMessage());
                    LockSupport.parkNanos(PAUSE_NANOS);
                }
            }
        }
    }

    private void admit(Socket client) throws IOException {
        if (clients.size() >= CLIENTS_MAX) {
            client.close();
            return;
        }
        clients.add(client);
        try {
            start("gorda-client-" + client.getPort(), () -> serve(client));
        } catch (OutOfMemoryError e) {
            clients.remove(client);
            client.close();
            throw e;
        }
    }

    /** From the client, in a thread of its own; what goes to the client is in another one, once there is a session. */
    private void serve(Socket socket) {
        Door door = new Door(sessions, true);
        try (socket) {
            ClientConnection client = new ClientConnection(socket);
            client.timeout(STARTUP_TIMEOUT_MILLIS);
            if (tls != null && !client.encrypt(tls)) {
                door.requireTls();
            }
            byte[] bytes = new byte[GREETING_BYTES];
            ClientSession session = null;
            while (session == null && !door.greeting().isEnded() && give(client, door, bytes)) {
                int greeted = door.greeting().take(bytes, 0, bytes.length);
                client.write(bytes, greeted);
                session = door.session();
            }
            if (session == null) {
                client.end();
            } else {
                client.timeout(0);
                serve(client, door, session);
            }
        } catch (IOException | RuntimeException e) {
            LOG.debug("a client is gone: {}", e.toString());
        } finally {
            clients.remove(socket);
            door.leave();
        }
    }

    private static boolean give(ClientConnection client, Door door, byte[] bytes) throws IOException {
        int read = client.read(bytes);
        if (read > 0) {
            door.give(bytes, 0, read);
            door.flush();
        }
        return read >= 0;
    }

    private static void serve(ClientConnection client, Door door, ClientSession session) throws IOException {
        byte[] bytes = new byte[BUFFER_BYTES];
        session.enter();
        Thread toClient = start("gorda-server-" + client.port(), () -> answer(client, session));
        try {
            while (give(client, door, bytes)) {
                // until the client, or the server, has ended it
            }
        } finally {
            end(client, session, toClient);
            session.exit();
        }
    }

    /** Lets what the client has sent be executed first, as the server does. */
    private static void end(ClientConnection client, ClientSession session, Thread toClient) {
        try {
            finish(session);
            join(toClient, LEAVING_MILLIS);
        } finally {
            session.leave();
            client.close();
            join(toClient, 0);
        }
    }

    private static void finish(ClientSession session) {
        try {
            session.interceptor().finish();
        } catch (IOException e) {
            LOG.debug("a session has ended: {}", e.toString()); // who takes its answers has those that there are
        }
    }

    /** @param millis 0 is for ever */
    private static void join(Thread thread, long millis) {
        boolean interrupted = false;
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(millis);
        long left = millis;
        while (thread.isAlive() && (millis == 0 || left > 0)) {
            try {
                thread.join(left);
            } catch (InterruptedException e) {
                interrupted = true;
            }
            left = millis == 0 ? 0 : TimeUnit.NANOSECONDS.toMillis(end - System.nanoTime());
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    private static void answer(ClientConnection client, ClientSession session) {
        byte[] bytes = new byte[BUFFER_BYTES];
        try (client) {
            boolean reads = true;
            for (int taken = take(session, bytes); taken >= 0; taken = take(session, bytes)) {
                reads = reads && write(client, bytes, taken);
            }
            client.end();
        } catch (IOException | RuntimeException e) {
            LOG.debug("a session has ended: {}", e.toString());
        } finally {
            session.leave();
        }
    }

    /** Whether the client takes it. If it does not, who reads from it is to notice, too. */
    private static boolean write(ClientConnection client, byte[] bytes, int length) {
        try {
            client.write(bytes, length);
            return true;
        } catch (IOException e) {
            LOG.debug("a client is gone: {}", e.toString());
            client.close();
            return false;
        }
    }

    private static int take(ClientSession session, byte[] bytes) throws IOException {
        return session.interceptor().take(bytes, 0, bytes.length);
    }

    /** Lets nobody in any more, and lets go of those who are in. */
    @Override
    public void close() {
        try {
            listening.close();
            for (Socket client : clients) {
                client.close();
            }
        } catch (IOException e) {
            LOG.debug("not closed in order", e);
        }
    }
}
