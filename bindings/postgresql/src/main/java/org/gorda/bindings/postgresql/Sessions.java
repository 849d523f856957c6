package org.gorda.bindings.postgresql;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Properties;
import java.util.Set;
import java.util.UUID;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Pattern;
import javax.net.ssl.SSLContext;
import org.gorda.bindings.postgresql.wire.ClientEncoding;
import org.gorda.bindings.postgresql.wire.StartupMessage;
import org.gorda.gapi.KeepAlive;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.TransactionListener;
import org.jspecify.annotations.Nullable;
import org.postgresql.Driver;
import org.postgresql.PGProperty;

/** The sessions of a database's clients, in this JVM and over the network. Thread-safe. */
final class Sessions implements AutoCloseable {

    private static final int CONNECT_TIMEOUT_MILLIS = 10_000;

    /** Settings by which changes would escape, as a client may write them in its options: the server takes a hyphen there for what joins their words. */
    private static final Pattern OURS =
            Pattern.compile("(?i)session[_-]replication[_-]role|gorda\\.|event[_-]triggers[ =]");

    /** How long a process of the server may take to end after its connection has. */
    private static final long END_NANOS = TimeUnit.SECONDS.toNanos(20);

    /** By their keys, for the sockets that the driver makes by name. */
    private static final Map<String, Sessions> OPEN = new ConcurrentHashMap<>();

    private final PostgresDatabase database;
    private final TransactionListener listener;
    private final boolean wantsReads;
    private final String key = UUID.randomUUID().toString();
    private final Set<ClientSession> sessions = ConcurrentHashMap.newKeySet();
    private final Set<LocalCommit> suspended = ConcurrentHashMap.newKeySet();
    private @Nullable Relay relay;
    private volatile boolean closed;

    Sessions(PostgresDatabase database, TransactionListener listener) {
        this.database = database;
        this.listener = listener;
        this.wantsReads = listener.wantsReads();
        OPEN.put(key, this);
    }

    /**
     * Finds sessions by their key.
     *
     * @throws IllegalArgumentException if they are closed
     */
    static Sessions of(String key) {
        Sessions found = OPEN.get(key);
        if (found == null) {
            throw new IllegalArgumentException("the replica of this database is closed");
        }
        return found;
    }

    PostgresDatabase database() {
        return database;
    }

    TransactionListener listener() {
        return listener;
    }

    boolean wantsReads() {
        return wantsReads;
    }

    void suspended(LocalCommit commit) {
        suspended.add(commit);
    }

    void answered(LocalCommit commit) {
        suspended.remove(commit);
    }

    void closed(ClientSession session) {
        sessions.remove(session);
    }

    // -------------------------------------------------------------------------------------------------------- clients

    /** Connects a client in this JVM, by PostgreSQL's own driver. */
    Connection connect(Properties properties) throws SQLException {
        Properties all = new Properties();
        for (Properties some : List.of(database.server().login(), properties)) {
            some.stringPropertyNames().forEach(name -> all.setProperty(name, some.getProperty(name)));
        }
        PGProperty.SOCKET_FACTORY.set(all, ClientSockets.class.getName());
        PGProperty.SOCKET_FACTORY_ARG.set(all, key);
        PGProperty.SSL_MODE.set(all, "disable");
        PGProperty.GSS_ENC_MODE.set(all, "disable");
        return Objects.requireNonNull(
                new Driver().connect("jdbc:postgresql:" + database.server(), all), "a URL of PostgreSQL's driver");
    }

    /** Lets clients in over the network; as {@link PostgresDatabase#listen}. */
    synchronized String listen(InetSocketAddress address, @Nullable SSLContext tls) {
        try {
            if (relay != null) {
                throw new ReflectionException("clients are let in already, at " + relay.address());
            }
            Relay opened = new Relay(this, address, tls);
            relay = opened;
            return "jdbc:postgresql://" + opened.address() + "/"
                    + database.server().database() + (tls == null ? "" : "?sslmode=verify-full");
        } catch (IOException e) {
            throw new ReflectionException("clients cannot be let in at " + address + ": " + e.getMessage(), e);
        }
    }

