package org.gorda.bench;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.atomic.AtomicInteger;
import org.awaitility.Awaitility;
import org.gorda.replicator.node.NodeClient;
import org.junit.jupiter.api.Test;

/** Replicas are services that say what they are told to. */
class GroupWatchTest {

    private static final Duration WAIT = Duration.ofSeconds(30);

    /** A replica's service, on a free port. */
    private static final class Told implements AutoCloseable {
        private HttpServer server;
        private volatile String role;
        private volatile String state = "ONLINE";
        private final AtomicInteger answers = new AtomicInteger();

        Told(String role) throws IOException {
            this.role = role;
            open(0);
        }

        private void open(int port) throws IOException {
            server = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), 0);
            server.createContext("/status", exchange -> {
                byte[] body = "{\"state\":\"%s\",\"role\":\"%s\"}"
                        .formatted(state, role)
                        .getBytes(StandardCharsets.UTF_8);
                exchange.sendResponseHeaders(200, body.length);
                exchange.getResponseBody().write(body);
                exchange.close();
                answers.incrementAndGet();
            });
            server.start();
        }

        String at() {
            return "127.0.0.1:" + server.getAddress().getPort();
        }

        /** Waits until it has told what it is now. */
        void tell() {
            int before = answers.get();
            Awaitility.await().atMost(WAIT).until(() -> answers.get() > before + 1);
        }

        void stop() {
            server.stop(0);
        }

        @Override
        public void close() {
            stop();
        }
    }

    @Test
    void notesAnotherPrimaryAndAReplicaThatIsLostAndBack() throws IOException {
        long begin = System.nanoTime();
        try (Told first = new Told("primary");
                Told second = new Told("backup");
                GroupWatch watch = new GroupWatch(
                        GroupWatch.replicas(List.of(
                                "jdbc:gorda://" + first.at() + "," + second.at() + "/bank;retry=3",
                                "jdbc:gorda:derby:/elsewhere;self=127.0.0.1:1",
                                "jdbc:gorda://" + first.at() + "/bank")),
                        new NodeClient())) {
            first.tell();
            second.tell();
            assertThat(texts(watch, begin)).isEmpty();

            String at = first.at();
            int port = Integer.parseInt(at.substring(at.indexOf(':') + 1));
            first.stop();
            awaitLast(watch, begin, at + " lost");
            second.role = "primary";
            awaitLast(watch, begin, second.at() + " primary");
            first.role = "backup";
            first.state = "CATCHING_UP";
            first.open(port);
            awaitLast(watch, begin, at + " catching up");
            first.state = "ONLINE";
            awaitLast(watch, begin, at + " backup");

            assertThat(texts(watch, begin)).hasSize(4);
            assertThat(watch.events(begin, System.nanoTime()))
                    .extracting(LoadReport.Event::second)
                    .isSorted()
                    .allMatch(time -> time > 0);
            assertThat(watch.events(System.nanoTime(), System.nanoTime())).isEmpty();
        }
    }

    private static void awaitLast(GroupWatch watch, long begin, String text) {
        Awaitility.await()
                .atMost(WAIT)
                .untilAsserted(() -> assertThat(texts(watch, begin)).last().isEqualTo(text));
    }

    private static List<String> texts(GroupWatch watch, long begin) {
        return watch.events(begin, System.nanoTime()).stream()
                .map(LoadReport.Event::text)
                .toList();
    }
}
