package org.gorda.replicator.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.StandardSocketOptions;
import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.ByteBuffer;
import java.nio.channels.SocketChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Whoever finds the ports of a group sends what he likes: the group goes on, and no thread and no memory is lost to him. */
@Timeout(180)
class HostileBytesTest {

    private static final int CONNECTIONS = 300;
    private static final int THREADS_MORE_MAX = 40;
    private static final int ANSWER_MILLIS = 50;
    private static final int HALVES = 100;

    private static final int DEAF_REQUESTS = 1000;

    /** Before anybody who has sent half a request is shown the door. */
    private static final Duration HALF_ENDS = Duration.ofSeconds(5);

    private static final List<String> BEGINNINGS = List.of(
            "",
            "GET /status HTTP/1.1\r\n",
            "GET /status?%%%=%zz HTTP/1.1\r\nHost: x\r\n\r\n",
            "POST /member?add=x HTTP/1.1\r\nContent-Length: 99999999999999\r\n\r\n",
            "POST /protocol?to=%00 HTTP/1.1\r\nContent-Length: 2147483647\r\n\r\n",
            "POST /verify HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n7fffffff\r\n",
            "GET /outcome?session=1&number=-1 HTTP/1.1\r\nHost: x\r\n\r\n",
            "\u0000\u00ff\u00ff\u00ff\u00d0\u0001");

    @TempDir
    Path directory;

    @Test
    void aGroupGoesOn() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 2)) {
            execute(group, "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            int threads = Thread.activeCount();
            SplittableRandom random = new SplittableRandom(1);
            List<Socket> open = new ArrayList<>();
            for (int i = 0; i < CONNECTIONS; i++) {
                int node = random.nextInt(2);
                Socket socket =
                        send(group.listening(node).get(random.nextInt(3)), bytes(random), random.nextInt(10) == 0);
                if (random.nextInt(20) == 0) {
                    open.add(socket);
                } else {
                    socket.close();
                }
            }
            execute(group, "INSERT INTO T VALUES 1");
            for (Socket socket : open) {
                socket.close();
            }
            NodeGroup.patiently("no threads are left").until(() -> Thread.activeCount() < threads + THREADS_MORE_MAX);
            for (int node = 0; node < 2; node++) {
                NodeStatus status = new NodeClient()
                        .status("127.0.0.1:" + group.listening(node).get(1));
                assertThat(status.state()).isEqualTo("ONLINE");
                NodeGroup.patiently("it is there").until(() -> count(status.clients()) == 1);
            }
        }
    }

    /** A browser sends such a request without asking the service first. */
    @Test
    void aWebPageCannotChangeAGroup() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 1)) {
            String service = "127.0.0.1:" + group.listening(0).get(1);
            HttpRequest request = HttpRequest.newBuilder(URI.create("http://" + service + "/protocol?to=certification"))
                    .header("Origin", "https://example.org")
                    .POST(HttpRequest.BodyPublishers.noBody())
                    .build();
            HttpResponse<String> answer =
                    HttpClient.newHttpClient().send(request, HttpResponse.BodyHandlers.ofString());
            assertThat(answer.statusCode()).as(answer.body()).isEqualTo(403);
            assertThat(new NodeClient().status(service).protocol()).isEqualTo("primary-backup");
        }
    }

    @Test
    void whoSendsHalfARequestKeepsNobodyFromAnAnswer() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 1)) {
            int port = group.listening(0).get(1);
            List<Socket> open = new ArrayList<>();
            try {
                for (int i = 0; i < HALVES; i++) {
                    open.add(send(port, "GET /status HTTP/1.1\r\n".getBytes(StandardCharsets.ISO_8859_1), false));
                }
                long begun = System.nanoTime();
                assertThat(new NodeClient().status("127.0.0.1:" + port).state()).isEqualTo("ONLINE");
                assertThat(Duration.ofNanos(System.nanoTime() - begun)).isLessThan(HALF_ENDS);
            } finally {
                for (Socket socket : open) {
                    socket.close();
                }
            }
        }
    }

    /** His answer would keep a thread of the service for as long as he likes, and there are so many. */
    @Test
    void whoDoesNotReadHisAnswersIsShownTheDoor() throws Exception {
        try (NodeGroup group = new NodeGroup(directory, 1);
                SocketChannel channel = SocketChannel.open()) {
            channel.setOption(StandardSocketOptions.SO_RCVBUF, 1024);
            channel.connect(new InetSocketAddress(
                    InetAddress.getLoopbackAddress(), group.listening(0).get(1)));
            channel.configureBlocking(false);
            ByteBuffer requests = ByteBuffer.wrap(
                    "GET /status HTTP/1.1\r\n\r\n".repeat(DEAF_REQUESTS).getBytes(StandardCharsets.ISO_8859_1));
            NodeGroup.patiently("his connection ends").until(() -> {
                try {
                    channel.write(requests.rewind());
                    return false;
                } catch (IOException e) {
                    return true;
                }
            });
        }
    }

    private static byte[] bytes(SplittableRandom random) {
        byte[] beginning = BEGINNINGS.get(random.nextInt(BEGINNINGS.size())).getBytes(StandardCharsets.ISO_8859_1);
        byte[] all = new byte[beginning.length + random.nextInt(2) * random.nextInt(5_000)];
        random.nextBytes(all);
        System.arraycopy(beginning, 0, all, 0, beginning.length);
        return all;
    }

    private static Socket send(int port, byte[] bytes, boolean listens) throws IOException {
        Socket socket = new Socket(InetAddress.getLoopbackAddress(), port);
        socket.setSoTimeout(ANSWER_MILLIS);
        try {
            socket.getOutputStream().write(bytes);
            while (listens && socket.getInputStream().read() >= 0) {
                // Whatever it is.
            }
        } catch (IOException e) {
            // It has been shown the door, or is asked for more.
        }
        return socket;
    }

    private static void execute(NodeGroup group, String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(group.url());
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static int count(String url) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM T")) {
            rows.next();
            return rows.getInt(1);
        }
    }
}
