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
import java.util.UUID;
import java.util.concurrent.FutureTask;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Supplier;
import org.awaitility.Awaitility;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class ClusterMonitorTest {

    private static final String HISTORY = "0123456789abcdef0123456789abcdef";
    private static final String OTHER_HISTORY = "00000000000000010000000000000002";

    /** Tells of a replica; what it tells is not there. */
    private static HttpServer service(String topology) throws IOException {
        return service(() -> topology);
    }

    /** As what it tells is at the time. It says of any transaction that it did not happen. */
    private static HttpServer service(Supplier<String> topology) throws IOException {
        HttpServer service = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        answer(
                service,
                "/topology",
                () -> "database=shop\nurl=jdbc:derby://127.0.0.1:1/shop\nworking=true\nepoch=1\n" + topology.get());
        answer(service, "/outcome", () -> "ABORTED");
        service.start();
        return service;
    }

    private static void answer(HttpServer service, String path, Supplier<String> answer) {
        service.createContext(path, exchange -> {
            byte[] bytes = answer.get().getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, bytes.length);
            exchange.getResponseBody().write(bytes);
            exchange.close();
        });
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
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> monitor.describe().contains("is the primary")
                            && monitor.describe().contains("is a backup"));
            assertThat(monitor.reader(0, Duration.ofSeconds(5)).orElseThrow().node())
                    .isEqualTo(address(primary));
            assertThat(monitor.describe(address(primary)))
                    .isEqualTo(
                            address(primary) + " was the primary when last asked, " + address(behind) + " is a backup");
            primary.stop(0);
            Awaitility.await()
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> monitor.describe().contains("does not answer"));
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
            Awaitility.await()
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> !monitor.describe().contains("does not answer"));
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

    /** It is the primary of a longer order, and its word would be that what it has never heard of did not happen. */
    @Test
    void whoBelongsToAnotherGroupIsNeitherGoneToNorAsked() throws Exception {
        AtomicReference<String> told = new AtomicReference<>("working=false\n");
        HttpServer primary = service("primary=true\nordered=17\nhistory=" + HISTORY + "\n");
        HttpServer other = service(told::get);
        try {
            ClusterMonitor monitor = new ClusterMonitor(List.of(address(primary), address(other)), null, unused -> {});
            NodeInfo found = monitor.primary(Duration.ofSeconds(5)).orElseThrow();
            assertThat(found.node()).isEqualTo(address(primary));
            assertThat(monitor.hold(found)).isTrue();
            told.set("primary=true\nepoch=4711\nordered=4711\nshown=4711\nhistory=" + OTHER_HISTORY + "\n");
            Awaitility.await()
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> monitor.describe()
                            .contains(address(other) + " belongs to another group (" + OTHER_HISTORY + ")"));
            assertThat(monitor.primary(Duration.ZERO).orElseThrow().node()).isEqualTo(address(primary));
            assertThat(monitor.reader(4711, Duration.ZERO).orElseThrow().node()).isEqualTo(address(primary));
            assertThat(monitor.orderedIndex()).isEqualTo(17);
            TransactionId id = new TransactionId(SessionId.of(UUID.randomUUID()), 1);
            assertThat(monitor.outcome(id, 17, found.history(), Duration.ofSeconds(5)))
                    .isEqualTo("ABORTED");

            primary.stop(0);
            Awaitility.await()
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> monitor.describe().contains(address(primary) + " does not answer"));
            assertThat(monitor.primary(Duration.ofSeconds(5))).isEmpty();
            assertThat(monitor.reader(0, Duration.ZERO)).isEmpty();
            assertThat(monitor.outcome(id, 17, found.history(), Duration.ofSeconds(1)))
                    .isNull();
        } finally {
            primary.stop(0);
            other.stop(0);
        }
    }

    @Test
    void whoLoggedInWhereAnotherGroupAnswersByThenIsNotConnected() throws Exception {
        AtomicReference<String> told = new AtomicReference<>("primary=true\nhistory=" + HISTORY + "\n");
        HttpServer service = service(told::get);
        try {
            ClusterMonitor monitor = new ClusterMonitor(List.of(address(service)), null, unused -> {});
            NodeInfo found = monitor.primary(Duration.ofSeconds(5)).orElseThrow();
            told.set("primary=true\nhistory=" + OTHER_HISTORY + "\n");
            Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> !monitor.hold(found));
        } finally {
            service.stop(0);
        }
    }

    /** It is busy when it is asked first, for longer than it is waited for. */
    @Test
    void whoAnswersLateCountsBeforeTheFirstIsTaken() throws Exception {
        AtomicBoolean isLate = new AtomicBoolean(true);
        HttpServer busy = service(() -> {
            if (isLate.getAndSet(false)) {
                LockSupport.parkNanos(Duration.ofMillis(800).toNanos());
            }
            return "primary=true\nhistory=" + HISTORY + "\n";
        });
        HttpServer other = service("primary=true\nhistory=" + OTHER_HISTORY + "\n");
        try {
            ClusterMonitor monitor = new ClusterMonitor(List.of(address(busy), address(other)), null, unused -> {});
            assertThat(monitor.primary(Duration.ofSeconds(5))).isEmpty();
            assertThat(monitor.conflict()).isNotNull();
        } finally {
            busy.stop(0);
            other.stop(0);
        }
    }

    /** Somebody has let the second one go on alone, and started the first one again as it was. */
    @Test
    void whoIsLeftBehindOnAnEarlierTimelineIsInNobodysWay() throws Exception {
        HttpServer before = service("working=false\nhistory=" + HISTORY + "\n");
        HttpServer alone = service("primary=true\nhistory=" + HISTORY + ".1.378c104a2d\n");
        try {
            ClusterMonitor monitor = new ClusterMonitor(List.of(address(before), address(alone)), null, unused -> {});
            assertThat(monitor.primary(Duration.ofSeconds(5)).orElseThrow().node())
                    .isEqualTo(address(alone));
        } finally {
            before.stop(0);
            alone.stop(0);
        }
    }

    /** The second one has begun with rows of the first one's group, as a copy of a replica does for a test. */
    @Test
    void whoHasBegunWithRowsOfAGroupThatWorksIsNotTakenForIt() throws Exception {
        HttpServer works = service("primary=true\nhistory=" + HISTORY + "\n");
        HttpServer copy = service("primary=true\nhistory=" + OTHER_HISTORY + "\ncontinues=" + HISTORY + "\n");
        try {
            ClusterMonitor monitor = new ClusterMonitor(List.of(address(works), address(copy)), null, unused -> {});
            assertThat(monitor.primary(Duration.ofSeconds(5))).isEmpty();
            assertThat(monitor.conflict())
                    .isEqualTo("the addresses in the URL are of different groups: "
                            + (address(works).compareTo(address(copy)) < 0
                                    ? address(works) + " of " + HISTORY + "; " + address(copy) + " of " + OTHER_HISTORY
                                    : address(copy) + " of " + OTHER_HISTORY + "; " + address(works) + " of " + HISTORY)
                            + ". Stop the replicas that are not meant, or take their addresses out of the URL");
        } finally {
            works.stop(0);
            copy.stop(0);
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
                        .atMost(Duration.ofMinutes(1))
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
                    .atMost(Duration.ofMinutes(1))
                    .until(() -> Thread.getAllStackTraces().keySet().stream()
                            .noneMatch(thread -> thread.getName().equals("gorda-monitor-" + address(one))));
        } finally {
            one.stop(0);
        }
    }
}