    /**
     * Begins a session.
     *
     * @param isRelayed whether two threads serve the client
     * @throws RefusedException if it is not for this database
     * @throws IOException if the server cannot be reached
     */
    ClientSession begin(StartupMessage startup, boolean isRelayed) throws IOException {
        check(startup.parameters());
        database.requireSeen(startup.parameters().getOrDefault("user", ""));
        Server server = database.server();
        Socket socket = new Socket();
        try {
            socket.connect(new InetSocketAddress(server.host(), server.port()), CONNECT_TIMEOUT_MILLIS);
            socket.setTcpNoDelay(true);
            KeepAlive.on(socket);
            ClientSession session = new ClientSession(this, socket, startup, isRelayed);
            sessions.add(session);
            if (closed) {
                session.leave();
            }
            return session;
        } catch (IOException | RuntimeException e) {
            socket.close();
            throw e;
        }
    }

    private void check(Map<String, String> parameters) {
        String wanted = parameters.getOrDefault("database", parameters.getOrDefault("user", ""));
        String own = database.server().database();
        if (!wanted.equals(own)) {
            throw refused("database \"" + wanted + "\" is not replicated here: connect to \"" + own + "\"");
        }
        if (!parameters.getOrDefault("replication", "false").equals("false")) {
            throw refused("a replica's clients cannot stream its log: connect to the server itself");
        }
        String encoding = parameters.getOrDefault("client_encoding", "UTF8");
        if (!ClientEncoding.isUnderstood(encoding)) {
            throw refused(ClientEncoding.refusal(encoding));
        }
        for (Map.Entry<String, String> parameter : parameters.entrySet()) {
            if (OURS.matcher(parameter.getKey() + " " + parameter.getValue().replace("\\", ""))
                    .find()) {
                throw refused("the setting " + parameter.getKey() + "=" + parameter.getValue()
                        + " is for the replica's own sessions: leave it out");
            }
        }
    }

    private static RefusedException refused(String message) {
        return new RefusedException(Refusal.unsupported(message));
    }

    /** Cancels what a client's session executes, if the request knows its secret. */
    void cancel(StartupMessage request) throws IOException {
        for (ClientSession session : sessions) {
            if (session.process() == request.cancelledProcess()
                    && session.interceptor().isSecret(request.cancelSecret())) {
                session.cancel();
            }
        }
    }

    // ------------------------------------------------------------------------------------------------- the meta level

    List<SuspendedCommit> suspended() {
        return List.copyOf(suspended);
    }

    /** Rolls back all transactions that have changed something. */
    void abortAll(Refusal refusal) {
        sessions.forEach(session -> session.abortChanging(refusal));
    }

    /**
     * Frees the locks that a process of the server holds.
     *
     * @return whether it is a client's session of ours
     */
    boolean giveWay(int backend, Refusal why) {
        for (ClientSession session : sessions) {
            if (session.process() == backend) {
                session.giveWay(why);
                return true;
            }
        }
        return false;
    }

    /**
     * Whether the server holds a position, whose commit it was sent before it has closed the connection.
     *
     * @param process of the server, which is ended
     * @throws SQLException if that cannot be known
     */
    boolean holds(StoredPosition position, int process) throws SQLException {
        try (Connection connection = database.server().connect("")) {
            SqlSession session = SqlSession.of(connection);
            session.query("SELECT pg_terminate_backend(" + process + ")");
            long end = System.nanoTime() + END_NANOS;
            while (!session.query("SELECT 1 FROM pg_stat_activity WHERE pid = " + process)
                    .isEmpty()) {
                if (System.nanoTime() > end) {
                    throw new SQLException("the server's process " + process + " does not end", "57014");
                }
                LockSupport.parkNanos(1_000_000);
            }
            return !session.query("SELECT 1 FROM gorda.position WHERE idx = " + position.index() + " AND term = "
                            + position.term() + " AND high = " + position.groupHigh() + " AND low = "
                            + position.groupLow())
                    .isEmpty();
        }
    }

    /** Ends all sessions. */
    @Override
    public void close() {
        closed = true;
        OPEN.remove(key);
        synchronized (this) {
            if (relay != null) {
                relay.close();
            }
        }
        sessions.forEach(ClientSession::leave);
    }
}
