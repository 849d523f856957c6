package org.gorda.replicator.node;

import com.google.gson.Gson;
import com.google.gson.JsonSyntaxException;
import java.io.IOException;
import java.net.ConnectException;
import java.net.Inet6Address;
import java.net.InetAddress;
import java.net.URI;
import java.net.URLEncoder;
import java.net.UnknownHostException;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.net.http.HttpTimeoutException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.Deque;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.function.Consumer;
import javax.net.ssl.SSLParameters;
import org.gorda.jgcs.MemberId;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.Tls;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Asks the {@linkplain NodeService services} of replica processes. Thread-safe. */
public final class NodeClient {

    private static final Logger LOG = LoggerFactory.getLogger(NodeClient.class);
    private static final Duration TIMEOUT = Duration.ofSeconds(2);
    private static final Duration CHANGE_TIMEOUT = Duration.ofSeconds(30);

    /** How long a replica that is silent may be only busy. */
    static final Duration PATIENCE = Duration.ofSeconds(10);

    private static final Gson JSON = new Gson();

    /** More than a group can have members, in several configurations. */
    private static final int ASKED_MAX = 100;

    private record Answer(String service, NodeStatus status) {}

    private final HttpClient http;
    private final String scheme;

    /** Of replicas that do not encrypt. */
    public NodeClient() {
        this(null);
    }

    /** @param tls as the replicas do, with a certificate for what only operators may ask; null if they do not encrypt */
    public NodeClient(@Nullable Tls tls) {
        HttpClient.Builder builder = HttpClient.newBuilder()
                .version(HttpClient.Version.HTTP_1_1)
                .connectTimeout(TIMEOUT)
                .proxy(HttpClient.Builder.NO_PROXY); // that of the way to the web does not know replicas
        if (tls != null) {
            builder.sslContext(tls.context()).sslParameters(new SSLParameters(null, new String[] {Tls.VERSION}));
        }
        http = builder.build();
        scheme = tls == null ? "http://" : "https://";
    }

    /**
     * What all replicas hold at one place in the order. Immutable.
     *
     * @param identical whether all replicas answered and hold the same, undamaged
     * @param agree whether those that answered do
     * @param missing replicas that did not answer, and why
     */
    public record Comparison(
            boolean identical, boolean agree, List<ReplicaContent> replicas, Map<String, String> missing) {}

    /** Who belongs to a group, and who is about to. Immutable. */
    public record Membership(List<String> members, List<String> learners) {}

    /**
     * Changes who belongs to a group.
     *
     * @param at the service address of any of its replicas
     * @param change add or remove
     * @param member whom, by the address for the others
     * @throws ReplicaException if it cannot be done, or not now
     */
    public Membership change(String at, String change, String member) {
        return known(
                ask("POST", at, "/member?" + change + "=" + encoded(member), CHANGE_TIMEOUT, Membership.class), at);
    }

    /**
     * Has a group run another protocol.
     *
     * @param at the service address of any of its replicas
     * @param protocol by its name
     * @return that replica afterwards
     * @throws ReplicaException if it cannot be done, or not now
     */
    public NodeStatus changeProtocol(String at, String protocol) {
        return known(ask("POST", at, "/protocol?to=" + encoded(protocol), CHANGE_TIMEOUT, NodeStatus.class), at);
    }

    /**
     * Asks one replica for its state.
     *
     * @param at its service address, {@code host:port}
     * @throws ReplicaException if it does not answer
     */
    public NodeStatus status(String at) {
        return known(ask("GET", at, "/status", TIMEOUT, NodeStatus.class), at);
    }

    /**
     * Asks one replica by which rows its transactions have lost.
     *
     * @param at its service address, {@code host:port}
     * @throws ReplicaException if it does not answer
     */
    public NodeConflicts conflicts(String at) {
        return known(ask("GET", at, "/conflicts", TIMEOUT, NodeConflicts.class), at);
    }

    /**
     * Asks one replica what its probes have measured.
     *
     * @param at its service address, {@code host:port}
     * @throws ReplicaException if it does not answer
     */
    public NodeProbes probes(String at) {
        return known(ask("GET", at, "/probes", TIMEOUT, NodeProbes.class), at);
    }

    /**
     * Switches one replica's probes.
     *
     * @param at its service address, {@code host:port}
     * @return what they had measured up to then; off, they forget it
     * @throws ReplicaException if it does not answer
     */
    public NodeProbes probe(String at, boolean on) {
        return known(ask("POST", at, "/probe?to=" + (on ? "on" : "off"), TIMEOUT, NodeProbes.class), at);
    }

    /**
     * Has all replicas of a group compare what they hold.
     *
     * @param at the service address of any of them
     * @param wait how long to wait for the slowest
     * @throws ReplicaException if nobody takes writes, or if it cannot be done now: nothing was compared then
     */
    public Comparison verify(String at, Duration wait) {
        return verify(at, wait, waitsFor -> {});
    }

