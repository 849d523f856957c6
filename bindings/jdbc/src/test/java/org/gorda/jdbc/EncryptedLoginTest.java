package org.gorda.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.sun.net.httpserver.HttpsConfigurator;
import com.sun.net.httpserver.HttpsServer;
import java.io.File;
import java.io.IOException;
import java.lang.ref.WeakReference;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.ServiceLoader;
import org.awaitility.Awaitility;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.tck.MetaLevel;
import org.gorda.gapi.tck.TestCertificates;
import org.gorda.replicator.engine.Tls;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Logins by Derby's client with TLS, of which it knows too little by itself. */
@Timeout(120)
class EncryptedLoginTest {

    @TempDir
    private static Path certificates;

    private static TestCertificates own;
    private static TestCertificates elsewhere;

    @TempDir
    private Path directory;

    private ReflectedDatabase database;

    @BeforeAll
    static void certify() {
        own = new TestCertificates(certificates.resolve("own"));
        elsewhere = new TestCertificates(certificates.resolve("elsewhere"), "san=dns:elsewhere.example");
    }

    @BeforeEach
    void open() {
        DatabaseBinding derby = ServiceLoader.load(DatabaseBinding.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(binding -> binding.name().equals("derby"))
                .findFirst()
                .orElseThrow();
        database = derby.open(
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

    private String listen(@Nullable TestCertificates certificates) throws IOException {
        InetAddress host = InetAddress.getByAddress(new byte[] {127, 0, 0, 1});
        int port;
        try (ServerSocket socket = new ServerSocket(0, 1, host)) {
            port = socket.getLocalPort();
        }
        return database.listen(new InetSocketAddress(host, port), certificates == null ? null : certificates.context());
    }

    private static void logIn(String url, TestCertificates trusted) throws SQLException {
        try (Connection connection =
                EngineConnection.open(url, new Properties(), new Tls(new Tls.Place(trusted.authority(), null, null)))) {
            assertThat(connection.isValid(5)).isTrue();
        }
    }

    /** As all others in the process do. */
    private static void logInByDerbysClientAlone(String url) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url)) {
            assertThat(connection.isValid(5)).isTrue();
        }
    }

    @Test
    void whoIsTrustedIsLoggedInTo() throws Exception {
        String url = listen(own);
        logInByDerbysClientAlone(url);
        logIn(url, own);
        logIn(url, own);
        logInByDerbysClientAlone(url);
    }

    @Test
    void aForeignAuthorityIsNotTrustedWhileOthersTrustEverybody() throws Exception {
        String url = listen(own);
        for (int i = 0; i < 2; i++) {
            assertThatThrownBy(() -> logIn(url, elsewhere))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("PKIX path");
            logInByDerbysClientAlone(url);
        }
    }

    @Test
    void theCertificateOfAnotherHostIsNotTrusted() throws Exception {
        String url = listen(elsewhere);
        assertThatThrownBy(() -> logIn(url, elsewhere))
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("127.0.0.1");
        logInByDerbysClientAlone(url);
    }

    @Test
    void plainTextIsRefusedByWhoWantsTls() throws Exception {
        String url = listen(null);
        assertThatThrownBy(() -> logIn(url, own)).isInstanceOf(SQLException.class);
        logInByDerbysClientAlone(url);
    }

    @Test
    void whoHasNoAuthorityDoesNotTrustEverybody() throws Exception {
        String url = listen(own);
        assertThatThrownBy(() -> EngineConnection.open(url, new Properties(), null))
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("set tls-authority");
    }

    /** As in a container that has Derby's client itself. */
    @Test
    void anApplicationThatGoesLeavesNothingToDerbysClient() throws Exception {
        String url = listen(own);
        HttpsServer service =
                HttpsServer.create(new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), 0), 0);
        service.setHttpsConfigurator(new HttpsConfigurator(own.context()));
        byte[] topology = ("database=shop\nurl=" + url.replace("\\", "\\\\") + "\nprimary=true\nworking=true\n")
                .getBytes(StandardCharsets.UTF_8);
        service.createContext("/topology", exchange -> {
            exchange.sendResponseHeaders(200, topology.length);
            exchange.getResponseBody().write(topology);
            exchange.close();
        });
        service.start();
        try {
            String ours = "jdbc:gorda://127.0.0.1:" + service.getAddress().getPort() + "/shop;tls-authority="
                    + own.authority();
            WeakReference<ClassLoader> first = comesAndGoes(ours);
            Awaitility.await("its classes are unloaded")
                    .atMost(Duration.ofSeconds(60))
                    .until(() -> {
                        System.gc();
                        return first.refersTo(null);
                    });
        } finally {
            service.stop(0);
        }
    }

    private static WeakReference<ClassLoader> comesAndGoes(String url) throws Exception {
        List<URL> classPath = new ArrayList<>();
        for (String entry : System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                .split(File.pathSeparator, -1)) {
            if (!entry.contains("derby")) {
                classPath.add(Path.of(entry).toUri().toURL());
            }
        }
        try (Application application = new Application(classPath)) {
            Driver driver = (Driver) application
                    .loadClass(GordaDriver.class.getName())
                    .getConstructor()
                    .newInstance();
            try (Connection connection = driver.connect(url, new Properties())) {
                assertThat(connection.isValid(5)).isTrue();
            }
            Runnable container = (Runnable) application
                    .loadClass(Container.class.getName())
                    .getConstructor()
                    .newInstance();
            container.run();
            return new WeakReference<>(application);
        }
    }

    /** All but Derby's it has itself. */
    private static final class Application extends URLClassLoader {
        Application(List<URL> classPath) {
            super(classPath.toArray(URL[]::new), ClassLoader.getPlatformClassLoader());
        }

        @Override
        protected Class<?> findClass(String name) throws ClassNotFoundException {
            return name.startsWith("org.apache.derby.") ? Class.forName(name) : super.findClass(name);
        }
    }

    /** What it does when it stops an application that has brought its drivers; the application's class loader has it, too. */
    public static final class Container implements Runnable {
        public Container() {}

        @Override
        public void run() {
            for (Driver driver : Collections.list(DriverManager.getDrivers())) {
                if (driver.getClass().getClassLoader() == Container.class.getClassLoader()) {
                    try {
                        DriverManager.deregisterDriver(driver);
                    } catch (SQLException e) {
                        throw new IllegalStateException(e);
                    }
                }
            }
        }
    }
}
