package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.Reader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CountDownLatch;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLHandshakeException;
import javax.net.ssl.SSLSocket;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.tck.MetaLevel;
import org.gorda.gapi.tck.TestCertificates;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Derby's network server with TLS of a replica's own. */
@Timeout(120)
class EncryptedServerTest {

    @TempDir
    private static Path certificates;

    private static TestCertificates own;
    private static TestCertificates foreign;

    @TempDir
    private Path directory;

    private ReflectedDatabase database;
    private InetSocketAddress address;
    private String url;

    @BeforeAll
    static void certify() {
        own = new TestCertificates(certificates.resolve("own"));
        foreign = new TestCertificates(certificates.resolve("foreign"));
    }

    @BeforeEach
    void open() throws Exception {
        address = new InetSocketAddress(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}), freePort());
        database = open("db");
        url = database.listen(address, own.context());
    }

    private ReflectedDatabase open(String name) {
        return new DerbyBinding()
                .open(
                        new DatabaseConfiguration(
                                directory.resolve(name).toString(),
                                Map.of(),
                                Duration.ofMillis(200),
                                32 << 20,
                                directory.resolve(name + ".spool")),
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

    private static SSLSocket socket(InetSocketAddress address, TestCertificates trusted) throws IOException {
        SSLSocket socket =
                (SSLSocket) trusted.context().getSocketFactory().createSocket(address.getAddress(), address.getPort());
        socket.setSoTimeout(20_000);
        return socket;
    }

    @Test
    void clientsAreServedAsInPlainText() throws Exception {
        assertThat(url).endsWith(";ssl=basic");
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A CLOB)");
            connection.setAutoCommit(false);
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
                for (int i = 0; i < 2000; i++) {
                    insert.setInt(1, i);
                    insert.setString(2, "a".repeat(i == 0 ? 3_000_000 : 100));
                    insert.addBatch();
                }
                insert.executeBatch();
            }
            connection.commit();
            try (ResultSet rows = statement.executeQuery("SELECT A FROM T ORDER BY ID")) {
                int count = 0;
                while (rows.next()) {
                    assertThat(rows.getString(1)).hasSize(count == 0 ? 3_000_000 : 100);
                    count++;
                }
                assertThat(count).isEqualTo(2000);
            }
            connection.rollback();
        }
    }

    @Test
    void eachReplicaOfAProcessHasItsOwnAndTheProcessKeepsIts() throws Exception {
        SSLContext before = SSLContext.getDefault();
        ReflectedDatabase other = open("other");
        try {
            InetSocketAddress second = new InetSocketAddress(address.getAddress(), freePort());
            InetSocketAddress third = new InetSocketAddress(address.getAddress(), freePort());
            other.listen(second, foreign.context());
            try (SSLSocket socket = socket(address, own)) {
                socket.startHandshake();
                assertThat(socket.getSession().getProtocol()).isEqualTo("TLSv1.3");
            }
            try (SSLSocket socket = socket(second, foreign)) {
                socket.startHandshake();
            }
            assertThatThrownBy(() -> {
                        try (SSLSocket socket = socket(second, own)) {
                            socket.startHandshake();
                        }
                    })
                    .isInstanceOf(SSLHandshakeException.class);
            ReflectedDatabase plain = open("plain");
            try {
                String inPlainText = plain.listen(third, null);
                try (Connection connection = DriverManager.getConnection(inPlainText)) {
                    assertThat(connection.isValid(5)).isTrue();
                }
            } finally {
                plain.close();
            }
        } finally {
            other.close();
        }
        assertThat(SSLContext.getDefault()).isSameAs(before);
    }

    @Test
    void plainTextIsRefusedAndOthersGoOn() throws Exception {
        String plain = url.replace(";ssl=basic", "");
        for (int i = 0; i < 5; i++) {
            assertThatThrownBy(() -> DriverManager.getConnection(plain)).isInstanceOf(SQLException.class);
        }
        try (Connection connection = DriverManager.getConnection(url)) {
            assertThat(connection.isValid(5)).isTrue();
        }
    }

    @Test
    void whoSaysNothingOrDoesNotReadHoldsUpNobodyNorTheEnd() throws Exception {
        try (Socket silent = new Socket(address.getAddress(), address.getPort());
                SSLSocket begun = socket(address, own)) {
            begun.startHandshake();
            try (Connection connection = DriverManager.getConnection(url);
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A CLOB)");
                try (PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (1, ?)")) {
                    insert.setString(1, "a".repeat(16_000_000));
                    insert.execute();
                }
            }
            CountDownLatch frozen = freeze();
            long start = System.nanoTime();
            database.close();
            assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(Duration.ofSeconds(30));
            frozen.countDown();
            assertThat(silent.getInputStream().read()).isEqualTo(-1);
        }
        database = open("db");
        assertThat(database.listen(address, own.context()))
                .as("the port is free again")
                .isEqualTo(url);
        try (Connection connection = DriverManager.getConnection(url)) {
            assertThat(connection.isValid(5)).isTrue();
        }
    }

    /** A client that has asked for more than fits between it and the server, and reads nothing. */
    private CountDownLatch freeze() throws Exception {
        CountDownLatch asked = new CountDownLatch(1);
        CountDownLatch end = new CountDownLatch(1);
        Thread client = new Thread(() -> {
            try {
                Connection connection = DriverManager.getConnection(url);
                try (PreparedStatement query = connection.prepareStatement("SELECT A FROM T");
                        ResultSet rows = query.executeQuery()) {
                    rows.next();
                    try (Reader text = rows.getCharacterStream(1)) {
                        text.read();
                        asked.countDown();
                        end.await();
                    }
                }
            } catch (SQLException | IOException | InterruptedException e) {
                asked.countDown();
            }
        });
        client.setDaemon(true);
        client.start();
        asked.await();
        return end;
    }

    @Test
    void whatStandsInThePropertiesOfDerbyIsRefused() throws Exception {
        System.setProperty("derby.drda.sslMode", "basic");
        ReflectedDatabase other = open("other");
        try {
            InetSocketAddress second = new InetSocketAddress(address.getAddress(), freePort());
            assertThatThrownBy(() -> other.listen(second, own.context()))
                    .hasMessageContaining("derby.drda.sslMode is set");
        } finally {
            System.clearProperty("derby.drda.sslMode");
            other.close();
        }
    }
}
