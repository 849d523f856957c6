package org.gorda.jdbc;

import java.io.IOException;
import java.io.InputStream;
import java.net.ConnectException;
import java.net.HttpURLConnection;
import java.net.Proxy;
import java.net.SocketTimeoutException;
import java.net.URI;
import java.net.UnknownHostException;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.WeakHashMap;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.Consumer;
import java.util.function.Predicate;
import javax.net.ssl.HttpsURLConnection;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocketFactory;
import org.gorda.gapi.TransactionId;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.Tls;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Watches the replica processes of a group for all connections to it: who is the primary, and which connections go to one that is
 * not it any more, be it frozen and unable to say so itself; and that none goes to who is {@linkplain HeldHistory of another group}. One thread per
 * replica, until none has been connected for a minute. Thread-safe.
 */
final class ClusterMonitor {

    private static final Logger LOG = LoggerFactory.getLogger(ClusterMonitor.class);
    private static final int TIMEOUT_MILLIS = 500;
    private static final long CALM_MILLIS = 250;
    private static final long SEARCHING_MILLIS = 15;
    private static final long SEARCH_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final Duration SILENCE = Duration.ofSeconds(3);
    private static final int FAILURES_MIN = 5;
    private static final int ANSWER_BYTES_MAX = 64 << 10;

    /** For so long whoever is slow is waited for before the first connection. */
    private static final long FIRST_LOOK_NANOS = TimeUnit.MILLISECONDS.toNanos(3L * TIMEOUT_MILLIS);

    /** In so short a time no process ends and another one comes in its place. */
    private static final long SAME_PROCESS_NANOS = TimeUnit.MILLISECONDS.toNanos(TIMEOUT_MILLIS);

    /** Longer than anybody asks for an outcome whose connection was lost. */
    private static final long UNUSED_NANOS = TimeUnit.MINUTES.toNanos(1);

    private final List<String> nodes;
    private final @Nullable Tls tls;

    /** One for all requests: connections are kept by it. */
    private final @Nullable SSLSocketFactory sockets;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition answered = lock.newCondition();
    private final Condition searchBegins = lock.newCondition();
    private final Map<String, NodeInfo> infos = new ConcurrentHashMap<>();

    /** What was wrong with those that do not answer, as far as it can be told. */
    private final Map<String, String> faults = new ConcurrentHashMap<>();

    /** Those that an application has dropped without closing them, or whose closing was refused, are left to the garbage collector, and with them their transactions. */
    private final Set<ClusterConnection> connections = Collections.newSetFromMap(new WeakHashMap<>());

    private final Consumer<ClusterMonitor> ifUnused;

    /** Guarded by the connections, as the next three. */
    private long usedNanos = System.nanoTime();

    private int connecting;
    private boolean endsSoon;
    private boolean ended;

    private volatile long searchUntilNanos = System.nanoTime();
    private final long beginNanos = System.nanoTime();
    private final HeldHistory history = new HeldHistory();
    private final AtomicInteger turns = new AtomicInteger();

    /**
     * Begins to watch.
     *
     * @param place where it stands how the replicas are spoken to, null if nothing is encrypted
     * @param ifUnused called now and then while nobody is connected, to {@linkplain #endIfUnused end} it
     * @throws ReplicaException if it cannot be read how the replicas are spoken to
     */
    ClusterMonitor(List<String> nodes, Tls.@Nullable Place place, Consumer<ClusterMonitor> ifUnused) {
        this.nodes = nodes;
        this.tls = place == null ? null : new Tls(place);
        this.sockets = tls == null ? null : tls.context().getSocketFactory();
        this.ifUnused = ifUnused;
        try {
            nodes.forEach(this::begin);
        } catch (RuntimeException | Error e) { // for want of threads: nobody will have this, to end it
            synchronized (connections) {
                ended = true;
            }
            throw e;
        }
    }

    private void begin(String node) {
        Thread thread = new Thread(() -> watch(node), "gorda-monitor-" + node);
        thread.setDaemon(true);
        thread.setContextClassLoader(ClusterMonitor.class.getClassLoader()); // not that of whoever came first
        thread.start();
    }

    /** How the replicas are spoken to, null if nothing is encrypted. */
    @Nullable
    Tls tls() {
        return tls;
    }

