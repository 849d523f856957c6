package org.gorda.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.AbstractList;
import java.util.List;
import java.util.concurrent.FutureTask;
import org.awaitility.Awaitility;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ClusterMonitorTest {

    /** Tells of a replica; what it tells is not there. */
    private static HttpServer service(String topology) throws IOException {
        HttpServer service = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        byte[] answer = ("database=shop\nurl=jdbc:derby://127.0.0.1:1/shop\nworking=true\nepoch=1\n" + topology)
                .getBytes(StandardCharsets.UTF_8);
        service.createContext("/topology", exchange -> {
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        service.start();
        return service;
    }

    private static String address(HttpServer service) {
        return "127.0.0.1:" + service.getAddress().getPort();
    }

    /** It is in touch with a majority and knows what is ordered, but may show as good as nothing yet. */
    @Test
    void replicaThatWorksOffWhatItHasMissedIsNotReadFromAsLongAsThereIsAnother() throws Exception {
        HttpServer primary = service("primary=true\nonline=true\nordered=4711\n");
        HttpServer behind = service("primary=false\nonline=false\nordered=4712\n");
        try {
            ClusterMonitor monitor = new ClusterMonitor(List.of(address(primary), address(behind)), null, unused -> {});
            Awaitility.await()
                    .until(() -> monitor.describe().contains("is the primary")
                            && monitor.describe().contains("is a backup"));
            assertThat(monitor.reader(0, Duration.ofSeconds(5)).orElseThrow().node())
                    .isEqualTo(address(primary));
            assertThat(monitor.describe(address(primary)))
                    .isEqualTo(
                            address(primary) + " was the primary when last asked, " + address(behind) + " is a backup");
            primary.stop(0);
            Awaitility.await().until(() -> monitor.describe().contains("does not answer"));
            assertThat(monitor.reader(0, Duration.ofSeconds(5)).orElseThrow().node())
                    .isEqualTo(address(behind));
        } finally {
            primary.stop(0);
            behind.stop(0);
        }
    }

    /** Both backups know what is ordered; the one that shows more is read from, and the primary only for what none of them shows. */
    @Test
    void whoShowsMostIsReadFrom() throws Exception {
        HttpServer primary = service("primary=true\nordered=4711\nshown=4711\n");
        HttpServer behind = service("primary=false\nordered=4711\nshown=17\n");
        HttpServer ahead = service("primary=false\nordered=4710\nshown=4700\n");
        try {
            ClusterMonitor monitor =
                    new ClusterMonitor(List.of(address(primary), address(behind), address(ahead)), null, unused -> {});
            Awaitility.await().until(() -> !monitor.describe().contains("does not answer"));
            assertThat(monitor.reader(0, Duration.ofSeconds(5)).orElseThrow().node())
                    .isEqualTo(address(ahead));
            assertThat(monitor.reader(4711, Duration.ofSeconds(5)).orElseThrow().node())
                    .isEqualTo(address(primary));
            assertThat(monitor.reader(4712, Duration.ofSeconds(5)).orElseThrow().node())
                    .isEqualTo(address(ahead));
        } finally {
            primary.stop(0);
            behind.stop(0);
            ahead.stop(0);
        }
    }

    /** As a member's own address, and its database's, are. */
    @Test
    void whatIsNoServiceIsToldApartFromOneThatIsNotThere() throws Exception {
        for (String greeting : List.of("", "\u0000\u0001\u0002 no HTTP\n")) {
            try (ServerSocket member = new ServerSocket(0, 0, InetAddress.getLoopbackAddress())) {
                new Thread(new FutureTask<>(() -> greet(member, greeting))).start();
                String node = "127.0.0.1:" + member.getLocalPort();
                ClusterMonitor monitor = new ClusterMonitor(List.of(node), null, unused -> {});
                Awaitility.await()
                        .untilAsserted(() -> assertThat(monitor.describe())
                                .isEqualTo(
                                        node + " does not answer (is it a replica's service, at its member's port + 1?"
                                                + " If it encrypts, the URL needs tls-authority=FILE)"));
            }
        }
    }

    /** Until the socket is closed. */
    private static Void greet(ServerSocket member, String greeting) throws IOException {
        while (true) {
            try (Socket client = member.accept()) {
                client.getInputStream().read();
                client.getOutputStream().write(greeting.getBytes(StandardCharsets.UTF_8));
            }
        }
    }

    /** Who began it has nothing by which it could be ended. */
    @Test
    void whatGotOnlySomeOfItsThreadsEnds() throws Exception {
        HttpServer one = service("primary=true\n");
        List<String> nodes = new AbstractList<>() {
            @Override
            public String get(int index) {
                if (index > 0) {
                    throw new OutOfMemoryError("unable to create native thread");
                }
                return address(one);
            }

            @Override
            public int size() {
                return 2;
            }
        };
        try {
            assertThatThrownBy(() -> new ClusterMonitor(nodes, null, unused -> {}))
                    .isInstanceOf(OutOfMemoryError.class);
            Awaitility.await()
                    .until(() -> Thread.getAllStackTraces().keySet().stream()
                            .noneMatch(thread -> thread.getName().equals("gorda-monitor-" + address(one))));
        } finally {
            one.stop(0);
        }
    }
}
