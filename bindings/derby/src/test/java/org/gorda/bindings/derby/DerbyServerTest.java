package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import javax.net.ssl.SSLContext;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.NetworkClients;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.tck.MetaLevel;
import org.gorda.gapi.tck.SocketTimers;
import org.gorda.gapi.tck.TestCertificates;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** What clients can do to Derby's network server before they have shown a password, and who vanishes. */
@Timeout(120)
class DerbyServerTest {

    private static final int CLIENTS_MAX = 8;
    private static final long LOGIN_MILLIS = 6_000;

    @TempDir
    private Path directory;

    private ReflectedDatabase database;
    private InetAddress host;

    @BeforeEach
    void open() throws Exception {
        host = InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
        database = new DerbyBinding()
                .open(
                        new DatabaseConfiguration(
                                directory.resolve("db").toString(),
                                Map.of(),
                                Duration.ofMillis(200),
                                32 << 20,
                                directory.resolve("spool")),
                        new MetaLevel());
    }

    @AfterEach
    void close() {
        database.close();
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private Connection connect(int port, boolean isEncrypted) throws SQLException {
        String ssl = isEncrypted ? ";ssl=basic" : "";
        return DriverManager.getConnection("jdbc:derby://127.0.0.1:" + port + "/" + directory.resolve("db") + ssl);
    }

    private Socket silent(int port) throws IOException {
        Socket socket = new Socket(host, port);
        socket.setSoTimeout(30_000);
        return socket;
    }

    private static boolean isClosed(Socket socket) throws IOException {
        try {
            return socket.getInputStream().read() < 0;
        } catch (SocketException e) {
            return true;
        }
    }

    @Test
    void whoDoesNotLogInIsLetGoAndTakesNobodysPlaceWithTlsOrWithout() throws Exception {
        TestCertificates certificates = new TestCertificates(directory.resolve("certificates"));
        letsGoWhoDoesNotLogIn(null);
        letsGoWhoDoesNotLogIn(certificates.context());
    }

    private void letsGoWhoDoesNotLogIn(@Nullable SSLContext tls) throws Exception {
        int port = freePort();
        List<Socket> silent = new ArrayList<>();
        NetworkClients bounded = new NetworkClients(CLIENTS_MAX, LOGIN_MILLIS);
        try (DerbyServer server = new DerbyServer(host, port, tls, bounded);
                Connection connection = connect(port, tls != null)) {
            for (int i = 1; i < CLIENTS_MAX; i++) {
                silent.add(silent(port));
            }
            try (Socket tooMany = silent(port)) {
                tooMany.setSoTimeout((int) LOGIN_MILLIS / 2);
                assertThat(isClosed(tooMany)).as("%s", server).isTrue();
            }
            for (Socket socket : silent) {
                assertThat(isClosed(socket)).isTrue();
                socket.close();
            }
            assertThat(connection.isValid(20)).as("who has logged in stays").isTrue();
            try (Connection another = connect(port, tls != null)) {
                assertThat(another.isValid(20)).isTrue();
            }
        }
    }

    @Test
    void whoeverVanishesIsMissedWithinAMinute() throws Exception {
        int port = freePort();
        database.listen(new InetSocketAddress(host, port), null);
        try (Socket client = silent(port)) {
            double seconds = Double.POSITIVE_INFINITY;
            long end = System.nanoTime() + Duration.ofSeconds(20).toNanos();
            while (seconds > 60 && System.nanoTime() < end) { // until it is let in
                seconds = SocketTimers.secondsUntilAsked(port, client.getLocalPort());
            }
            assertThat(seconds).isLessThan(60);
        }
    }
}
