package org.gorda.replicator.node;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.gorda.jdbc.GordaDriver;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.node.behaviours.Behaviour;
import org.gorda.replicator.node.behaviours.Side;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.MethodSource;

/**
 * What a program sees of Derby's own drivers it sees of ours, but for what docs/jdbc.md lists. The embedded form of URL is compared
 * with Derby's embedded driver, that of a cluster with its client. What each showed is in {@code target/side-by-side.txt}.
 * {@code -Dgorda.behaviours=REGEX} looks at some only.
 */
@Timeout(300)
class SideBySideTest {

    /** Read by Derby when it opens a database: how many seconds to wait for a lock. */
    private static final String LOCK_WAIT = "derby.locks.waitTimeout";

    /** With {@code -Dgorda.retry=N} all this is looked at through a connection that would replay. */
    private static final String RETRY = ";retry=" + Integer.getInteger("gorda.retry", 0);

    private static final String SCHEMAS = "metadata: schemas";
    private static final String LENGTHS = "LOB: streams of the wrong length";
    private static final String UNKNOWN = "connection: to a database that is not there";

    private static final Map<String, String> EMBEDDED = new TreeMap<>(Map.of(
            SCHEMAS,
            "the schema `GORDA` is there: it holds what is each replica's own",
            LENGTHS,
            "refused with XCL30, not XSDA4: what is written is captured first, so that it is noticed earlier",
            UNKNOWN,
            "a replica makes its database, without `create=true`: it may be the one that joins"));

    private static final Map<String, String> CLUSTER = new TreeMap<>(Map.of(
            SCHEMAS,
            EMBEDDED.get(SCHEMAS),
            LENGTHS,
            EMBEDDED.get(LENGTHS),
            "call: throws",
            "in autocommit mode the error of a procedure is an SQLException with Derby's SQLSTATE, not an"
                    + " SQLTransactionRollbackException",
            "connection: read-only",
            "`setReadOnly(true)` has an effect: reads go to a backup, and a write is refused with 25006; Derby's"
                    + " client passes it over"));

    private static final Map<String, String> SEEN = new TreeMap<>();

    @TempDir
    static Path directory;

    private static PlainDerby derby;
    private static NodeGroup group;
    private static List<String> replicas;
    private static Side embedded;
    private static Side ourEmbedded;
    private static Side client;
    private static Side ourClient;

    @BeforeAll
    static void open() throws Exception {
        System.setProperty(LOCK_WAIT, "1");
        List<Integer> ports = LoopbackPorts.free(3);
        derby = new PlainDerby(ports.get(0));
        Path plain = directory.resolve("plain").resolve("shop");
        String none = directory.resolve("none").resolve("shop").toString();
        embedded = new Side(derby.driver(), "jdbc:derby:" + plain, "jdbc:derby:" + none, derby.classes());
        derby.driver()
                .connect("jdbc:derby:" + plain + ";create=true", new Properties())
                .close();
        String served = "jdbc:derby://127.0.0.1:" + ports.get(0) + "/";
        Path servedPath = directory.resolve("served").resolve("shop");
        client = new Side(DriverManager.getDriver(served), served + servedPath, served + none, derby.classes());
        DriverManager.getConnection(served + servedPath + ";create=true").close();

        replicas = List.of(
                "jdbc:gorda:derby:" + directory.resolve("ours").resolve("shop") + ";self=127.0.0.1:" + ports.get(1),
                "jdbc:gorda:derby:" + none + "2;self=127.0.0.1:" + ports.get(2));
        ClassLoader classes = SideBySideTest.class.getClassLoader();
        ourEmbedded = new Side(new GordaDriver(), replicas.get(0) + RETRY, replicas.get(1) + RETRY, classes);
        group = new NodeGroup(directory, 1);
        ourClient = new Side(
                new GordaDriver(), group.url() + RETRY, group.url().replace("/shop", "/none") + RETRY, classes);
        for (Side side : List.of(embedded, ourEmbedded, client, ourClient)) {
            side.create();
        }
    }

    @AfterAll
    static void close() throws Exception {
        System.clearProperty(LOCK_WAIT);
        group.close();
        for (String replica : replicas) {
            try {
                DriverManager.getConnection(replica + ";shutdown=true").close();
            } catch (SQLException e) {
                assertThat(e.getSQLState()).isEqualTo("08006");
            }
        }
        derby.close();
        Files.write(Path.of("target", "side-by-side.txt"), SEEN.values());
    }

    static List<Behaviour> behaviours() {
        String only = System.getProperty("gorda.behaviours", ".*");
        return Behaviour.all().stream()
                .filter(behaviour -> behaviour.name().matches(only))
                .toList();
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("behaviours")
    void embedded(Behaviour behaviour) throws Exception {
        compare("embedded", behaviour, embedded, ourEmbedded, EMBEDDED);
    }

    @ParameterizedTest(name = "{0}")
    @MethodSource("behaviours")
    void cluster(Behaviour behaviour) throws Exception {
        compare("cluster", behaviour, client, ourClient, CLUSTER);
    }

    private static void compare(
            String form, Behaviour behaviour, Side theirs, Side ours, Map<String, String> differences)
            throws Exception {
        String expected = theirs.observe(behaviour);
        String found;
        try {
            found = ours.observe(behaviour);
        } catch (Exception | AssertionError e) {
            StringWriter trace = new StringWriter();
            e.printStackTrace(new PrintWriter(trace));
            found = trace.toString();
        }
        SEEN.put(
                form + behaviour.name(),
                "== " + form + ", " + behaviour.name() + "\n" + expected
                        + (found.equals(expected) ? "" : "\n-- ours\n" + found));
        if (differences.containsKey(behaviour.name())) {
            assertThat(found).as("a listed difference").isNotEqualTo(expected);
        } else {
            assertThat(found).isEqualTo(expected);
        }
    }

    @Test
    void thereAreManyAndTheFewThatDifferAreInTheDocs() throws Exception {
        List<String> names = Behaviour.all().stream().map(Behaviour::name).toList();
        assertThat(names).doesNotHaveDuplicates().hasSizeGreaterThanOrEqualTo(150);
        Map<String, String> differences = new TreeMap<>(EMBEDDED);
        differences.putAll(CLUSTER);
        assertThat(names).containsAll(differences.keySet());
        assertThat(differences).hasSizeLessThanOrEqualTo(5);
        StringBuilder table = new StringBuilder();
        differences.forEach((name, reason) -> table.append("| ")
                .append(name)
                .append(" | ")
                .append(String.join(", ", forms(name)))
                .append(" | ")
                .append(reason)
                .append(" |\n"));
        assertThat(Files.readString(Path.of("..", "..", "docs", "jdbc.md")))
                .as("docs/jdbc.md has the rows\n%s", table)
                .contains(table);
    }

    private static Set<String> forms(String name) {
        Set<String> forms = new TreeSet<>();
        if (EMBEDDED.containsKey(name)) {
            forms.add("embedded");
        }
        if (CLUSTER.containsKey(name)) {
            forms.add("cluster");
        }
        return forms;
    }
}
