package org.gorda.replicator.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.awaitility.Awaitility;
import org.awaitility.core.ConditionFactory;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.engine.ReplicaStatus;
import org.jspecify.annotations.Nullable;

/** Nodes in this JVM, and URLs for their clients. Confined to the test's thread. */
final class NodeGroup implements AutoCloseable {

    private final Path directory;
    private final Map<String, String> settings;
    private final List<Integer> ports;
    private final @Nullable Node[] nodes;

    NodeGroup(Path directory, int size) {
        this(directory, size, Map.of());
    }

    /** @param settings of all nodes, beside their addresses */
    NodeGroup(Path directory, int size, Map<String, String> settings) {
        this.directory = directory;
        this.settings = settings;
        this.ports = LoopbackPorts.free(3 * size);
        this.nodes = new Node[size];
        for (int i = 0; i < size; i++) {
            start(i);
        }
        awaitPrimary();
    }

    private String all(int kind) {
        return ports.subList(kind * nodes.length, (kind + 1) * nodes.length).stream()
                .map(port -> "127.0.0.1:" + port)
                .collect(Collectors.joining(","));
    }

    private int port(int kind, int i) {
        return ports.get(kind * nodes.length + i);
    }

    /** All ports on which a node listens: for the others, for who asks, for clients. */
    List<Integer> listening(int i) {
        return List.of(port(0, i), port(1, i), port(2, i));
    }

    Path database(int i) {
        return directory.resolve("node" + i).resolve("shop");
    }

    /** By which the engine's own driver reaches a node. */
    String engineUrl(int i) {
        return "jdbc:derby://127.0.0.1:" + clients(i) + "/" + database(i);
    }

    void start(int i) {
        Map<String, String> values = new HashMap<>(settings);
        values.put("database", database(i).toString());
        values.put("self", "127.0.0.1:" + port(0, i));
        values.put("members", all(0));
        values.put("services", all(1));
        values.put("clients", "127.0.0.1:" + port(2, i));
        values.putIfAbsent("election-timeout", "2s");
        nodes[i] = Node.start(NodeConfiguration.of(values));
    }

    static ConditionFactory patiently(String what) {
        return Awaitility.await(what)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(10))
                .atMost(Duration.ofSeconds(60));
    }

    private boolean isPrimary(int i) {
        Node node = nodes[i];
        if (node == null) {
            return false;
        }
        ReplicaStatus status = node.replica().status();
        return status.executesHere() && status.working();
    }

    int primary() {
        awaitPrimary();
        for (int i = 0; i < nodes.length; i++) {
            if (isPrimary(i)) {
                return i;
            }
        }
        throw new AssertionError("the primary has just gone");
    }

    private void awaitPrimary() {
        patiently("there is a primary").until(() -> {
            for (int i = 0; i < nodes.length; i++) {
                if (isPrimary(i)) {
                    return true;
                }
            }
            return false;
        });
    }

    int backup() {
        return (primary() + 1) % nodes.length;
    }

    String service(int i) {
        return "127.0.0.1:" + port(1, i);
    }

    int clients(int i) {
        return port(2, i);
    }

    /** The nodes' addresses as they stand in a URL. */
    String url() {
        return "jdbc:gorda://" + all(1) + "/shop";
    }

    int size() {
        return nodes.length;
    }

    void stop(int i) {
        Node node = nodes[i];
        if (node != null) {
            nodes[i] = null;
            node.close();
        }
    }

    void assertIdentical() {
        NodeClient client = new NodeClient();
        NodeClient.Comparison found = client.verify(service(primary()), Duration.ofSeconds(60));
        assertThat(found.missing()).isEmpty();
        assertThat(found.identical()).describedAs(found.toString()).isTrue();
    }

    @Override
    public void close() {
        for (int i = 0; i < nodes.length; i++) {
            stop(i);
        }
    }
}
