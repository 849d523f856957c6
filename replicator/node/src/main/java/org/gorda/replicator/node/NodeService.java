package org.gorda.replicator.node;

import com.google.gson.Gson;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsExchange;
import com.sun.net.httpserver.HttpsParameters;
import com.sun.net.httpserver.HttpsServer;
import java.io.IOException;
import java.io.StringWriter;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.Arrays;
import java.util.HashMap;
import java.util.Map;
import java.util.Optional;
import java.util.Properties;
import java.util.UUID;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ScheduledFuture;
import java.util.concurrent.ScheduledThreadPoolExecutor;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicInteger;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLPeerUnverifiedException;
import org.gorda.gapi.TransactionId;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.View;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.ReplicaState;
import org.gorda.replicator.engine.ReplicaStatus;
import org.gorda.replicator.engine.Setting;
import org.gorda.replicator.engine.Tls;
import org.gorda.replicator.engine.Verification;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a replica process tells over HTTP, to people, to the driver and to the command line:
 *
 * <ul>
 *   <li>{@code GET /status}: a {@link NodeStatus} as JSON
 *   <li>{@code GET /ready}: 200 if the replica takes part, else 503 and why not
 *   <li>{@code GET /writable}: 200 if it takes writes, else 503 and who does, or why nobody: for load balancers
 *   <li>{@code GET /metrics}: its numbers, for Prometheus
 *   <li>{@code GET /conflicts}: by which rows transactions have lost, a {@link NodeConflicts} as JSON
 *   <li>{@code GET /probes}: where its transactions' time goes and what they cost, {@link NodeProbes} as JSON
 *   <li>{@code POST /probe?to=on} or {@code off}: switches its probes; what they had measured, {@link NodeProbes} as JSON
 *   <li>{@code GET /topology}: for drivers, who is the primary and how to get there, as {@link Properties}
 *   <li>{@code POST /outcome?transaction=ID&since=INDEX&history=HISTORY}: COMMITTED, ABORTED or FORGOTTEN; to ask decides. 409 if the history that the
 *       transaction was begun on is not this replica's, which can tell nothing of it then
 *   <li>{@code POST /verify?wait-millis=N}: has all replicas note what they hold, at the primary only; a {@link ReplicaContent} as JSON
 *   <li>{@code POST /member?add=HOST:PORT} or {@code remove=}: changes who belongs to the group; who does then, as JSON
 *   <li>{@code POST /protocol?to=NAME}: has the group run another protocol; a {@link NodeStatus} as JSON
 *   <li>{@code GET /verification?request=N}: what this replica noted, 404 if it has not got there
 * </ul>
 *
 * With TLS all but status, ready, writable, metrics, topology and outcome is for who shows a certificate of the group's authority.
 *
 * <p>It is up before the replica is, so that a slow start can be watched. Thread-safe.
 */
