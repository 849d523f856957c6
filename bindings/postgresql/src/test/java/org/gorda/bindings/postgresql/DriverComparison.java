package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.fail;
import static org.junit.jupiter.api.Assertions.assertTimeoutPreemptively;

import com.sun.net.httpserver.HttpServer;
import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.HashSet;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.gorda.gapi.Applier;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.DynamicTest;
import org.junit.jupiter.api.TestFactory;
import org.junit.jupiter.api.TestInstance;
import org.junit.jupiter.api.io.TempDir;

/**
 * What an application sees of PostgreSQL's driver is the same without us, through the door in this JVM, through the relay, and by the driver for groups: each behaviour
 * is run on all, and all that was seen is compared, line by line. What is different on purpose says so in its place. What was captured is applied to another
 * database, which must hold the same then.
 */
@TestInstance(TestInstance.Lifecycle.PER_CLASS)
abstract class DriverComparison {

    private static final String ROWS = "INSERT INTO t VALUES (1, 10, 'one'), (2, 20, 'two'), (3, 30, NULL)";

    private static final String FRESH_ROWS = "TRUNCATE t;" + ROWS;

    private static final String FRESH = """
            DROP SCHEMA public CASCADE;
            CREATE SCHEMA public;
            CREATE TABLE t (id int PRIMARY KEY, a int, s text);
            """ + ROWS;

    private static final String CLUSTER = "by jdbc:gorda://";

    /** What that does otherwise: docs/jdbc.md says why. */
    private static final Set<String> DIFFERENT = Set.of(
            // an autocommit batch is a transaction, which is committed in a round trip of its own
            "a batch of 3,000 that fails late",
            "a batch that breaks a deferred constraint",
            "a deferred trigger of its own speaks, and fails, at the commit",
            // nothing is changed, also in autocommit mode
            "read-only connections",
            // PostgreSQL's driver cannot commit behind them
            "COPY out that is cancelled",
            "COPY in of what goes out",
            // a connection that is lost, or closed, is told of with what is known of the replicas
            "idle_in_transaction_session_timeout",
            "idle_session_timeout",
            "transaction_timeout",
            "setNetworkTimeout",
            "a server's session that an administrator ends",
            "a session that ends itself",
            "close, and what comes after",
            "abort, idle",
            "abort of what runs");

    /** How many lines of a difference are shown, and how much of each. */
    private static final int CONTEXT = 4;

    private static final int LINE_MAX = 500;

    private static final Duration PATIENCE = Duration.ofSeconds(60);

    private final MetaLevel meta = new MetaLevel();
    private PostgresDatabase database;
    private HttpServer service;
    private List<Place> places;

    /** That of another replica. */
    private PostgresDatabase other;

    private Applier applier;

    /** Sessions that look at what a replica holds: a new one has to read all of the catalogue first. */
    private Connection atOurs;

    private Connection atOther;

    /** The databases that are as {@link #FRESH} made them. */
    private final Set<String> fresh = new HashSet<>();

    /** The replica's had so many changes of its schema when that was last so. */
    private long schemaChanges = -1;

    /** Where a behaviour is run, and by what connection it is made fresh. */
    private record Place(String name, String database, boolean isReplica, Connector connector, Connection maintenance)
            implements Observer.Target {

        @Override
        public Connection connect(String settings) throws SQLException {
            return connector.connect(settings);
        }

        @Override
        public Connection outside() throws SQLException {
            return TestServer.connect(database);
        }
    }

    private interface Connector {
        Connection connect(String settings) throws SQLException;
    }

