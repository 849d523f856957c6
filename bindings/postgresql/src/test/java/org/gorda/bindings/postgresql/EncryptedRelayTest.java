package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.StringReader;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Arrays;
import java.util.Properties;
import java.util.concurrent.locks.LockSupport;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.tck.MetaLevel;
import org.gorda.gapi.tck.TestCertificates;
import org.gorda.jdbc.Logins;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.postgresql.PGConnection;

/** The relay with TLS, as PostgreSQL's driver meets it, and clients that do otherwise. */
@Timeout(60)
class EncryptedRelayTest {

    private static final int TLS = 80877103;
    private static final int GSS = 80877104;
    private static final int CANCEL = 80877102;

    @TempDir
    private static Path certificates;

    private static TestCertificates own;
    private static TestCertificates foreign;

    private final MetaLevel meta = new MetaLevel();
    private ReflectedDatabase database;
    private String name;
    private String url;
    private InetSocketAddress address;

    @TempDir
    private Path directory;

    @BeforeAll
    static void certify() {
        own = new TestCertificates(certificates.resolve("own"));
        foreign = new TestCertificates(certificates.resolve("foreign"));
    }

    @BeforeEach
    void open() throws Exception {
        TestServer.dropOthers(directory);
        var configuration = TestServer.configuration(directory, "db");
        name = configuration.location().substring(configuration.location().lastIndexOf('/') + 1);
        TestServer.execute("CREATE DATABASE " + name);
        database = new PostgresBinding().open(configuration, meta);
        listen(InetAddress.getByAddress(new byte[] {127, 0, 0, 1}));
        try (Connection connection = connect("");
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE t (id int PRIMARY KEY, a text)");
        }
        meta.takeWriteSets();
    }

    private void listen(InetAddress host) {
        url = database.listen(new InetSocketAddress(host, 0), own.context());
        String authority = url.substring(url.indexOf("//") + 2, url.lastIndexOf('/'));
        int colon = authority.lastIndexOf(':');
        address = new InetSocketAddress(host, Integer.parseInt(authority.substring(colon + 1)));
    }

    @AfterEach
    void close() {
        database.close();
        assertThat(meta.ended()).as("each that began has ended").isEqualTo(meta.begun());
    }

    private Connection connect(String parameters) throws SQLException {
        return DriverManager.getConnection(url + "&user=postgres&sslrootcert=" + own.authority() + parameters);
    }

