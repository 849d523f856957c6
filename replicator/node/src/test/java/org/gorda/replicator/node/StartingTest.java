package org.gorda.replicator.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.ReplicaState;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What a node tells before there is a replica. */
@Timeout(120)
class StartingTest {

    private final NodeClient client = new NodeClient();
    private final CountDownLatch opens = new CountDownLatch(1);

    @AfterEach
    void goOn() {
        opens.countDown();
    }

    private static NodeStatus answer(NodeClient client, String service) {
        return NodeGroup.patiently("it answers")
                .ignoreException(ReplicaException.class)
                .until(() -> client.status(service), status -> true);
    }

    private static void assertUnavailable(String service, String path) throws Exception {
        HttpRequest request =
                HttpRequest.newBuilder(URI.create("http://" + service + path)).build();
        HttpResponse<String> response = HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
        assertThat(response.statusCode()).as(path).isEqualTo(503);
        assertThat(response.body().strip()).isEqualTo("STARTING: opens its database");
    }

    @Test
    void aLongStartIsToldToPeopleAndIsNoReplicaForClients(@TempDir Path directory) throws Exception {
        List<Integer> ports = LoopbackPorts.free(3);
        String service = "127.0.0.1:" + ports.get(1);
        SlowDerby.OPENS.set(opens);
        CompletableFuture<Node> start = CompletableFuture.supplyAsync(() -> Node.start(NodeConfiguration.of(Map.of(
                "engine",
                SlowDerby.NAME,
                "database",
                directory.resolve("shop").toString(),
                "self",
                "127.0.0.1:" + ports.get(0),
                "services",
                service,
                "clients",
                "127.0.0.1:" + ports.get(2)))));
        try {
            NodeGroup.patiently("it gets there").untilAsserted(() -> {
                NodeStatus status = answer(client, service);
                assertThat(status.state()).isEqualTo("STARTING");
                assertThat(status.explanation()).isEqualTo("opens its database");
            });
            NodeStatus status = client.status(service);
            assertThat(status.executes()).isFalse();
            assertThat(status.services()).containsOnly(Map.entry("127.0.0.1:" + ports.get(0), service));
            for (String path : List.of("/ready", "/writable", "/topology", "/metrics")) {
                assertUnavailable(service, path);
            }
            assertThatThrownBy(
                            () -> DriverManager.getConnection("jdbc:gorda://" + service + "/shop;connect-timeout=1s"))
                    .isInstanceOf(SQLException.class);
        } finally {
            opens.countDown();
            try (Node node = start.get(60, TimeUnit.SECONDS)) {
                node.replica().awaitState(ReplicaState.ONLINE, Duration.ofSeconds(60));
                assertThat(client.status(service).state()).isEqualTo("ONLINE");
            }
        }
    }
}