    // ------------------------------------------------------------------------------------------------- its own end

    /** Somebody connects. */
    void enter() {
        synchronized (connections) {
            connecting++;
        }
    }

    /** Has connected, or has failed to. */
    void exit() {
        synchronized (connections) {
            connecting--;
            usedNanos = System.nanoTime();
        }
    }

    /** From now on it ends as soon as it is not used. */
    void endSoon() {
        synchronized (connections) {
            endsSoon = true;
        }
        search();
    }

    private boolean isUnused() {
        synchronized (connections) {
            return connecting == 0
                    && connections.isEmpty()
                    && (endsSoon || System.nanoTime() - usedNanos > UNUSED_NANOS);
        }
    }

    /** Ends its threads if nobody has been connected for a while; nobody may {@linkplain #enter} meanwhile. */
    boolean endIfUnused() {
        synchronized (connections) {
            ended |= isUnused();
            return ended;
        }
    }

    private boolean hasEnded() {
        if (isUnused()) {
            ifUnused.accept(this);
        }
        synchronized (connections) {
            return ended;
        }
    }

    // ------------------------------------------------------------------------------------------------- watching

    private void watch(String node) {
        long lastNanos = System.nanoTime();
        int failures = 0;
        while (!hasEnded()) {
            try {
                NodeInfo info = ask(node);
                history.heard(info);
                infos.put(node, info);
                faults.remove(node);
                lastNanos = System.nanoTime();
                registered().forEach(connection -> connection.abandonRunBefore(info));
                if (info.executes() && history.admits(info)) {
                    abandon(info);
                }
                failures = 0;
            } catch (IOException | RuntimeException | Error e) {
                // Of any kind, also for want of memory: a thread that ended would leave the replica unknown for good.
                if (e instanceof SocketTimeoutException) {
                    faults.remove(node);
                } else {
                    faults.put(node, fault(e));
                }
                infos.remove(node);
                LOG.trace("{} does not answer", node, e);
                failures++;
                abandonSilent(node, Duration.ofNanos(System.nanoTime() - lastNanos), failures);
            }
            lock.lock();
            try {
                answered.signalAll();
                pauseBeforeNext();
            } catch (InterruptedException e) {
                return;
            } finally {
                lock.unlock();
            }
        }
    }

    private NodeInfo ask(String node) throws IOException {
        long start = System.nanoTime();
        return NodeInfo.parse(node, request("GET", node, "/topology", TIMEOUT_MILLIS), start);
    }

    /** A search that begins ends the pause. */
    @SuppressWarnings("WaitNotInLoop") // a pause that ends early does no harm
    private void pauseBeforeNext() throws InterruptedException {
        long calmUntil = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(CALM_MILLIS);
        if (System.nanoTime() - searchUntilNanos < 0) {
            searchBegins.await(SEARCHING_MILLIS, TimeUnit.MILLISECONDS);
            return;
        }
        while (System.nanoTime() - searchUntilNanos >= 0) {
            long left = calmUntil - System.nanoTime();
            if (left <= 0) {
                return;
            }
            searchBegins.awaitNanos(left);
        }
    }

    /** Ends the connections that wait for a replica in vain; once is not enough, it may be this process that stood still. */
    private void abandonSilent(String node, Duration since, int failures) {
        if (since.compareTo(SILENCE) > 0) {
            boolean othersAnswer = answers();
            boolean isSure = failures >= FAILURES_MIN;
            for (ClusterConnection connection : registered()) {
                connection.abandonSilent(node, othersAnswer, isSure ? since : Duration.ZERO);
            }
        }
    }

    /** Ends the connections to replicas that were the primary before this one: what they still answer may be old. */
    private void abandon(NodeInfo primary) {
        for (ClusterConnection connection : registered()) {
            connection.abandonUnless(primary);
        }
    }

    /** Whether any replica answered just now: else it is this process that is cut off, or starved. */
    private boolean answers() {
        long newestNanos = System.nanoTime() - TimeUnit.SECONDS.toNanos(1);
        return infos.values().stream().anyMatch(info -> info.readNanos() - newestNanos > 0 && history.admits(info));
    }

