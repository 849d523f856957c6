package org.gorda.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(60)
class FrozenServerTest {

    @Test
    void loginThatIsNotAnsweredEndsInTime() throws Exception {
        InetAddress loopback = InetAddress.getLoopbackAddress();
        HttpServer service = HttpServer.create(new InetSocketAddress(loopback, 0), 0);
        try (ServerSocket frozen = new ServerSocket(0, 10, loopback)) {
            byte[] topology = ("database=shop\nurl=jdbc:derby://127.0.0.1:" + frozen.getLocalPort()
                            + "/shop\nprimary=true\nworking=true\nepoch=1\nordered=1\n")
                    .getBytes(StandardCharsets.UTF_8);
            service.createContext("/topology", exchange -> {
                exchange.sendResponseHeaders(200, topology.length);
                exchange.getResponseBody().write(topology);
                exchange.close();
            });
            service.start();
            String url = "jdbc:gorda://127.0.0.1:" + service.getAddress().getPort() + "/shop;connect-timeout=2s";
            long start = System.nanoTime();
            assertThatThrownBy(() -> DriverManager.getConnection(url))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08001"))
                    .hasMessageContaining("does not answer a login");
            assertThat(TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - start))
                    .isBetween(1L, 20L);
        } finally {
            service.stop(0);
        }
    }
}
