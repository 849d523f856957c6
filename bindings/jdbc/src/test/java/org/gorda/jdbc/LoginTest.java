package org.gorda.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpServer;
import java.io.File;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicInteger;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Services that tell of databases to which nobody can log in. */
@Timeout(60)
class LoginTest {

    private @Nullable HttpServer service;

    @AfterEach
    void stop() {
        if (service != null) {
            service.stop(0);
        }
    }

    /** Starts a service that tells this URL; what it returns is the driver's for that. */
    private String toService(String url) throws IOException {
        HttpServer started = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        byte[] answer = ("database=shop\nurl=" + url + "\nprimary=true\nworking=true\nepoch=1\nordered=1\n")
                .getBytes(StandardCharsets.UTF_8);
        started.createContext("/topology", exchange -> {
            exchange.sendResponseHeaders(200, answer.length);
            exchange.getResponseBody().write(answer);
            exchange.close();
        });
        started.start();
        service = started;
        return "jdbc:gorda://127.0.0.1:" + started.getAddress().getPort() + "/shop;connect-timeout=3s";
    }

    /** As of a replica that is starting, or of clients' port that a firewall closes. */
    @Test
    void loginThatIsRefusedIsTriedAgainNowAndThen() throws Exception {
        AtomicInteger logins = new AtomicInteger();
        CompletableFuture<Void> refuses;
        try (ServerSocket refusing = new ServerSocket(0, 50, InetAddress.getLoopbackAddress())) {
            refuses = CompletableFuture.runAsync(() -> {
                try {
                    while (true) {
                        refusing.accept().close();
                        logins.incrementAndGet();
                    }
                } catch (IOException e) {
                    // the test has ended
                }
            });
            String url = toService("jdbc:derby://127.0.0.1:" + refusing.getLocalPort() + "/shop");
            assertThatThrownBy(() -> DriverManager.getConnection(url))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("no primary within 3 s")
                    .hasMessageContaining("the last attempt failed");
        }
        refuses.join();
        assertThat(logins).hasValueBetween(3, 40);
    }

    @Test
    void withoutTheDriverOfTheReplicasEngineItIsToldAtOnceWhichOneIsMissing() throws Exception {
        List<URL> classPath = new ArrayList<>();
        for (String entry : System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                .split(File.pathSeparator, -1)) {
            if (!Path.of(entry).getFileName().toString().startsWith("postgresql-")) {
                classPath.add(Path.of(entry).toUri().toURL());
            }
        }
        String url = toService("jdbc:postgresql://127.0.0.1:1/shop");
        try (URLClassLoader without =
                new URLClassLoader(classPath.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
            Driver driver = (Driver) without.loadClass(GordaDriver.class.getName())
                    .getConstructor()
                    .newInstance();
            assertThatThrownBy(() -> driver.connect(url, new Properties()))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08004"))
                    .hasMessageContaining("org.postgresql:postgresql");
        }
    }

    /** What answers there may be no replica at all, and URLs can have a driver do more than connect. */
    @ParameterizedTest
    @ValueSource(
            strings = {
                "jdbc:derby:memory:shop;create=true",
                "jdbc:derby://127.0.0.1:1/shop;create=true",
                "jdbc:derby://127.0.0.1:1/shop;traceFile=shop.txt",
                "jdbc:postgresql://127.0.0.1:1/shop?socketFactory=java.lang.String",
                "jdbc:postgresql:shop",
                "jdbc:gorda:derby:shop"
            })
    void aUrlThatNoReplicaWouldTellIsNotOpened(String told) throws Exception {
        String url = toService(told);
        assertThatThrownBy(() -> DriverManager.getConnection(url))
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08004"))
                .hasMessageContaining("'" + told + "', which is no URL of a replica's database");
    }
}