    /** Whether this replica answered just now. */
    boolean answers(NodeInfo replica) {
        NodeInfo info = infos.get(replica.node());
        return info != null
                && info.history().equals(replica.history())
                && info.readNanos() - (System.nanoTime() - TimeUnit.SECONDS.toNanos(1)) > 0;
    }

    /**
     * Somebody has logged in to a replica: from the first time on all hold to its history.
     *
     * @return false if it is not on that, or may not be any more
     */
    boolean hold(NodeInfo replica) {
        return isStill(replica) && history.hold(replica.history());
    }

    /** Whether it is known to be on the history that it told; a login may have waited for another one at its address. */
    private boolean isStill(NodeInfo replica) {
        if (System.nanoTime() - replica.readNanos() < SAME_PROCESS_NANOS) {
            return true;
        }
        try {
            return ask(replica.node()).history().equals(replica.history());
        } catch (IOException e) {
            LOG.debug("{} does not answer any more", replica.node(), e);
            return false;
        }
    }

    /** Why nobody can be gone to, as replicas of different groups answer; null if that is not so. */
    @Nullable
    String conflict() {
        return history.conflict();
    }

    void register(ClusterConnection connection) {
        synchronized (connections) {
            connections.add(connection);
        }
    }

    void forget(ClusterConnection connection) {
        synchronized (connections) {
            connections.remove(connection);
            usedNanos = System.nanoTime();
        }
    }

    private List<ClusterConnection> registered() {
        synchronized (connections) {
            return List.copyOf(connections);
        }
    }

    /** An ordered index that the group had reached, at the time of the call or shortly before. */
    long orderedIndex() {
        return history.orderedIndex();
    }

    /** Something failed: look closely for a while. */
    void search() {
        lock.lock();
        try {
            boolean begins = System.nanoTime() - searchUntilNanos >= 0;
            searchUntilNanos = System.nanoTime() + SEARCH_NANOS;
            if (begins) {
                searchBegins.signalAll();
            }
        } finally {
            lock.unlock();
        }
    }

    /** Waits until a replica has answered, or a little; false if the thread is interrupted. */
    @SuppressWarnings("WaitNotInLoop") // the callers loop
    private boolean awaitAnswer() {
        lock.lock();
        try {
            answered.await(SEARCHING_MILLIS, TimeUnit.MILLISECONDS);
            return true;
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            return false;
        } finally {
            lock.unlock();
        }
    }

    /** The primary, waiting for one if need be; empty if there is none in time. Where every replica executes, they take turns. */
    Optional<NodeInfo> primary(Duration atMost) {
        int turn = turns.getAndIncrement();
        return find(
                NodeInfo::executes,
                Comparator.comparingLong(NodeInfo::epoch)
                        .thenComparing(info -> Math.floorMod(nodes.indexOf(info.node()) + turn, nodes.size())),
                atMost);
    }

    /**
     * A replica that is not the primary, or the primary if no other is up to date.
     *
     * @param wanted the place in the order that it should show, if any does
     */
    Optional<NodeInfo> reader(long wanted, Duration atMost) {
        return find(
                NodeInfo::canBeRead,
                Comparator.comparing(NodeInfo::online)
                        .thenComparing(info -> info.shownIndex() >= wanted)
                        .thenComparing(info -> !info.primary())
                        .thenComparing(NodeInfo::shownIndex),
                atMost);
    }

    /** What a replica has told of itself last; null if it did not when it was asked last. */
    @Nullable
    NodeInfo told(NodeInfo replica) {
        return infos.get(replica.node());
    }

    private Optional<NodeInfo> find(Predicate<NodeInfo> fits, Comparator<NodeInfo> best, Duration atMost) {
        long end = System.nanoTime() + atMost.toNanos();
        while (true) {
            boolean isClear = history.isHeld() || isEachAsked();
            long newestNanos = System.nanoTime() - TimeUnit.SECONDS.toNanos(1);
            Optional<NodeInfo> found = infos.values().stream()
                    .filter(info -> isClear && info.readNanos() - newestNanos > 0)
                    .filter(fits)
                    .filter(history::admits)
                    .max(best);
            long left = end - System.nanoTime();
            if (found.isPresent() || left <= 0 || (isClear && conflict() != null)) {
                return found;
            }
            search();
            if (!awaitAnswer()) {
                return Optional.empty();
            }
        }
    }

