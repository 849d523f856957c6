package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import javax.sql.XAConnection;
import javax.sql.XADataSource;
import javax.transaction.xa.XAResource;
import javax.transaction.xa.Xid;
import org.apache.derby.jdbc.ClientXADataSource;
import org.apache.derby.jdbc.EmbeddedXADataSource;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Derby's own data sources for distributed transactions reach a replicated database past our driver. */
@Timeout(60)
class DistributedTransactionTest {

    @TempDir
    Path directory;

    private final MetaLevel metaLevel = new MetaLevel();
    private ReflectedDatabase database;

    @BeforeEach
    void open() throws SQLException {
        database = new DerbyBinding()
                .open(
                        new DatabaseConfiguration(
                                directory.resolve("db").toString(),
                                Map.of(),
                                Duration.ofMillis(200),
                                32 << 20,
                                directory.resolve("spool")),
                        metaLevel);
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)");
        execute("INSERT INTO T VALUES (1, 1)");
        metaLevel.takeWriteSets();
    }

    @AfterEach
    void close() {
        database.close();
    }

    private void execute(String sql) throws SQLException {
        try (Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static Xid xid() {
        return new Xid() {
            @Override
            public int getFormatId() {
                return 7;
            }

            @Override
            public byte[] getGlobalTransactionId() {
                return new byte[] {1};
            }

            @Override
            public byte[] getBranchQualifier() {
                return new byte[] {2};
            }
        };
    }

    @Test
    void isRefusedEmbeddedAtItsFirstChange() throws Exception {
        EmbeddedXADataSource source = new EmbeddedXADataSource();
        source.setDatabaseName(directory.resolve("db").toString());
        isRefusedAtItsFirstChange(source);
    }

    @Test
    void isRefusedOverTheNetworkAtItsFirstChange() throws Exception {
        int port = freePort();
        database.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), port), null);
        ClientXADataSource source = new ClientXADataSource();
        source.setServerName("127.0.0.1");
        source.setPortNumber(port);
        source.setDatabaseName(directory.resolve("db").toString());
        isRefusedAtItsFirstChange(source);
    }

    private static int freePort() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return socket.getLocalPort();
        }
    }

    private void isRefusedAtItsFirstChange(XADataSource source) throws Exception {
        XAConnection branch = source.getXAConnection();
        XAResource resource = branch.getXAResource();
        Xid xid = xid();
        try (Connection connection = branch.getConnection();
                Statement statement = connection.createStatement()) {
            resource.start(xid, XAResource.TMNOFLAGS);
            try (ResultSet rows = statement.executeQuery("SELECT A FROM T")) {
                assertThat(rows.next()).isTrue();
            }
            for (String sql : new String[] {
                "UPDATE T SET A = 2", "INSERT INTO T VALUES (2, 2)", "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)"
            }) {
                assertThatThrownBy(() -> statement.execute(sql))
                        .as(sql)
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("0A000"))
                        .hasMessageContaining(
                                "distributed transactions (XA) cannot be replicated: use a plain connection");
            }
            resource.end(xid, XAResource.TMSUCCESS);
            assertThat(resource.prepare(xid)).as("it has changed nothing").isEqualTo(XAResource.XA_RDONLY);
            // Without a distributed transaction the connection is one like any other.
            connection.setAutoCommit(false);
            statement.execute("UPDATE T SET A = 3");
            connection.commit();
        }
        branch.close();
        execute("UPDATE T SET A = 4");
        assertThat(metaLevel.takeWriteSets()).as("what was captured").hasSize(2);
    }
}
