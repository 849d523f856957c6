package org.gorda.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Proxy;
import java.net.ProxySelector;
import java.net.ServerSocket;
import java.net.SocketAddress;
import java.net.URI;
import java.nio.charset.StandardCharsets;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** A service that tells of a replica whose database does not answer. */
@Timeout(60)
class FrozenServerTest {

    private ServerSocket frozen;
    private HttpServer service;

    /** How often it still answers with what no replica says. */
    private final AtomicInteger nonsense = new AtomicInteger();

    @BeforeEach
    void start() throws IOException {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        frozen = new ServerSocket(0, 10, loopback);
        service = HttpServer.create(new InetSocketAddress(loopback, 0), 0);
        String topology = "database=shop\nurl=jdbc:derby://127.0.0.1:" + frozen.getLocalPort()
                + "/shop\nprimary=true\nworking=true\nepoch=1\nordered=1\n";
        service.createContext("/topology", exchange -> {
            String text = nonsense.getAndDecrement() > 0 ? "C:\\users\\shop=1\n" : topology;
            byte[] answer = text.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        service.start();
    }

    @AfterEach
    void stop() throws IOException {
        service.stop(0);
        frozen.close();
    }

    private void assertLoginIsTried() {
        String url = "jdbc:gorda://127.0.0.1:" + service.getAddress().getPort() + "/shop;connect-timeout=2s";
        assertThatThrownBy(() -> DriverManager.getConnection(url))
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08001"))
                .hasMessageContaining("does not answer a login");
    }

    @Test
    void loginThatIsNotAnsweredEndsInTime() {
        long start = System.nanoTime();
        assertLoginIsTried();
        assertThat(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start)).isBetween(1L, 20L);
    }

    /** For instance of another program that had the port for a while. */
    @Test
    void replicaIsFoundAfterAnAnswerThatMakesNoSense() {
        nonsense.set(1);
        assertLoginIsTried();
        assertThat(nonsense).hasNegativeValue();
    }

    /** As {@code -Dhttp.proxyHost} sets it for all of a program. */
    @Test
    void replicasAreNotAskedByAProxy() {
        ProxySelector before = ProxySelector.getDefault();
        ProxySelector.setDefault(new ProxySelector() {
            @Override
            public List<Proxy> select(URI uri) {
                return List.of(new Proxy(Proxy.Type.HTTP, new InetSocketAddress(InetAddress.getLoopbackAddress(), 1)));
            }

            @Override
            public void connectFailed(URI uri, SocketAddress address, IOException e) {}
        });
        try {
            assertLoginIsTried();
        } finally {
            ProxySelector.setDefault(before);
        }
    }
}
