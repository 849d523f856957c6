package org.gorda.replicator.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.Gson;
import com.google.gson.JsonObject;
import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.gorda.replicator.engine.ReplicaException;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What operators are told who ask a replica that cannot do it itself. */
@Timeout(120)
class NodeClientTest {

    private static final Gson JSON = new Gson();

    private final NodeClient client = new NodeClient();

    /** Where a replica that catches up would tell of itself, and of whom it knows. */
    private static HttpServer behind(NodeStatus writer, String role, @Nullable String primary, JsonObject services)
            throws Exception {
        JsonObject status = JSON.toJsonTree(writer).getAsJsonObject();
        status.addProperty("state", "CATCHING_UP");
        status.addProperty("role", role);
        status.addProperty("primary", primary);
        status.add("services", services);
        HttpServer server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        server.createContext("/status", exchange -> {
            byte[] body = JSON.toJson(status).getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
        server.start();
        return server;
    }

    private void assertLedByAnother(HttpServer asked) {
        try {
            String at = "127.0.0.1:" + asked.getAddress().getPort();
            NodeGroup.patiently("both are up to date").untilAsserted(() -> {
                NodeClient.Comparison found = client.verify(at, Duration.ofSeconds(30));
                assertThat(found.identical()).describedAs(found.toString()).isTrue();
                assertThat(found.replicas()).hasSize(2);
            });
        } finally {
            asked.stop(0);
        }
    }

    @Test
    void whereAllTakeWritesAnyThatDoesLeadsAVerification(@TempDir Path directory) throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 2, Map.of("protocol", "certification"))) {
            NodeStatus writer = client.status(group.service(group.primary()));
            JsonObject services = JSON.toJsonTree(writer.services()).getAsJsonObject();
            assertLedByAnother(behind(writer, "reader", null, services));
        }
    }

    @Test
    void whoDoesNotKnowTheNewPrimaryHasItFoundByOthers(@TempDir Path directory) throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 2)) {
            NodeStatus primary = client.status(group.service(group.primary()));
            JsonObject services = JSON.toJsonTree(primary.services()).getAsJsonObject();
            services.addProperty("127.0.0.1:1", "127.0.0.1:2");
            assertLedByAnother(behind(primary, "backup", "127.0.0.1:1", services));
            services.remove(primary.self());
            assertLedByAnother(behind(primary, "backup", "127.0.0.1:1", services));
        }
    }

    @Test
    void whatCannotBeDecidedIsToldInWords(@TempDir Path directory) {
        try (NodeGroup group = new NodeGroup(directory, 3, Map.of("election-timeout", "300ms"))) {
            int left = group.primary();
            for (int i = 0; i < group.size(); i++) {
                if (i != left) {
                    group.stop(i);
                }
            }
            assertThatThrownBy(() -> client.change(group.service(left), "add", "127.0.0.1:1"))
                    .isInstanceOf(ReplicaException.class)
                    .hasMessageMatching(".*(adding 127.0.0.1:1 could not be done now: |but may be yet).*")
                    .hasMessageNotContainingAny("Exception", "null");
        }
    }
}