    private static int count(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT count(*) FROM t")) {
            row.next();
            return row.getInt(1);
        }
    }

    @Test
    void clientsAreServedAsInPlainText() throws Exception {
        assertThat(url).endsWith("/" + name + "?sslmode=verify-full");
        for (String mode : new String[] {"simple", "extended"}) {
            try (Connection connection = connect("&preferQueryMode=" + mode);
                    Statement statement = connection.createStatement()) {
                statement.execute("DELETE FROM t");
                connection.setAutoCommit(false);
                StringBuilder rows = new StringBuilder();
                for (int i = 0; i < 50_000; i++) {
                    rows.append(i).append("\tsome text of a row\n");
                }
                connection
                        .unwrap(PGConnection.class)
                        .getCopyAPI()
                        .copyIn("COPY t FROM STDIN", new StringReader(rows.toString()));
                connection.commit();
                assertThat(count(connection)).isEqualTo(50_000);
                ByteArrayOutputStream copied = new ByteArrayOutputStream();
                connection.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY t TO STDOUT", copied);
                assertThat(copied.toString(StandardCharsets.UTF_8)).hasSize(rows.length());
                try (ResultSet large = statement.executeQuery("SELECT repeat('x', 10000000)")) {
                    large.next();
                    assertThat(large.getString(1)).hasSize(10_000_000);
                }
                statement.setQueryTimeout(1);
                assertThatThrownBy(() -> statement.execute("SELECT pg_sleep(60)"))
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("57014"));
                connection.rollback();
            }
        }
    }

    @Test
    void aNameIsVerifiedAsItWasGiven() throws Exception {
        database.close();
        database = new PostgresBinding().open(TestServer.configuration(directory, "db"), meta);
        listen(InetAddress.getByAddress("localhost", new byte[] {127, 0, 0, 1}));
        assertThat(url).startsWith("jdbc:postgresql://localhost:");
        try (Connection connection = connect("")) {
            assertThat(count(connection)).isZero();
        }
        String byAnotherName = url.replace("localhost", "127.0.0.2");
        assertThatThrownBy(() ->
                        DriverManager.getConnection(byAnotherName + "&user=postgres&sslrootcert=" + own.authority()))
                .isInstanceOf(SQLException.class);
    }

    @Test
    void whoDoesNotTrustTheAuthorityDoesNotConnect() {
        assertThatThrownBy(() -> DriverManager.getConnection(url + "&user=postgres&sslrootcert=" + foreign.authority()))
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("PKIX path");
    }

    @Test
    void plainTextIsRefusedAndWhoMayDoBothGoesOnWithTls() throws Exception {
        String may = url.replace("verify-full", "disable") + "&user=postgres";
        assertThatThrownBy(() -> DriverManager.getConnection(may))
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("28000"))
                .hasMessageContaining("speaks TLS");
        try (Connection connection = DriverManager.getConnection(may.replace("disable", "allow"))) {
            assertThat(count(connection)).isZero();
        }
    }

    @Test
    void gordasDriverHasAContextOfItsOwnAndVerifiesTheHost() throws Exception {
        Properties properties = new Properties();
        properties.setProperty("user", "postgres");
        properties.setProperty("sslmode", "disable");
        try (Connection connection = Logins.connect(url, properties, own)) {
            assertThat(count(connection)).isZero();
        }
        assertThatThrownBy(() -> Logins.connect(url, properties, foreign)).hasMessageContaining("PKIX path");
        String byItsName = url.replace("127.0.0.1", "localhost.localdomain");
        assertThatThrownBy(() -> Logins.connect(byItsName, properties, own)).isInstanceOf(SQLException.class);
    }

    /** The relay ends TLS, so that no channel of the client's is bound to the server. */
    @Test
    void channelBindingIsNotOffered() throws Exception {
        try (Connection connection = TestServer.connect(name);
                Statement statement = connection.createStatement()) {
            statement.execute("SET password_encryption TO 'scram-sha-256'");
            statement.execute("DROP ROLE IF EXISTS bound");
            statement.execute("CREATE ROLE bound LOGIN PASSWORD 'secret'");
        }
        String bound = url + "&user=bound&password=secret&sslrootcert=" + own.authority();
        try (Connection connection = DriverManager.getConnection(bound);
                Statement statement = connection.createStatement()) {
            assertThat(statement.execute("SELECT 1")).isTrue();
        }
        assertThatThrownBy(() -> DriverManager.getConnection(bound + "&channelBinding=require"))
                .isInstanceOf(SQLException.class)
                .hasMessageContainingAll("hannel", "inding");
        try (Connection connection = TestServer.connect(name);
                Statement statement = connection.createStatement()) {
            statement.execute("DROP ROLE bound");
        }
    }

    // ---------------------------------------------------------------------------------------------- other clients

    private Socket socket() throws IOException {
        Socket socket = new Socket();
        socket.connect(address);
        socket.setSoTimeout(20_000);
        return socket;
    }

    private static byte[] message(int code, byte... content) {
        return ByteBuffer.allocate(8 + content.length)
                .putInt(8 + content.length)
                .putInt(code)
                .put(content)
                .array();
    }

    private byte[] startup() {
        return message(196608, ("user\0postgres\0database\0" + name + "\0\0").getBytes(StandardCharsets.UTF_8));
    }

    private static SSLSocket encrypt(Socket socket, String... protocols) throws IOException {
        SSLSocket encrypted =
                (SSLSocket) own.context().getSocketFactory().createSocket(socket, "127.0.0.1", socket.getPort(), true);
        SSLParameters parameters = encrypted.getSSLParameters();
        parameters.setApplicationProtocols(protocols);
        encrypted.setSSLParameters(parameters);
        encrypted.startHandshake();
        return encrypted;
    }

    /** Up to the end of the connection. */
    private static String rest(InputStream in) throws IOException {
        ByteArrayOutputStream rest = new ByteArrayOutputStream();
        try {
            in.transferTo(rest);
        } catch (SocketException | SSLException e) {
            rest.writeBytes(" reset".getBytes(StandardCharsets.UTF_8));
        }
        return rest.toString(StandardCharsets.UTF_8);
    }

    @Test
    void whatComesInPlainTextBehindTheRequestIsNotTakenForWhatComesWithTls() throws Exception {
        try (Socket socket = socket()) {
            socket.getOutputStream()
                    .write(ByteBuffer.allocate(8 + startup().length)
                            .put(message(TLS))
                            .put(startup())
                            .array());
            assertThat(rest(socket.getInputStream()))
                    .as("no answer of a server")
                    .doesNotContain("server_version")
                    .doesNotContain("S\0");
        }
    }

    @Test
    void whoBeginsWithTlsNamesTheProtocol() throws Exception {
        try (SSLSocket socket = encrypt(socket(), "postgresql")) {
            assertThat(socket.getSession().getProtocol()).isEqualTo("TLSv1.3");
            socket.getOutputStream().write(startup());
            assertThat(socket.getInputStream().read()).isEqualTo('R');
            socket.getOutputStream().write(new byte[] {'X', 0, 0, 0, 4});
            assertThat(rest(socket.getInputStream()))
                    .as("up to an end that is told by TLS, too")
                    .contains("server_version")
                    .doesNotContain(" reset");
        }
        try (SSLSocket socket = encrypt(socket())) {
            socket.getOutputStream().write(startup());
            assertThat(rest(socket.getInputStream())).doesNotContain("server_version");
        }
    }

    @Test
    void encryptionByGssIsDeclinedAndTlsComesAfterIt() throws Exception {
        try (Socket socket = socket()) {
            socket.getOutputStream().write(message(GSS));
            assertThat(socket.getInputStream().read()).isEqualTo('N');
            socket.getOutputStream().write(message(TLS));
            assertThat(socket.getInputStream().read()).isEqualTo('S');
            try (SSLSocket encrypted = encrypt(socket)) {
                encrypted.getOutputStream().write(startup());
                assertThat(encrypted.getInputStream().read()).isEqualTo('R');
            }
        }
    }

    @Test
    void requestsToCancelComeWithTlsAndWithout() throws Exception {
        for (boolean isEncrypted : new boolean[] {true, false}) {
            try (SSLSocket socket = encrypt(socket(), "postgresql")) {
                socket.getOutputStream().write(startup());
                byte[] key = key(socket.getInputStream());
                byte[] sql = "SELECT pg_sleep(60)\0".getBytes(StandardCharsets.UTF_8);
                socket.getOutputStream()
                        .write(ByteBuffer.allocate(5 + sql.length)
                                .put((byte) 'Q')
                                .putInt(4 + sql.length)
                                .put(sql)
                                .array());
                awaitSleeping();
                try (Socket plain = socket();
                        Socket cancel = isEncrypted ? encrypt(plain, "postgresql") : plain) {
                    cancel.getOutputStream().write(message(CANCEL, key));
                    assertThat(rest(cancel.getInputStream())).isEmpty();
                }
                assertThat(message(socket.getInputStream(), 'E')).contains("57014");
            }
        }
    }

    private void awaitSleeping() throws SQLException {
        try (Connection connection = TestServer.connect(name);
                Statement statement = connection.createStatement()) {
            boolean sleeps = false;
            while (!sleeps) {
                try (ResultSet row = statement.executeQuery(
                        "SELECT 1 FROM pg_stat_activity WHERE wait_event = 'PgSleep' AND datname = '" + name + "'")) {
                    sleeps = row.next();
                }
            }
        }
    }

    /** What is needed to cancel, once the server is ready. */
    private static byte[] key(InputStream in) throws IOException {
        byte[] key = null;
        while (true) {
            int type = in.read();
            byte[] content = in.readNBytes(ByteBuffer.wrap(in.readNBytes(4)).getInt() - 4);
            if (type == 'K') {
                key = content;
            } else if (type == 'Z') {
                return key;
            }
        }
    }

    private static String message(InputStream in, char wanted) throws IOException {
        while (true) {
            int type = in.read();
            byte[] content = in.readNBytes(ByteBuffer.wrap(in.readNBytes(4)).getInt() - 4);
            if (type == wanted) {
                return new String(content, StandardCharsets.UTF_8);
            }
        }
    }

    @Test
    void whoSaysNothingInTheHandshakeHoldsUpNobody() throws Exception {
        try (Socket silent = socket();
                Socket asking = socket();
                Socket begun = socket()) {
            asking.getOutputStream().write(message(TLS));
            assertThat(asking.getInputStream().read()).isEqualTo('S');
            begun.getOutputStream().write(new byte[] {0x16, 3, 1});
            try (Connection connection = connect("")) {
                assertThat(count(connection)).isZero();
            }
            close(Duration.ofSeconds(20));
            assertThat(rest(silent.getInputStream())).isIn("", " reset");
        }
    }

    /** Its socket is full, and the thread that writes to it holds what an orderly end of TLS needs. */
    @Test
    void aReplicaStopsWhoseClientDoesNotRead() throws Exception {
        try (SSLSocket frozen = encrypt(socket(), "postgresql")) {
            OutputStream out = frozen.getOutputStream();
            out.write(startup());
            key(frozen.getInputStream());
            byte[] sql = "SELECT repeat('x', 1000000) FROM generate_series(1, 100)\0".getBytes(StandardCharsets.UTF_8);
            out.write(ByteBuffer.allocate(5 + sql.length)
                    .put((byte) 'Q')
                    .putInt(4 + sql.length)
                    .put(sql)
                    .array());
            awaitFull();
            close(Duration.ofSeconds(20));
        }
    }

    /** The relay's thread waits in a write, and goes on doing so. */
    private static void awaitFull() {
        for (int seen = 0; seen < 100; seen = isWriting() ? seen + 1 : 0) {
            LockSupport.parkNanos(1_000_000);
        }
    }

    private static boolean isWriting() {
        return Thread.getAllStackTraces().entrySet().stream()
                .filter(entry -> entry.getKey().getName().startsWith("gorda-server-"))
                .map(entry -> Arrays.toString(entry.getValue()))
                .anyMatch(stack -> stack.contains("implWrite") && stack.contains("Net.poll"));
    }

    private void close(Duration atMost) throws Exception {
        long start = System.nanoTime();
        database.close();
        assertThat(Duration.ofNanos(System.nanoTime() - start)).isLessThan(atMost);
        for (Thread thread : Thread.getAllStackTraces().keySet()) {
            if (thread.getName().startsWith("gorda-server-") || thread.getName().startsWith("gorda-client-")) {
                thread.join(atMost.toMillis());
                assertThat(thread.isAlive()).as(thread.getName()).isFalse();
            }
        }
        database = new PostgresBinding().open(TestServer.configuration(directory, "db"), meta);
    }
}