final class NodeService implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(NodeService.class);

    private static final String STATUS = "/status";

    /** More than may wait for something at once, or for the rest of a request: whoever looks after the replica is to be answered meanwhile. */
    private static final int THREADS_MAX = 256;

    /** Before who does not read his answer is shown the door. */
    private static final Duration READ_WAIT = Duration.ofSeconds(10);

    private static final Duration OUTCOME_WAIT = Duration.ofSeconds(2);
    private static final AtomicInteger COUNT = new AtomicInteger();
    private static final Gson JSON = new Gson();

    /** Any page that somebody looks at on this machine could send requests to its loopback address; browsers say then where the page is from. */
    private static final String FROM_WEB_PAGE = "Origin";

    static {
        // Read by the JDK's server when it is first used: no 40 ms between header and body, no client that sends for
        // ever.
        System.setProperty("sun.net.httpserver.nodelay", "true");
        System.setProperty("sun.net.httpserver.maxReqTime", "10");
    }

    /** Answers one request. */
    private interface Answer {
        Response to(Replica replica, Map<String, String> query)
                throws IOException, InterruptedException, ExecutionException, TimeoutException;
    }

    private record Response(int status, String type, String body) {
        static Response json(Object content) {
            return new Response(200, "application/json", JSON.toJson(content) + "\n");
        }

        static Response text(int status, String body) {
            return new Response(status, "text/plain; charset=utf-8", body + "\n");
        }
    }

    private final NodeConfiguration configuration;

    /** By it clients see that the process is another one. */
    private final String run = UUID.randomUUID().toString();

    private final HttpServer server;
    private final ThreadPoolExecutor threads;
    private final ScheduledThreadPoolExecutor impatience = new ScheduledThreadPoolExecutor(1, NodeService::thread);
    private volatile @Nullable Replica replica;
    private volatile String starting = "opens its database";
    private volatile String clients = "";

    NodeService(NodeConfiguration configuration) {
        this.configuration = configuration;
        MemberId at = configuration.service();
        try {
            server = open(new InetSocketAddress(InetAddress.getByName(at.host()), at.port()), configuration.tls());
        } catch (IOException e) {
            throw new ReplicaException(
                    "the service address " + at + " cannot be used (" + e.getMessage()
                            + "): does this replica run already, does another process use that port, and is the host an "
                            + "address of this machine?",
                    e);
        }
        impatience.setRemoveOnCancelPolicy(true);
        threads = new ThreadPoolExecutor(
                0, THREADS_MAX, 30, TimeUnit.SECONDS, new SynchronousQueue<>(), NodeService::thread);
        server.setExecutor(threads);
        on("GET", STATUS, (node, query) -> Response.json(status(node)));
        on("GET", "/ready", (node, query) -> ready(status(node)));
        on("GET", "/writable", (node, query) -> writable(status(node)));
        on("GET", "/metrics", (node, query) -> metrics(status(node), node));
        forOperators(
                "GET", "/conflicts", (node, query) -> Response.json(NodeConflicts.of(node.status(), node.hotRows())));
        forOperators("GET", "/probes", (node, query) -> Response.json(NodeProbes.of(node.probes())));
        forOperators("POST", "/probe", (node, query) -> Response.json(NodeProbes.of(node.probe(isOn(query)))));
        on("GET", "/topology", (node, query) -> Response.text(200, topology(node)));
        on("POST", "/outcome", NodeService::outcome);
        forOperators(
                "POST",
                "/verify",
                (node, query) ->
                        Response.json(ReplicaContent.of(node.verify(Duration.ofMillis(number(query, "wait-millis"))))));
        forOperators("GET", "/verification", NodeService::verification);
        forOperators("POST", "/member", this::member);
        forOperators("POST", "/protocol", (node, query) -> {
            node.changeProtocol(Setting.protocol(needed(query, "to")));
            return Response.json(status(node));
        });
        server.start();
    }

    private static Thread thread(Runnable task) {
        Thread thread = new Thread(task, "gorda-service-" + COUNT.incrementAndGet());
        thread.setDaemon(true);
        return thread;
    }

    private static HttpServer open(InetSocketAddress at, @Nullable Tls tls) throws IOException {
        if (tls == null) {
            return HttpServer.create(at, 0);
        }
        HttpsServer encrypted = HttpsServer.create(at, 0);
        encrypted.setHttpsConfigurator(new HttpsConfigurator(tls.context()) {
            @Override
            public void configure(HttpsParameters parameters) {
                SSLParameters wanted = getSSLContext().getDefaultSSLParameters();
                wanted.setProtocols(new String[] {Tls.VERSION});
                wanted.setWantClientAuth(true);
                parameters.setSSLParameters(wanted);
            }
        });
        return encrypted;
    }

    /** What is done before there is a replica to tell of. */
    void starting(String progress) {
        starting = progress;
    }

    /** There is a replica to tell of now. */
    void serve(Replica started) {
        replica = started;
    }

    /** Clients can come now. */
    void clients(String url) {
        clients = url;
    }

    private void on(String method, String path, Answer answer) {
        server.createContext(path, exchange -> {
            try (exchange) {
                send(exchange, respond(method, path, exchange, answer));
            }
        });
    }

    /** What changes the group, costs it something or tells of rows: with TLS only for who shows a certificate of the authority. */
    private void forOperators(String method, String path, Answer answer) {
        server.createContext(path, exchange -> {
            try (exchange) {
                send(
                        exchange,
                        isOperator(exchange)
                                ? respond(method, path, exchange, answer)
                                : Response.text(
                                        403,
                                        path + " is for who shows a certificate of the group's authority: set"
                                                + " tls-certificate and tls-key"));
            }
        });
    }

    /** Asks for trust again: of a session that is resumed, or a connection that is old, Java does not. */
    private boolean isOperator(HttpExchange exchange) {
        Tls tls = configuration.tls();
        if (tls == null || !(exchange instanceof HttpsExchange encrypted)) {
            return true;
        }
        try {
            Certificate[] shown = encrypted.getSSLSession().getPeerCertificates();
            X509Certificate[] chain = Arrays.copyOf(shown, shown.length, X509Certificate[].class);
            tls.trust().checkClientTrusted(chain, chain[0].getPublicKey().getAlgorithm());
            return true;
        } catch (SSLPeerUnverifiedException | CertificateException e) {
            LOG.debug("{} shows no certificate", exchange.getRemoteAddress(), e);
            return false;
        }
    }

    private Response respond(String method, String path, HttpExchange exchange, Answer answer) {
        if (!exchange.getRequestURI().getPath().equals(path)) {
            return Response.text(404, "there is no " + exchange.getRequestURI().getPath());
        }
        if (!exchange.getRequestMethod().equals(method)) {
            return Response.text(405, path + " wants " + method);
        }
        if (exchange.getRequestHeaders().containsKey(FROM_WEB_PAGE)) {
            return Response.text(403, "web pages may not ask: use gorda, curl or a program");
        }
        Replica node = replica;
        if (node == null) {
            NodeStatus now = NodeStatus.starting(configuration, starting);
            return path.equals(STATUS) ? Response.json(now) : ready(now);
        }
        try {
            return answer.to(node, query(exchange.getRequestURI().getQuery()));
        } catch (IllegalArgumentException e) {
            return Response.text(400, String.valueOf(e.getMessage()));
        } catch (ReplicaException e) {
            return Response.text(409, String.valueOf(e.getMessage()));
        } catch (ExecutionException e) {
            return Response.text(503, why(e.getCause()));
        } catch (TimeoutException e) {
            return Response.text(503, why(e));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return Response.text(503, "stopping");
        } catch (IOException | RuntimeException e) {
            LOG.warn("{} could not be answered", exchange.getRequestURI(), e);
            return Response.text(500, "internal error: " + e);
        }
    }

    /** Whoever has only run out of time does not say it himself. */
    private static String why(@Nullable Throwable failure) {
        String message = failure == null ? null : failure.getMessage();
        return failure instanceof TimeoutException
                ? "not ordered in time, but may be yet: look before you ask again"
                : message == null ? String.valueOf(failure) : message;
    }

    /** To who reads it: an interrupt ends the connection of who does not. The JDK's own limit would count how long it took to find the answer. */
    private void send(HttpExchange exchange, Response response) throws IOException {
        ScheduledFuture<?> end =
                impatience.schedule(Thread.currentThread()::interrupt, READ_WAIT.toSeconds(), TimeUnit.SECONDS);
        try (exchange) { // which sends what is left
            byte[] body = response.body().getBytes(StandardCharsets.UTF_8);
            exchange.getResponseHeaders().set("Content-Type", response.type());
            boolean hasBody = !exchange.getRequestMethod().equals("HEAD");
            exchange.sendResponseHeaders(response.status(), hasBody ? body.length : -1);
            if (hasBody) {
                exchange.getResponseBody().write(body);
            }
        } finally {
            end.cancel(false);
        }
    }

    private static Map<String, String> query(@Nullable String text) {
        Map<String, String> values = new HashMap<>();
        for (String pair : text == null ? new String[0] : text.split("&", -1)) {
            int equals = pair.indexOf('=');
            if (equals > 0) {
                values.put(pair.substring(0, equals), pair.substring(equals + 1));
            }
        }
        return values;
    }

    private static String needed(Map<String, String> query, String name) {
        String value = query.get(name);
        if (value == null) {
            throw new IllegalArgumentException(name + " is missing: ?" + name + "=...");
        }
        return value;
    }

    private static boolean isOn(Map<String, String> query) {
        String to = needed(query, "to");
        if (!to.equals("on") && !to.equals("off")) {
            throw new IllegalArgumentException("to is '" + to + "' but must be on or off");
        }
        return to.equals("on");
    }

    private static long number(Map<String, String> query, String name) {
        String value = needed(query, name);
        try {
            return Long.parseLong(value);
        } catch (NumberFormatException e) {
            throw new IllegalArgumentException(name + " is '" + value + "' but must be a number", e);
        }
    }

    private NodeStatus status(Replica node) {
        return NodeStatus.of(configuration, node.configuration().durability().key(), node.status(), clients);
    }

    private static Response ready(NodeStatus now) {
        boolean isReady = now.state().equals(ReplicaState.ONLINE.toString());
        return Response.text(isReady ? 200 : 503, now.state() + ": " + now.explanation());
    }

    private static Response writable(NodeStatus now) {
        boolean isElsewhere =
                now.working() && now.primary() != null && !now.primary().equals(now.self());
        return now.executes()
                ? Response.text(200, now.role())
                : Response.text(
                        503,
                        isElsewhere
                                ? "the primary is " + now.primary()
                                : ready(now).body().strip());
    }

    private static Response metrics(NodeStatus now, Replica node) {
        return new Response(200, NodeMetrics.TYPE, NodeMetrics.text(now, NodeProbes.of(node.probes())));
    }

    private String topology(Replica node) throws IOException {
        ReplicaStatus now = node.status();
        Properties properties = new Properties();
        properties.setProperty("database", configuration.databaseName());
        properties.setProperty("url", clients);
        properties.setProperty("history", now.history().toString());
        properties.setProperty("run", run);
        GroupId continued = now.continued();
        properties.setProperty("continues", continued == null ? "" : continued.toString());
        properties.setProperty("primary", Boolean.toString(now.executesHere()));
        properties.setProperty("everywhere", Boolean.toString(now.everywhere()));
        properties.setProperty("working", Boolean.toString(now.working()));
        properties.setProperty("online", Boolean.toString(now.state() == ReplicaState.ONLINE));
        properties.setProperty("epoch", Long.toString(now.epoch()));
        properties.setProperty("ordered", Long.toString(now.orderedIndex()));
        properties.setProperty("shown", Long.toString(now.appliedIndex()));
        StringWriter text = new StringWriter();
        properties.store(text, null);
        return text.toString();
    }

    private static Response outcome(Replica node, Map<String, String> query)
            throws InterruptedException, ExecutionException, TimeoutException {
        TransactionId id = TransactionId.parse(needed(query, "transaction"));
        long since = number(query, "since");
        requireSame(needed(query, "history"), node.status().history().toString());
        return Response.text(
                200,
                node.outcome(id, since)
                        .get(OUTCOME_WAIT.toMillis(), TimeUnit.MILLISECONDS)
                        .toString());
    }

    /** What another history has not ordered may have happened all the same. */
    private static void requireSame(String asked, String own) {
        if (!asked.equals(own)) {
            throw new ReplicaException(
                    "this replica is on history '" + own + "' and can tell nothing of a transaction of '" + asked
                            + "': ask one that is on that, as its /topology tells");
        }
    }

    private Response member(Replica node, Map<String, String> query)
            throws InterruptedException, ExecutionException, TimeoutException {
        boolean adds = query.containsKey("add");
        MemberId member = new MemberId(needed(query, adds ? "add" : "remove"));
        if (adds) {
            requireForMembers(member, status(node));
        }
        View now = (adds ? node.addMember(member) : node.removeMember(member))
                .get(OUTCOME_WAIT.toMillis(), TimeUnit.MILLISECONDS);
        return Response.json(new NodeClient.Membership(
                now.members().stream().map(Object::toString).toList(),
                now.learners().stream().map(Object::toString).toList()));
    }

    /** Whoever listens there would never answer as a member, and the group would wait for it. */
    private static void requireForMembers(MemberId added, NodeStatus now) {
        now.services().forEach((member, service) -> {
            if (service.equals(added.toString())) {
                throw new ReplicaException(
                        added + " is where replica " + member
                                + " has its service: give the address at which the new replica has the others reach it, its self");
            }
        });
    }

    private static Response verification(Replica node, Map<String, String> query) {
        Optional<Verification> found = node.verification(number(query, "request"));
        return found.map(verification -> Response.json(ReplicaContent.of(verification)))
                .orElse(Response.text(404, "not known here (yet)"));
    }

    @Override
    public void close() {
        server.stop(0);
        threads.shutdownNow();
        impatience.shutdownNow();
    }
}
