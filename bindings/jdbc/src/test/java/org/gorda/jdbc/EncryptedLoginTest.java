package org.gorda.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.ServiceLoader;
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
}
