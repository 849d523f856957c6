package org.gorda.replicator.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.google.gson.Gson;
import com.google.gson.JsonElement;
import com.google.gson.JsonObject;
import com.sun.net.httpserver.HttpExchange;
import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import java.util.function.IntPredicate;
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

    /** A replica that only tells of itself. */
    private static final class Teller implements AutoCloseable {
        private final HttpServer server =
                HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        private final ExecutorService threads = Executors.newCachedThreadPool();
        private final JsonObject status;

        Teller(NodeStatus one, String state) throws IOException {
            status = JSON.toJsonTree(one).getAsJsonObject();
            status.addProperty("state", state);
            status.addProperty("explanation", "as it is");
            server.setExecutor(threads);
            server.start();
        }

        String service() {
            return "127.0.0.1:" + server.getAddress().getPort();
        }

        /** @param isSilent whether the n-th question is left without an answer, for longer than is waited for it */
        Teller status(IntPredicate isSilent) {
            AtomicInteger asked = new AtomicInteger();
            server.createContext("/status", exchange -> {
                if (isSilent.test(asked.incrementAndGet())) {
                    LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(20));
                }
                answer(exchange, 200, status);
            });
            return this;
        }

        Teller tells(String path, int code, JsonElement body) {
            server.createContext(path, exchange -> answer(exchange, code, body));
            return this;
        }

        private static void answer(HttpExchange exchange, int code, JsonElement body) throws IOException {
            byte[] bytes = JSON.toJson(body).getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(code, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        }

        @Override
        public void close() {
            server.stop(0);
            threads.shutdownNow();
        }
    }

    @Test
    void whoIsTooBusyToAnswerIsAskedAgain(@TempDir Path directory) throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 1)) {
            NodeStatus primary = client.status(group.service(group.primary()));
            try (Teller busy = new Teller(primary, "CATCHING_UP").status(asked -> asked <= 2);
                    Teller silent = new Teller(primary, "ONLINE").status(asked -> true)) {
                busy.status.addProperty("role", "backup");
                List<String> told = new ArrayList<>();
                assertThat(client.verify(busy.service(), Duration.ofSeconds(30), told::add)
                                .identical())
                        .isTrue();
                assertThat(told.get(0)).contains(busy.service());
                assertThatThrownBy(() -> client.verify(silent.service(), Duration.ofSeconds(30)))
                        .isInstanceOf(ReplicaException.class)
                        .hasMessage(
                                silent.service() + " has not answered within 10 s: ask again when its machine is less"
                                        + " busy, or another replica");
            }
        }
    }

    @Test
    void whoWasAskedAndBelongsToNoGroupThatAnotherOneIsOfIsMissing(@TempDir Path directory) throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 1)) {
            NodeStatus primary = client.status(group.service(group.primary()));
            try (Teller joins = new Teller(primary, "JOINING").status(asked -> false)) {
                joins.status.addProperty("self", "127.0.0.1:1");
                joins.status.addProperty("role", "backup");
                joins.status.remove("history");
                NodeClient.Comparison found = client.verify(joins.service(), Duration.ofSeconds(30));
                assertThat(found.identical()).isFalse();
                assertThat(found.missing())
                        .containsExactly(Map.entry("127.0.0.1:1", "does not belong to the group of " + primary.self()));
            }
        }
    }

    @Test
    void itIsToldForWhomAVerificationWaitsAndWhoWillNeverCome(@TempDir Path directory) throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 1)) {
            String service = group.service(group.primary());
            NodeStatus primary = client.status(service);
            try (Teller leader = new Teller(primary, "ONLINE").status(asked -> false);
                    Teller joins = new Teller(primary, "JOINING").status(asked -> false);
                    Teller foreign = new Teller(primary, "ONLINE").status(asked -> false)) {
                JsonElement content = JSON.toJsonTree(client.verify(service, Duration.ofSeconds(30))
                        .replicas()
                        .get(0));
                leader.tells("/verify", 200, content).tells("/verification", 200, content);
                joins.tells("/verification", 404, new JsonObject());
                foreign.tells("/verification", 404, new JsonObject());
                foreign.status.addProperty("history", "another");
                JsonObject services = new JsonObject();
                services.addProperty("leader", leader.service());
                services.addProperty("joins", joins.service());
                services.addProperty("foreign", foreign.service());
                leader.status.add("services", services);

                List<String> told = new ArrayList<>();
                NodeClient.Comparison found = client.verify(leader.service(), Duration.ofSeconds(8), told::add);
                assertThat(found.agree()).isTrue();
                assertThat(found.identical()).isFalse();
                assertThat(found.replicas()).hasSize(1);
                String joining = "joins (JOINING at " + primary.applied() + ": as it is)";
                assertThat(found.missing().get("joins"))
                        .contains("has not told within 8 s what it holds at ")
                        .contains("(JOINING at ");
                assertThat(found.missing().get("foreign")).contains("belongs to another group, another; this one is ");
                assertThat(told)
                        .as("%s and no more of who will not come", joining)
                        .anyMatch(line -> line.endsWith(joining));
            }
        }
    }
}
