package org.gorda.replicator.node;

import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.StringReader;
import java.io.StringWriter;
import java.net.HttpURLConnection;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.URI;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Semaphore;
import java.util.concurrent.atomic.AtomicInteger;

/**
 * Stands between clients and a node: passes all on, until it is told to lose the node's answers or the clients' requests. Thread-safe.
 */
final class AnswerThief implements AutoCloseable {

    /** What happens to the next request that arrives. */
    enum Steal {
        NOTHING,
        /** It is executed, but its answer is lost together with the connection. */
        ANSWER,
        /** It never arrives; the connection is lost. */
        REQUEST
    }

    private final String service;
    private final int clientsPort;
    private final HttpServer http;
    private final ServerSocket server;
    private final ExecutorService threads = Executors.newCachedThreadPool(task -> {
        Thread thread = new Thread(task, "thief");
        thread.setDaemon(true);
        return thread;
    });
    private final Set<Socket> sockets = ConcurrentHashMap.newKeySet();
    private volatile Steal next = Steal.NOTHING;
    private final AtomicInteger passing = new AtomicInteger();
    private volatile boolean frozen;
    private volatile boolean isSilent;
    private volatile Map<String, String> told = Map.of();

    /** Who connects waits for it. */
    private final Semaphore gate = new Semaphore(1);

    AnswerThief(String service, int clientsPort) throws IOException {
        this.service = service;
        this.clientsPort = clientsPort;
        server = new ServerSocket(0, 50, InetAddress.getLoopbackAddress());
        http = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        http.setExecutor(threads);
        http.createContext("/", this::passOn);
        http.start();
        threads.submit(this::accept);
    }

    String address() {
        return "127.0.0.1:" + http.getAddress().getPort();
    }

    void steal(Steal what) {
        steal(what, 0);
    }

    /** Not the next one, but one behind it: what is executed at once in autocommit mode has its commit as the second request. */
    void steal(Steal what, int passed) {
        passing.set(passed);
        next = what;
    }

    /** From now on nothing is passed on, and nothing that is open is closed: as when a machine loses its power. */
    void freeze() {
        frozen = true;
    }

    /** Whether its service does not answer, while its database does. */
    void silent(boolean wanted) {
        isSilent = wanted;
    }

    /** What its service tells of the node otherwise than that does. */
    void tell(Map<String, String> otherwise) {
        told = Map.copyOf(otherwise);
    }

    /** Whoever has it keeps clients from the node's database, while its service answers. */
    Semaphore gate() {
        return gate;
    }

    /** Whether a connection to the database is still open. */
    boolean hasOpen() {
        return sockets.stream().anyMatch(socket -> !socket.isClosed());
    }

    private void passOn(HttpExchange exchange) throws IOException {
        try (exchange) {
            if (frozen || isSilent) {
                return;
            }
            HttpURLConnection to = (HttpURLConnection) URI.create("http://" + service + exchange.getRequestURI())
                    .toURL()
                    .openConnection();
            to.setRequestMethod(exchange.getRequestMethod());
            int status = to.getResponseCode();
            byte[] body;
            try (InputStream in = status < 400 ? to.getInputStream() : to.getErrorStream()) {
                body = in == null ? new byte[0] : in.readAllBytes();
            }
            if (exchange.getRequestURI().getPath().equals("/topology") && status == 200) {
                Properties topology = new Properties();
                topology.load(new StringReader(new String(body, java.nio.charset.StandardCharsets.UTF_8)));
                topology.setProperty(
                        "url",
                        topology.getProperty("url")
                                .replace(":" + clientsPort + "/", ":" + server.getLocalPort() + "/"));
                topology.putAll(told);
                StringWriter text = new StringWriter();
                topology.store(text, null);
                body = text.toString().getBytes(java.nio.charset.StandardCharsets.UTF_8);
            }
            exchange.sendResponseHeaders(status, body.length);
            exchange.getResponseBody().write(body);
        }
    }

    private Void accept() throws IOException, InterruptedException {
        while (true) {
            Socket client = server.accept();
            gate.acquire();
            gate.release();
            Socket node = new Socket(InetAddress.getLoopbackAddress(), clientsPort);
            client.setTcpNoDelay(true);
            node.setTcpNoDelay(true);
            sockets.add(client);
            sockets.add(node);
            threads.submit(() -> copy(client, node, Steal.REQUEST));
            threads.submit(() -> copy(node, client, Steal.ANSWER));
        }
    }

    private void copy(Socket from, Socket to, Steal loses) {
        try (from;
                to;
                InputStream in = from.getInputStream();
                OutputStream out = to.getOutputStream()) {
            byte[] buffer = new byte[65536];
            int read = in.read(buffer);
            while (read >= 0) {
                if (next == loses && passing.getAndDecrement() <= 0) {
                    next = Steal.NOTHING;
                    return;
                }
                if (!frozen) {
                    out.write(buffer, 0, read);
                    out.flush();
                }
                read = in.read(buffer);
            }
        } catch (IOException e) {
            // the other side has closed it
        }
    }

    @Override
    public void close() throws IOException {
        http.stop(0);
        server.close();
        for (Socket socket : sockets) {
            socket.close();
        }
        threads.shutdownNow();
    }
}
