package org.gorda.jdbc;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import org.awaitility.Awaitility;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.TableChecksum;
import org.gorda.replicator.engine.Verification;

/** Replicas in this JVM, each reached by a URL of its own as a program would. Confined to the test's thread. */
final class EmbeddedGroup implements AutoCloseable {

    private final List<String> locations = new ArrayList<>();
    private final List<String> urls = new ArrayList<>();

    EmbeddedGroup(Path directory, int size) throws Exception {
        List<Integer> ports = freePorts(size);
        String members =
                String.join(",", ports.stream().map(port -> "127.0.0.1:" + port).toList());
        for (int i = 0; i < size; i++) {
            String location = directory.resolve("replica" + i).toString();
            locations.add(location);
            urls.add("jdbc:gorda:derby:" + location + ";group=shop;self=127.0.0.1:" + ports.get(i) + ";members="
                    + members + ";election-timeout=500ms");
        }
        connectAll();
    }

    /** The first connection to each starts it, and waits for a majority. */
    private void connectAll() throws Exception {
        ExecutorService threads = Executors.newFixedThreadPool(urls.size());
        try {
            List<Future<?>> connected = new ArrayList<>();
            for (String url : urls) {
                connected.add(threads.submit(() -> {
                    DriverManager.getConnection(url).close();
                    return null;
                }));
            }
            for (Future<?> one : connected) {
                one.get();
            }
        } finally {
            threads.shutdown();
        }
    }

    static List<Integer> freePorts(int count) {
        List<ServerSocket> sockets = new ArrayList<>();
        try {
            for (int i = 0; i < count; i++) {
                sockets.add(new ServerSocket(0, 1, InetAddress.getLoopbackAddress()));
            }
            List<Integer> ports =
                    sockets.stream().map(ServerSocket::getLocalPort).toList();
            for (ServerSocket socket : sockets) {
                socket.close();
            }
            return ports;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    int size() {
        return urls.size();
    }

    String url(int i) {
        return urls.get(i);
    }

    Replica replica(int i) {
        return EmbeddedReplicas.running(locations.get(i)).orElseThrow();
    }

    private int primaryNow() {
        for (int i = 0; i < size(); i++) {
            if (replica(i).status().primaryHere()) {
                return i;
            }
        }
        return -1;
    }

    int primary() {
        patiently("there is a primary").until(() -> primaryNow() >= 0);
        return primaryNow();
    }

    int backup() {
        return (primary() + 1) % size();
    }

    private static org.awaitility.core.ConditionFactory patiently(String what) {
        return Awaitility.await(what)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(5))
                .atMost(Duration.ofSeconds(60));
    }

    /** Compares all rows of all tables, and the schema, on all replicas. */
    List<TableChecksum> assertIdentical() throws SQLException {
        Verification first = replica(primary()).verify(Duration.ofSeconds(60));
        List<String> schema = schema(primary());
        for (int i = 0; i < size(); i++) {
            Replica replica = replica(i);
            patiently("all get there")
                    .until(() -> replica.verification(first.request()).isPresent());
            Verification other = replica.verification(first.request()).orElseThrow();
            if (!other.tables().equals(first.tables()) || !other.position().equals(first.position())) {
                throw new AssertionError("replicas differ: " + first + " and " + other);
            }
            List<String> otherSchema = schema(i);
            if (!otherSchema.equals(schema)) {
                List<String> onlyHere = new ArrayList<>(otherSchema);
                onlyHere.removeAll(schema);
                List<String> onlyThere = new ArrayList<>(schema);
                onlyThere.removeAll(otherSchema);
                throw new AssertionError("schemas differ: " + onlyHere + " and " + onlyThere);
            }
        }
        return first.tables();
    }

    /** All that was created, with the names that Derby generated; without what is each replica's own. */
    private List<String> schema(int i) throws SQLException {
        String own = " WHERE T.SCHEMAID NOT IN "
                + "(SELECT SCHEMAID FROM SYS.SYSSCHEMAS WHERE SCHEMANAME LIKE 'SYS%' OR SCHEMANAME = 'GORDA')";
        List<String> found = new ArrayList<>();
        try (Connection connection = DriverManager.getConnection(urls.get(i));
                Statement statement = connection.createStatement()) {
            for (String query : List.of(
                    "SELECT 'table', TABLENAME, TABLETYPE, LOCKGRANULARITY FROM SYS.SYSTABLES T",
                    "SELECT 'column', T.TABLENAME, COLUMNNAME, COLUMNNUMBER, COLUMNDATATYPE, COLUMNDEFAULT, "
                            + "AUTOINCREMENTSTART, AUTOINCREMENTINC "
                            + "FROM SYS.SYSCOLUMNS C JOIN SYS.SYSTABLES T ON C.REFERENCEID = T.TABLEID",
                    "SELECT 'constraint', T.TABLENAME, CONSTRAINTNAME, TYPE, STATE FROM SYS.SYSCONSTRAINTS C "
                            + "JOIN SYS.SYSTABLES T ON C.TABLEID = T.TABLEID",
                    "SELECT 'index', T.TABLENAME, CONGLOMERATENAME, DESCRIPTOR "
                            + "FROM SYS.SYSCONGLOMERATES C JOIN SYS.SYSTABLES T ON C.TABLEID = T.TABLEID AND ISINDEX",
                    "SELECT 'view', TABLENAME, VIEWDEFINITION FROM SYS.SYSVIEWS V "
                            + "JOIN SYS.SYSTABLES T ON V.TABLEID = T.TABLEID",
                    "SELECT 'trigger', TRIGGERNAME, STATE, TRIGGERDEFINITION FROM SYS.SYSTRIGGERS T",
                    "SELECT 'sequence', SEQUENCENAME, STARTVALUE, INCREMENT FROM SYS.SYSSEQUENCES T")) {
                try (ResultSet rows = statement.executeQuery(query + own)) {
                    int columns = rows.getMetaData().getColumnCount();
                    while (rows.next()) {
                        StringBuilder line = new StringBuilder();
                        for (int column = 1; column <= columns; column++) {
                            line.append(rows.getString(column)).append('|');
                        }
                        found.add(line.toString());
                    }
                }
            }
        }
        found.sort(null);
        return found;
    }

    /** As a program ends its engine. */
    @Override
    public void close() {
        for (String url : urls) {
            try {
                DriverManager.getConnection(url + ";shutdown=true").close();
            } catch (SQLException e) {
                if (!"08006".equals(e.getSQLState())) {
                    throw new AssertionError(e);
                }
            }
        }
    }
}