    /**
     * As {@link #verify(String, Duration)}.
     *
     * @param progress told what is waited for, as often as that changes
     */
    public Comparison verify(String at, Duration wait, Consumer<String> progress) {
        progress.accept(at + " to answer");
        NodeStatus any = patientStatus(at);
        Answer leading = any.executes() ? new Answer(at, any) : leader(any, progress);
        String leader = leading.service();
        long end = System.nanoTime() + wait.toNanos();
        progress.accept(leader + ", which leads, to reach a place in the order and to read its tables there");
        ReplicaContent reference = known(
                ask(
                        "POST",
                        leader,
                        "/verify?wait-millis=" + wait.toMillis(),
                        wait.plus(CHANGE_TIMEOUT), // it waits for its own reading all the same
                        ReplicaContent.class),
                leader);
        Contents contents = new Contents(this, leading.status(), reference, progress);
        contents.await(end, wait);
        if (!leading.status().services().containsKey(any.self())) {
            contents.missing()
                    .put(
                            any.self(),
                            "does not belong to the group of "
                                    + leading.status().self());
        }
        List<ReplicaContent> found = contents.found();
        boolean agree = found.stream()
                .allMatch(content -> content.position().equals(reference.position())
                        && content.tables().equals(reference.tables())
                        && content.tables().stream().allMatch(table -> table.damage() == null));
        return new Comparison(agree && contents.missing().isEmpty(), agree, found, contents.missing());
    }

    /** Of a replica on a machine that is busy: asked again, for a while. */
    private NodeStatus patientStatus(String at) {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            try {
                return status(at);
            } catch (ReplicaException e) {
                if (!isSilence(e)) {
                    throw e;
                }
                if (System.nanoTime() - end > 0) {
                    throw new ReplicaException(
                            at + " has not answered within " + PATIENCE.toSeconds()
                                    + " s: ask again when its machine is less busy, or another replica",
                            e);
                }
            }
        }
    }

    /** Whether there was no answer in time, so that there may be one to the next question. */
    static boolean isSilence(ReplicaException failure) {
        return failure.getCause() instanceof HttpTimeoutException;
    }

    /** Who can lead a verification: one that takes none now may neither know who does, nor all who belong to the group. */
    private Answer leader(NodeStatus any, Consumer<String> progress) {
        List<Answer> found = new ArrayList<>();
        List<String> silent = new ArrayList<>();
        Set<String> asked = new HashSet<>();
        Deque<String> services = new ArrayDeque<>(any.services().values());
        while (!services.isEmpty() && asked.size() < ASKED_MAX) {
            String service = services.remove();
            if (asked.add(service)) {
                progress.accept(service + " to tell whether it takes writes");
                try {
                    NodeStatus status = patientStatus(service);
                    if (!status.isOfAnotherGroup(any)) {
                        found.add(new Answer(service, status));
                        services.addAll(status.services().values());
                    }
                } catch (ReplicaException e) {
                    LOG.debug("{} is not asked to lead a verification", service, e);
                    silent.add(service);
                }
            }
        }
        return found.stream()
                .filter(answer -> answer.status().executes())
                .max(Comparator.comparingLong(answer -> answer.status().epoch()))
                .orElseThrow(() -> new ReplicaException("no replica takes writes now, who would lead it; " + any.self()
                        + " says: " + any.explanation()
                        + (silent.isEmpty() ? "" : "; no answer of " + String.join(", ", silent))));
    }

    /** What a replica found for a verification; empty if it has not got there. */
    Optional<ReplicaContent> content(String service, long request) {
        return ask("GET", service, "/verification?request=" + request, TIMEOUT, ReplicaContent.class);
    }

    private static String encoded(String value) {
        return URLEncoder.encode(value, StandardCharsets.UTF_8).replace("+", "%20");
    }

    /** A connection that is there and says nothing sensible speaks TLS, or does not. */
    private String hint(IOException failure) {
        boolean isReached = !(failure instanceof ConnectException || failure instanceof UnknownHostException);
        boolean encrypts = scheme.equals("https://");
        return !isReached
                ? ""
                : encrypts
                        ? "; does it encrypt, is its certificate by that --tls-authority, and does it name its host?"
                        : "; if it encrypts, say --tls-authority";
    }

    private static <T> T known(Optional<T> answer, String at) {
        return answer.orElseThrow(() -> new ReplicaException(at + " is not the service address of a replica"));
    }

    /** By name; or by address, if a {@code _} is in the name, as docker has them, which is in no URI's host: without TLS it proves nothing. */
    private URI uri(String at, String path) throws UnknownHostException {
        URI named = URI.create(scheme + at + path);
        if (named.getHost() != null) {
            return named;
        }
        MemberId service = new MemberId(at);
        InetAddress address = InetAddress.getByName(service.host());
        String host = address instanceof Inet6Address ? "[" + address.getHostAddress() + "]" : address.getHostAddress();
        return URI.create(scheme + host + ":" + service.port() + path);
    }

    /** Empty if the service does not know what it is asked for (404). */
    private <T> Optional<T> ask(String method, String at, String path, Duration timeout, Class<T> type) {
        try {
            HttpRequest request = HttpRequest.newBuilder(uri(at, path))
                    .timeout(timeout)
                    .method(method, HttpRequest.BodyPublishers.noBody())
                    .build();
            HttpResponse<String> response = http.send(request, HttpResponse.BodyHandlers.ofString());
            if (response.statusCode() == 404) {
                return Optional.empty();
            }
            if (response.statusCode() != 200) {
                throw new ReplicaException(at + ": " + response.body().strip());
            }
            return Optional.of(JSON.fromJson(response.body(), type));
        } catch (IllegalArgumentException | JsonSyntaxException e) {
            throw new ReplicaException("'" + at + "' is not the service address of a replica, host:port", e);
        } catch (HttpTimeoutException e) {
            throw new ReplicaException(at + " has not answered within " + timeout.toSeconds() + " s", e);
        } catch (IOException e) {
            throw new ReplicaException(
                    at + " does not answer as a replica's service, which is at a member's port + 1 ("
                            + (e.getMessage() == null ? "no connection" : e.getMessage()) + ")" + hint(e),
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ReplicaException("interrupted while asking " + at, e);
        }
    }
}