    /** Whether all have answered, or cannot: the first that does may be another group's. */
    private boolean isEachAsked() {
        return System.nanoTime() - beginNanos > FIRST_LOOK_NANOS
                || nodes.stream().allMatch(node -> infos.containsKey(node) || faults.containsKey(node));
    }

    /**
     * Asks the replicas for the outcome of a transaction, until one answers; null if none does in time.
     *
     * @param begunOn the history on which it was executed: what others do not know may have happened all the same
     */
    @Nullable
    String outcome(TransactionId id, long since, String begunOn, Duration atMost) {
        long end = System.nanoTime() + atMost.toNanos();
        String query = "/outcome?transaction=" + id + "&since=" + since + "&history=" + begunOn;
        while (System.nanoTime() - end < 0) {
            search();
            List<NodeInfo> askable = new ArrayList<>(infos.values());
            askable.removeIf(info -> !info.history().equals(begunOn));
            // First those in touch with a majority; a primary last, because the one that did not answer may still look
            // like it.
            askable.sort(Comparator.comparing(NodeInfo::working).reversed().thenComparing(NodeInfo::primary));
            for (NodeInfo info : askable) {
                try {
                    return request("POST", info.node(), query, 2000).strip();
                } catch (IOException e) {
                    LOG.debug("{} does not tell the outcome of {}", info.node(), id, e);
                }
            }
            if (!awaitAnswer()) {
                return null;
            }
        }
        return null;
    }

    /** A connection that is there and says nothing sensible goes to another port, as the member's own, or speaks TLS, or does not. */
    private String fault(Throwable failure) {
        boolean isReached = failure instanceof IOException
                && !(failure instanceof ConnectException
                        || failure instanceof SocketTimeoutException
                        || failure instanceof UnknownHostException);
        return failure instanceof SSLException
                ? " as one with a certificate by tls-authority (" + failure.getMessage() + ")"
                : isReached && sockets == null
                        ? " (is it a replica's service, at its member's port + 1? If it encrypts, the URL needs tls-authority=FILE)"
                        : "";
    }

    /** What is known of the replicas, for messages. */
    String describe() {
        return describe("");
    }

    /** @param lost what is known of that one may be from before it was lost */
    String describe(String lost) {
        StringBuilder text = new StringBuilder();
        for (String node : nodes) {
            NodeInfo info = infos.get(node);
            text.append(text.isEmpty() ? "" : ", ").append(node);
            String fault = info == null ? "" : history.fault(info);
            if (info == null) {
                text.append(" does not answer").append(faults.getOrDefault(node, ""));
            } else if (!fault.isEmpty()) {
                text.append(fault);
            } else if (node.equals(lost)) {
                text.append(" was ").append(role(info)).append(" when last asked");
            } else {
                text.append(" is ").append(role(info));
            }
        }
        return text + history.advice();
    }

    private static String role(NodeInfo info) {
        if (!info.working()) {
            return "without a majority";
        }
        return info.everywhere()
                ? info.primary() ? "taking writes" : "not up to date"
                : info.primary() ? "the primary" : "a backup";
    }

    private String request(String method, String node, String path, int timeoutMillis) throws IOException {
        HttpURLConnection connection =
                (HttpURLConnection) URI.create((sockets == null ? "http://" : "https://") + node + path)
                        .toURL()
                        .openConnection(Proxy.NO_PROXY);
        if (sockets != null && connection instanceof HttpsURLConnection encrypted) {
            encrypted.setSSLSocketFactory(sockets);
        }
        connection.setRequestMethod(method);
        connection.setConnectTimeout(TIMEOUT_MILLIS);
        connection.setReadTimeout(timeoutMillis);
        connection.setUseCaches(false);
        int status = connection.getResponseCode();
        if (status != HttpURLConnection.HTTP_OK) {
            connection.disconnect();
            throw new IOException(node + " answers " + status + " to " + path);
        }
        try (InputStream in = connection.getInputStream()) {
            return new String(in.readNBytes(ANSWER_BYTES_MAX), StandardCharsets.UTF_8);
        }
    }
}