    @BeforeAll
    void open(@TempDir Path directory) throws SQLException, IOException {
        TestServer.dropOthers(directory);
        String plain = name(TestServer.configuration(directory, "plain").location());
        TestServer.execute("CREATE DATABASE " + plain);
        var configuration = TestServer.configuration(directory, "ours");
        String ours = name(configuration.location());
        TestServer.execute("CREATE DATABASE " + ours);
        database = (PostgresDatabase) new PostgresBinding().open(configuration, meta);
        other = (PostgresDatabase)
                new PostgresBinding().open(TestServer.configuration(directory, "other"), new MetaLevel());
        applier = other.applier();
        atOurs = database.server().connect("");
        atOther = other.server().connect("");
        String relay = database.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), null);
        String cluster = serve(relay);
        Connection maintenance = database.connect(new Properties());
        places = List.of(
                new Place(
                        "without us",
                        plain,
                        false,
                        settings -> DriverManager.getConnection(TestServer.url(plain) + "&" + settings),
                        TestServer.connect(plain)),
                new Place("in this JVM", ours, true, settings -> database.connect(properties(settings)), maintenance),
                new Place(
                        "through the relay",
                        ours,
                        true,
                        settings -> DriverManager.getConnection(relay + "?user=postgres&" + settings),
                        maintenance),
                new Place(
                        CLUSTER,
                        ours,
                        true,
                        settings -> DriverManager.getConnection(cluster, clusterProperties(settings)),
                        maintenance));
    }

    /** A replica's service tells clients where to connect. */
    private String serve(String relay) throws IOException {
        service = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        service.createContext("/topology", exchange -> {
            try (exchange) {
                byte[] answer = ("database=ours\nurl=" + relay.replace(":", "\\:")
                                + "\nprimary=true\nworking=true\nepoch=1\nordered=1\n")
                        .getBytes(StandardCharsets.ISO_8859_1);
                exchange.sendResponseHeaders(200, answer.length);
                exchange.getResponseBody().write(answer);
            }
        });
        service.createContext("/outcome", exchange -> {
            try (exchange) {
                exchange.sendResponseHeaders(200, 7);
                exchange.getResponseBody().write("ABORTED".getBytes(StandardCharsets.ISO_8859_1));
            }
        });
        service.start();
        return "jdbc:gorda://127.0.0.1:" + service.getAddress().getPort() + "/ours;user=postgres";
    }

    private static Properties clusterProperties(String settings) {
        Properties properties = new Properties();
        properties(settings).forEach((key, value) -> properties.put("driver." + key, value));
        return properties;
    }

    @AfterAll
    void close() throws SQLException {
        for (Place place : places) {
            place.maintenance().close();
        }
        atOurs.close();
        atOther.close();
        service.stop(0);
        database.close();
        other.close();
        assertThat(meta.ended()).as("each that began has ended").isEqualTo(meta.begun());
    }

    private static String name(String location) {
        return location.substring(location.lastIndexOf('/') + 1);
    }

    private static Properties properties(String settings) {
        Properties properties = new Properties();
        Stream.of(settings.split("&", -1))
                .filter(setting -> !setting.isEmpty())
                .map(setting -> setting.split("=", 2))
                .forEach(setting -> properties.setProperty(
                        setting[0], java.net.URLDecoder.decode(setting[1], StandardCharsets.UTF_8)));
        return properties;
    }

    /** What is compared. */
    abstract Stream<List<Behaviour>> compared();

    @TestFactory
    Stream<DynamicTest> behaviours() {
        return compared()
                .flatMap(List::stream)
                .flatMap(behaviour -> behaviour.modes().stream()
                        .map(mode -> DynamicTest.dynamicTest(
                                behaviour.name() + (mode.isEmpty() ? "" : " [" + mode + "]"),
                                () -> assertTimeoutPreemptively(PATIENCE, () -> compare(behaviour, mode)))));
    }

    private void compare(Behaviour behaviour, String mode) throws Exception {
        List<String> expected = seen(behaviour, mode, places.get(0));
        for (Place place : places.subList(1, places.size())) {
            boolean byCluster = place.name().equals(CLUSTER);
            if (byCluster && !mode.isEmpty()) {
                continue; // the relay has been passed in that mode
            }
            List<String> seen = seen(behaviour, mode, place);
            if (byCluster && DIFFERENT.contains(behaviour.name())) {
                assertThat(seen)
                        .as("%s, which is different by %s", behaviour.name(), CLUSTER)
                        .isNotEqualTo(expected);
                continue;
            }
            int same = 0;
            while (same < Math.min(expected.size(), seen.size())
                    && expected.get(same).equals(seen.get(same))) {
                same++;
            }
            if (same < Math.max(expected.size(), seen.size())) {
                fail("%s: %s, line %d%nbehind       %s%nwithout us   %s%n%s  %s"
                        .formatted(
                                behaviour.name(),
                                place.name(),
                                same,
                                excerpt(expected, Math.max(0, same - CONTEXT), same),
                                excerpt(expected, same, same + CONTEXT),
                                place.name(),
                                excerpt(seen, same, same + CONTEXT)));
            }
        }
    }

    private static String excerpt(List<String> lines, int from, int to) {
        return lines.subList(from, Math.min(lines.size(), to)).stream()
                .map(line -> line.substring(0, Math.min(LINE_MAX, line.length())))
                .collect(Collectors.joining(String.format("%n             ")));
    }

    private List<String> seen(Behaviour behaviour, String mode, Place place) throws Exception {
        if (!fresh.contains(place.database())) {
            try (Statement statement = place.maintenance().createStatement()) {
                statement.execute(place.isReplica() && !hasOtherSchema() ? FRESH_ROWS : FRESH);
            }
            schemaChanges = place.isReplica() ? database.schemaChanges() : schemaChanges;
            fresh.add(place.database());
        }
        long before = nextTransaction(place);
        try (Observer client = new Observer(place, mode)) {
            knowSession(client);
            behaviour.body().run(client);
            client.aftermath();
            return client.seen();
        } finally {
            if (nextTransaction(place) != before) {
                fresh.remove(place.database());
                if (place.isReplica()) {
                    applyElsewhere();
                }
            }
        }
    }

    /** Behind the last transaction of the server that changed anything. */
    private static long nextTransaction(Place place) throws SQLException {
        try (Statement statement = place.maintenance().createStatement();
                ResultSet row = statement.executeQuery("SELECT pg_snapshot_xmax(pg_current_snapshot())::text")) {
            row.next();
            return row.getLong(1);
        }
    }

    /** From now on the session's changes are taken from what statements return, where that is all. */
    private static void knowSession(Observer client) throws SQLException {
        try (Statement statement = client.connection().createStatement()) {
            statement.executeUpdate("UPDATE t SET a = a WHERE id = 0");
        }
    }

    private void applyElsewhere() throws SQLException {
        for (WriteSet writeSet : meta.takeWriteSets()) {
            applier.apply(writeSet);
            applier.commit(meta.nextPosition(), false);
        }
        assertThat(held(atOther, hasOtherSchema())).as("on another replica").isEqualTo(held(atOurs, hasOtherSchema()));
    }

    private boolean hasOtherSchema() {
        return database.schemaChanges() != schemaChanges;
    }

    /** All rows of all tables, and the statements that would make them, but for how far generators have come. */
    private static List<String> held(Connection connection, boolean withSchema) throws SQLException {
        SqlSession session = SqlSession.of(connection);
        List<String> held = new ArrayList<>();
        if (withSchema) {
            for (List<String> row : session.query(Installation.script("schema.sql"))) {
                if (!row.get(3).startsWith("select setval")) {
                    held.add(row.get(3));
                }
            }
        }
        for (TableShape table : PostgresDatabase.tables(session)) {
            for (List<String> row : session.query("SELECT t::text FROM " + table + " t")) {
                held.add(table + " " + row.get(0));
            }
        }
        Collections.sort(held);
        return held;
    }
}
