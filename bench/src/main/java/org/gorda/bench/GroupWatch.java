package org.gorda.bench;

import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.Setting;
import org.gorda.replicator.engine.Settings;
import org.gorda.replicator.engine.Tls;
import org.gorda.replicator.node.NodeClient;
import org.gorda.replicator.node.NodeStatus;

/**
 * Asks the replicas of a group twice a second what they are while a load runs, and notes each change: another primary, a replica that
 * is lost or back. One thread for each, because one that is frozen does not answer for a while. Thread-safe.
 */
final class GroupWatch implements AutoCloseable {

    private static final Pattern CLUSTER = Pattern.compile("jdbc:gorda://([^/;]+)/[^;]*(.*)");
    private static final Duration EVERY = Duration.ofMillis(500);

    /** A replica that falls over and comes back all the time does not fill the memory. */
    private static final int CHANGES_MAX = 1_000;

    private record Change(long nanos, String text) {}

    private final List<Change> changes = new ArrayList<>();
    private final List<Thread> threads = new ArrayList<>();
    private volatile boolean closed;

    private final NodeClient client;

    /** @param services of the replicas, by which they tell what they are to the client */
    GroupWatch(List<String> services, NodeClient client) {
        this.client = client;
        for (String replica : services) {
            Thread thread = new Thread(() -> watch(replica), "watch-" + replica);
            thread.setDaemon(true);
            thread.start();
            threads.add(thread);
        }
    }

    /** The services of the replicas that JDBC URLs name. */
    static List<String> replicas(List<String> urls) {
        return urls.stream()
                .map(CLUSTER::matcher)
                .filter(Matcher::matches)
                .flatMap(matcher -> Arrays.stream(matcher.group(1).split(",", -1)))
                .map(String::strip)
                .distinct()
                .toList();
    }

    /** What asks the replicas that JDBC URLs name, which encrypt as the first URL says. */
    static NodeClient client(List<String> urls) {
        Matcher matcher = CLUSTER.matcher(urls.isEmpty() ? "" : urls.get(0));
        Map<String, String> given = new HashMap<>();
        if (matcher.matches()) {
            for (String part : matcher.group(2).split(";", -1)) {
                int equals = part.indexOf('=');
                if (equals > 0 && Setting.of(part.substring(0, equals).strip()).isPresent()) {
                    given.put(part.substring(0, equals).strip(), part.substring(equals + 1));
                }
            }
        }
        Map<String, String> all = Settings.complete(Setting.Use.CLUSTER, given, List.of());
        return new NodeClient(Tls.of(setting -> all.get(setting.key())));
    }

    private void watch(String replica) {
        String before = null;
        while (!closed) {
            long asked = System.nanoTime();
            String now = what(replica);
            if (before != null && !before.equals(now)) {
                note(asked, replica + " " + now);
            }
            before = now;
            LockSupport.parkNanos(EVERY.toNanos());
        }
    }

    private String what(String replica) {
        try {
            NodeStatus status = client.status(replica);
            if (!status.state().equals("ONLINE")) {
                return status.state().toLowerCase(Locale.ROOT).replace('_', ' ');
            }
            return status.role();
        } catch (ReplicaException e) {
            return "lost";
        }
    }

    private synchronized void note(long nanos, String text) {
        if (changes.size() < CHANGES_MAX) {
            changes.add(new Change(nanos, text));
        }
    }

    /** What changed in a time, in its order. */
    synchronized List<LoadReport.Event> events(long beginNanos, long endNanos) {
        return changes.stream()
                .filter(change -> change.nanos() - beginNanos >= 0 && change.nanos() - endNanos < 0)
                .sorted((one, other) -> Long.compare(one.nanos() - beginNanos, other.nanos() - beginNanos))
                .map(change -> new LoadReport.Event(
                        TimeUnit.NANOSECONDS.toMillis(change.nanos() - beginNanos) / 1e3, change.text()))
                .toList();
    }

    @Override
    public void close() {
        closed = true;
        threads.forEach(LockSupport::unpark);
    }
}
