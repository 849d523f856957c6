package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.StringReader;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.awaitility.Awaitility;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.ReplicaRecovery;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.postgresql.PGConnection;

/** Three replicas, all of which take writes, generate keys at once, and no value comes twice. */
@Timeout(180)
class LeasedSequencesTest extends ThreeReplicas {

    private final ExecutorService clients = Executors.newCachedThreadPool();

    LeasedSequencesTest() {
        super(ReplicationProtocol.CERTIFICATION);
    }

    @AfterEach
    void endClients() {
        clients.shutdownNow();
    }

    private interface Work<T> {
        T at(int replica) throws SQLException;
    }

    private <T> List<T> onAll(Work<T> work) throws Exception {
        List<Future<T>> running = new ArrayList<>();
        for (int i = 0; i < SIZE; i++) {
            int at = i;
            running.add(clients.submit(() -> work.at(at)));
        }
        List<T> results = new ArrayList<>();
        for (Future<T> one : running) {
            results.add(one.get(90, TimeUnit.SECONDS));
        }
        return results;
    }

    private static final String[] TABLES = {
        "CREATE TABLE a (id SERIAL PRIMARY KEY, n INTEGER)",
        "CREATE TABLE b (id BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY, n INTEGER)",
        "CREATE SEQUENCE down INCREMENT -3 MAXVALUE 1000000 START 1000000",
        "CREATE TABLE c (id BIGINT PRIMARY KEY DEFAULT nextval('down'), n INTEGER)"
    };

    private static final List<String> INSERTS = List.of(
            "INSERT INTO a (n) VALUES (1) RETURNING id",
            "INSERT INTO b (n) VALUES (2) RETURNING id",
            "INSERT INTO c (n) VALUES (3) RETURNING id");

    /** One of them is killed meanwhile, and comes back. */
    @Test
    void clientsOfAllReplicasInsertAtOnceAndNoneIsRefused() throws Exception {
        execute(0, TABLES);
        Map<String, Set<Long>> given = new ConcurrentHashMap<>();
        INSERTS.forEach(sql -> given.put(sql, ConcurrentHashMap.newKeySet()));
        List<Throwable> failures = new CopyOnWriteArrayList<>();
        AtomicBoolean ended = new AtomicBoolean();
        List<Future<?>> writers = new ArrayList<>();
        for (int writer = 0; writer < 2 * SIZE; writer++) {
            int at = writer % SIZE;
            writers.add(clients.submit(() -> insert(at, given, ended, failures)));
        }
        Set<Long> some = given.get(INSERTS.get(0));
        Awaitility.await().atMost(PATIENCE).until(() -> some.size() > 1500);
        Replica killed = cluster.take(2);
        TestServer.execute(
                "SELECT pg_terminate_backend(pid, 10000) FROM pg_stat_activity WHERE datname = '" + database(2) + "'");
        killed.close();
        int without = some.size();
        Awaitility.await("others go on").atMost(PATIENCE).until(() -> some.size() > without + 1000);
        cluster.start(2);
        cluster.awaitOnline();
        int with = some.size();
        Awaitility.await("all go on").atMost(PATIENCE).until(() -> some.size() > with + 2000);
        ended.set(true);
        for (Future<?> one : writers) {
            one.get(60, TimeUnit.SECONDS);
        }
        assertThat(failures).isEmpty();
        cluster.assertIdentical();
        for (String table : List.of("a", "b", "c")) {
            Set<Long> there = new HashSet<>();
            try (Connection connection = cluster.connect(2);
                    Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery("SELECT id FROM " + table)) {
                while (rows.next()) {
                    there.add(rows.getLong(1));
                }
            }
            assertThat(there).as(table).containsAll(given.get(INSERTS.get("abc".indexOf(table))));
        }
    }

    /** Inserts at one replica, whose connections may end with it. */
    private void insert(int at, Map<String, Set<Long>> given, AtomicBoolean ended, List<Throwable> failures) {
        while (!ended.get()) {
            if (!cluster.takesWrites(at)) {
                Awaitility.await().atMost(PATIENCE).until(() -> ended.get() || !cluster.isGone(at));
                continue;
            }
            try (Connection connection = cluster.connect(at);
                    Statement statement = connection.createStatement()) {
                for (int i = 0; !ended.get(); i++) {
                    connection.setAutoCommit(i % 2 == 0);
                    List<Long> ids = new ArrayList<>();
                    for (String sql : INSERTS) {
                        ids.add(number(statement, sql));
                    }
                    if (i % 2 == 1) {
                        connection.commit();
                    }
                    for (int k = 0; k < ids.size(); k++) {
                        if (!given.get(INSERTS.get(k)).add(ids.get(k))) {
                            failures.add(new AssertionError(ids.get(k) + " was given twice: " + INSERTS.get(k)));
                        }
                    }
                }
            } catch (SQLException e) {
                boolean isRefused = List.of("40001", "2200H", "23505", "0A000").contains(e.getSQLState());
                if (!cluster.isGone(at)
                        && isRefused
                        && !String.valueOf(e.getMessage()).contains("not up to date")) {
                    failures.add(e);
                }
            } catch (RuntimeException e) {
                if (!cluster.isGone(at)) {
                    failures.add(e);
                }
            }
        }
    }

    @Test
    void shortSequencesEndOnceForAllAndWhatCannotBeLeasedIsRefused() throws Exception {
        execute(
                0,
                "CREATE SEQUENCE brief MAXVALUE 500",
                "CREATE SEQUENCE round MAXVALUE 5 CYCLE",
                "CREATE TABLE t (id INTEGER PRIMARY KEY)",
                "CREATE FUNCTION back() RETURNS BIGINT LANGUAGE sql AS 'SELECT setval(''brief'', 1)'");
        Set<Long> given = ConcurrentHashMap.newKeySet();
        onAll(i -> {
            try (Connection connection = cluster.connect(i);
                    Statement statement = connection.createStatement()) {
                while (true) {
                    try {
                        assertThat(given.add(number(statement, "SELECT nextval('brief')")))
                                .isTrue();
                    } catch (SQLException e) {
                        if (e.getSQLState().equals("2200H")) {
                            return true;
                        }
                        // It is short: what was leased may be gone before more is.
                        assertThat(e.getSQLState()).as(e.toString()).isEqualTo("40001");
                    }
                }
            }
        });
        assertThat(given).hasSizeGreaterThan(450).allMatch(value -> value >= 1 && value <= 500);
        execute(1, "CREATE TABLE other (id INTEGER PRIMARY KEY)");
        for (int i = 0; i < SIZE; i++) {
            int at = i;
            assertRefused("2200H", () -> number(at, "SELECT nextval('brief')"));
            assertRefused("0A000", () -> number(at, "SELECT nextval('round')"));
            assertRefused(
                    "0A000",
                    () -> number(
                            at,
                            "WITH made AS (INSERT INTO t VALUES (1) RETURNING id) SELECT setval('brief', id) FROM made"));
            assertRefused("22003", () -> number(at, "SELECT back()"));
        }
        assertRefused(
                "2200H",
                () -> execute(
                        0,
                        "CREATE TEMPORARY SEQUENCE own MAXVALUE 2",
                        "SELECT nextval('own') FROM generate_series(1, 3)"));
        execute(2, "ALTER SEQUENCE brief MAXVALUE 1000", "ALTER SEQUENCE round NO CYCLE");
        for (int i = 0; i < SIZE; i++) {
            assertThat(number(i, "SELECT nextval('brief')")).isBetween(501L, 1000L);
        }
        Set<Long> round = ConcurrentHashMap.newKeySet();
        for (int i = 0; i < SIZE; i++) {
            assertThat(round.add(number(i, "SELECT nextval('round')"))).isTrue();
        }
        cluster.assertIdentical();
    }

    @Test
    void schemaChangesFindGeneratorsWhereTheyAreAndRestartThem() throws Exception {
        execute(0, TABLES);
        execute(0, "CREATE SEQUENCE s START 10 INCREMENT 2 MINVALUE 10", "CREATE TABLE u (id BIGINT PRIMARY KEY)");
        Set<Long> given = ConcurrentHashMap.newKeySet();
        Work<Boolean> take = i -> {
            try (Connection connection = cluster.connect(i);
                    Statement statement = connection.createStatement()) {
                for (int k = 0; k < 5; k++) {
                    assertThat(given.add(number(statement, INSERTS.get(0)))).isTrue();
                    number(statement, INSERTS.get(1));
                    number(statement, INSERTS.get(2));
                    statement.executeUpdate("INSERT INTO u VALUES (nextval('s'))");
                }
                return true;
            }
        };
        onAll(take);
        execute(1, "CREATE TABLE later (LIKE b INCLUDING ALL)", "INSERT INTO later (n) VALUES (1)");
        onAll(take);
        for (int i = 0; i < SIZE; i++) {
            execute(i, "INSERT INTO later (n) VALUES (" + i + ")");
        }
        assertThat(number(0, "SELECT count(DISTINCT id) FROM later WHERE id BETWEEN 1 AND 10000"))
                .isEqualTo(4);
        // Generators that are there go on generating in a transaction that changes something else, and so does what it
        // makes.
        execute(
                2,
                "ALTER TABLE a ADD COLUMN more TEXT",
                "INSERT INTO a (n, more) SELECT 7, 'x' FROM generate_series(1, 10)",
                "CREATE TABLE made (id SMALLSERIAL PRIMARY KEY, n INTEGER)",
                "INSERT INTO made (n) VALUES (1), (2), (3)",
                "ALTER TABLE u RENAME TO v",
                "ALTER TABLE v RENAME TO u");
        for (int i = 0; i < SIZE; i++) {
            execute(i, "INSERT INTO made (n) VALUES (4)");
        }
        assertThat(number(1, "SELECT count(*) FROM made WHERE id < 1000")).isEqualTo(6);
        onAll(take);
        execute(0, "ALTER SEQUENCE s RESTART WITH 5000000 INCREMENT 10");
        long before = number(1, "SELECT count(*) FROM u");
        onAll(take);
        assertThat(number(1, "SELECT count(*) FROM u WHERE id >= 5000000 AND id % 10 = 0"))
                .isEqualTo(number(1, "SELECT count(*) FROM u") - before)
                .isEqualTo(15);
        execute(1, "ALTER TABLE b ALTER id RESTART WITH 90000000");
        onAll(take);
        assertThat(number(2, "SELECT count(*) FROM b WHERE id >= 90000000")).isEqualTo(15);
        given.clear();
        execute(2, "TRUNCATE a RESTART IDENTITY");
        onAll(take);
        assertThat(number(0, "SELECT min(id) FROM a")).isOne();
        assertRefused("0A000", () -> execute(0, "ALTER SEQUENCE s INCREMENT 3", "SELECT nextval('s')"));
        onAll(take);
        execute(0, "TRUNCATE u");
        execute(0, "DROP SEQUENCE s", "CREATE SEQUENCE s"); // the last change: another one would end the lease of 1
        onAll(take);
        assertThat(number(0, "SELECT min(id) FROM u")).isOne();
        cluster.assertIdentical();
        for (int i = 0; i < SIZE; i++) {
            assertThat(number(i, "SELECT high FROM gorda.generator WHERE relid = 'a_id_seq'::regclass"))
                    .isEqualTo(Integer.MAX_VALUE);
        }
    }

    /** As dumps and frameworks do once they have brought rows with keys of their own. */
    @Test
    void sequencesGoOnWhereTheyAreSet() throws Exception {
        execute(0, TABLES);
        onAll(i -> {
            try (Connection connection = cluster.connect(i);
                    Statement statement = connection.createStatement()) {
                return number(statement, INSERTS.get(0));
            }
        });
        assertThat(number(1, "SELECT setval('a_id_seq', 5000)")).isEqualTo(5000);
        cluster.awaitEverywhere();
        assertThat(onAll(i -> {
                    try (Connection connection = cluster.connect(i);
                            Statement statement = connection.createStatement()) {
                        return number(statement, INSERTS.get(0));
                    }
                }))
                .allMatch(value -> value > 5000)
                .doesNotHaveDuplicates();
        execute(2, "INSERT INTO a VALUES (90000, 1)");
        String toNext =
                "SELECT setval(pg_get_serial_sequence('\"a\"','id'), coalesce(max(\"id\"), 1), max(\"id\") IS NOT null) FROM \"a\"";
        assertThat(number(2, toNext)).isEqualTo(90000);
        long first = number(0, INSERTS.get(0));
        assertThat(first).isBetween(90001L, 99999L);
        try (Connection connection = cluster.connect(1);
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            number(statement, "SELECT pg_catalog.setval('public.a_id_seq', 1, false)");
            connection.rollback();
        }
        cluster.awaitEverywhere();
        assertThat(number(1, INSERTS.get(0))) // whichever of the two has leased first
                .isBetween(90001L, 99999L)
                .isNotEqualTo(first);
        execute(0, "DELETE FROM a", "SELECT pg_catalog.setval('public.a_id_seq', 1, false)");
        assertThat(number(2, INSERTS.get(0))).isBetween(1L, 9999L);
        assertThatThrownBy(() -> execute(0, "SET TRANSACTION READ ONLY", "SELECT setval('down', -9)"))
                .hasMessageContaining("cannot execute setval() in a read-only transaction");
        assertThat(number(2, "SELECT setval('down', -7)")).isEqualTo(-7);
        assertThat(number(0, "SELECT nextval('down')")).isBetween(-29999L, -10L);
        cluster.assertIdentical();
    }

    /** Also where it is made again, because values were leased. */
    @Test
    void whatASchemaChangeMakesIsCalledTheSameEverywhere() throws Exception {
        execute(0, TABLES);
        onAll(i -> {
            try (Connection connection = cluster.connect(i);
                    Statement statement = connection.createStatement()) {
                statement.executeUpdate("INSERT INTO a (n) VALUES (" + i + ")");
            }
            return true;
        });
        for (int i = 0; i < SIZE; i++) {
            execute(
                    i,
                    "CREATE TABLE made" + i + " (id SERIAL PRIMARY KEY, n INTEGER UNIQUE CHECK (n > 0),"
                            + " m BIGINT GENERATED ALWAYS AS IDENTITY, a INTEGER REFERENCES a)",
                    "CREATE INDEX ON made" + i + " (a)");
        }
        String names = "SELECT md5(string_agg(name, ',' ORDER BY name)) FROM (SELECT relname::text FROM pg_class"
                + " WHERE relname LIKE 'made%' UNION ALL SELECT conname FROM pg_constraint WHERE conname LIKE 'made%') n (name)";
        List<String> found = onAll(i -> {
            try (Connection connection = cluster.connect(i);
                    Statement statement = connection.createStatement();
                    ResultSet row = statement.executeQuery(names)) {
                row.next();
                return row.getString(1);
            }
        });
        assertThat(found).containsOnly(found.get(0));
        assertThat(number(0, "SELECT count(*) FROM pg_class WHERE relname LIKE 'made%1' AND relkind = 'S'"))
                .isZero();
    }

    /** Fifty values by a statement that returns them, none of which was given before. */
    private Work<Boolean> taking(String insert, Set<Long> given) {
        return i -> {
            try (Connection connection = cluster.connect(i);
                    Statement statement = connection.createStatement()) {
                for (int k = 0; k < 50; k++) {
                    assertThat(given.add(number(statement, insert))).isTrue();
                }
                return true;
            }
        };
    }

    /** Also through a copy of the database, and with values that a statement takes faster than they are leased. */
    @Test
    void leasesEndWithTheProtocolAndBeginAgain() throws Exception {
        execute(0, TABLES);
        Set<Long> given = ConcurrentHashMap.newKeySet();
        Work<Boolean> take = taking(INSERTS.get(0), given);
        onAll(take);
        cluster.replica(0).changeProtocol(ReplicationProtocol.PRIMARY_BACKUP);
        int[] primary = {-1};
        Awaitility.await("there is a primary").atMost(PATIENCE).until(() -> {
            for (int i = 0; i < SIZE; i++) {
                if (cluster.replica(i).status().protocol() == ReplicationProtocol.PRIMARY_BACKUP
                        && cluster.replica(i).status().executesHere()) {
                    primary[0] = i;
                }
            }
            return primary[0] >= 0;
        });
        take.at(primary[0]);
        assertThat(number(primary[0], "SELECT setval('down', 500)")).isEqualTo(500);
        assertThat(number(primary[0], "SELECT seqmax FROM pg_sequence WHERE seqrelid = 'a_id_seq'::regclass"))
                .isEqualTo(Integer.MAX_VALUE);
        cluster.replica(primary[0]).changeProtocol(ReplicationProtocol.CERTIFICATION);
        cluster.awaitOnline();
        onAll(take);

        cluster.stop(1);
        deleteAll(1);
        cluster.start(1);
        cluster.awaitOnline();
        onAll(take);
        Awaitility.await("more than were leased").atMost(PATIENCE).until(() -> {
            try {
                execute(1, "INSERT INTO a (n) SELECT i FROM generate_series(1, 50000) i");
                return true;
            } catch (SQLException e) {
                assertThat(e.getSQLState()).as(e.toString()).isEqualTo("40001");
                return false;
            }
        });
        onAll(take);
        cluster.assertIdentical();
        assertThat(number(2, "SELECT count(*) FROM a")).isEqualTo(50000 + given.size());

        cluster.stop(2);
        try (Connection connection = TestServer.connect(database(2));
                Statement statement = connection.createStatement()) {
            new PostgresBinding().uninstall(connection);
            assertThat(number(statement, "SELECT seqmax FROM pg_sequence WHERE seqrelid = 'a_id_seq'::regclass"))
                    .isEqualTo(Integer.MAX_VALUE);
            long last = number(statement, "SELECT max(id) FROM a");
            assertThat(number(statement, INSERTS.get(0))).isGreaterThan(last);
        }
    }

    /** Also of a replica whose clients take no values: {@code pg_dump} writes down what it finds in the catalogue, and {@code gorda uninstall} mends what is restored. */
    @Test
    void aDumpOfAnyReplicaCanBeRestored() throws Exception {
        execute(0, TABLES);
        execute(0, "CREATE SEQUENCE alone START 7 MINVALUE 5 MAXVALUE 900 CYCLE");
        for (int i = 0; i < 2; i++) {
            for (String insert : INSERTS) {
                number(i, insert);
            }
        }
        execute(1, "CREATE SEQUENCE few MAXVALUE 3");
        assertThat(number(0, "SELECT nextval('few')")).isBetween(1L, 3L);
        for (int i = 0; i < 3; i++) {
            number(0, INSERTS.get(0));
        }
        cluster.awaitEverywhere();
        for (int i = 0; i < SIZE; i++) {
            String restored =
                    TestServer.configuration(directory, "restored" + i).location();
            restored = restored.substring(restored.lastIndexOf('/') + 1);
            TestServer.execute("CREATE DATABASE " + restored);
            try (Connection from = TestServer.connect(database(i));
                    Connection to = TestServer.connect(restored);
                    Statement original = from.createStatement();
                    Statement copy = to.createStatement()) {
                for (String table : TABLES) {
                    copy.execute(table);
                }
                copy.execute("CREATE SEQUENCE alone");
                copy.execute("CREATE SEQUENCE few");
                original.execute("SET search_path TO ''");
                for (String table : List.of("a", "b", "c")) {
                    copyRows("public." + table, from, to);
                }
                for (String sequence : List.of("a_id_seq", "b_id_seq", "down", "alone", "few")) {
                    try (ResultSet row = original.executeQuery(
                            "SELECT format('ALTER SEQUENCE %1$s START %2$s RESTART %2$s MINVALUE %3$s"
                                    + " MAXVALUE %4$s; SELECT setval(''%1$s'', %5$s, %6$L)', seqrelid::regclass, seqstart, seqmin, seqmax, last_value,"
                                    + " is_called) FROM pg_sequence, public." + sequence + " WHERE seqrelid = 'public."
                                    + sequence
                                    + "'::regclass")) {
                        assertThat(row.next()).isTrue();
                        copy.execute(row.getString(1));
                    }
                }
                to.setAutoCommit(false);
                new PostgresBinding().install(to);
                for (String table : List.of("generator", "leasing")) {
                    copy.execute("TRUNCATE gorda." + table);
                    copyRows("gorda." + table, from, to);
                }
                to.commit();
                new PostgresBinding().uninstall(to);
                for (String insert : INSERTS.subList(0, 2)) {
                    number(copy, insert);
                }
                assertThat(number(copy, "SELECT nextval('alone')")).isEqualTo(7);
                assertThat(number(
                                copy,
                                "SELECT count(*) FROM pg_sequence WHERE (seqrelid, seqstart, seqmin, seqmax, seqcycle) IN"
                                        + " (('a_id_seq'::regclass, 1, 1, 2147483647, false), ('b_id_seq'::regclass, 1, 1, 9223372036854775807, false),"
                                        + " ('down'::regclass, 1000000, -9223372036854775808, 1000000, false), ('alone'::regclass, 7, 5, 900, true),"
                                        + " ('few'::regclass, 1, 1, 3, false))"))
                        .isEqualTo(5);
                to.commit();
            }
        }
    }

    private static void copyRows(String table, Connection from, Connection to) throws Exception {
        StringWriter rows = new StringWriter();
        from.unwrap(PGConnection.class).getCopyAPI().copyOut("COPY " + table + " TO STDOUT", rows);
        to.unwrap(PGConnection.class)
                .getCopyAPI()
                .copyIn("COPY " + table + " FROM STDIN", new StringReader(rows.toString()));
    }

    /** Which values others had leased was told in the log that is lost. */
    @Test
    void aNewGroupGoesOnBehindTheKeysOfTheOneBefore() throws Exception {
        execute(0, TABLES);
        Work<Boolean> take = taking(INSERTS.get(0), ConcurrentHashMap.newKeySet());
        Work<Boolean> takeIdentities = taking(INSERTS.get(1), ConcurrentHashMap.newKeySet());
        onAll(take);
        onAll(takeIdentities);
        cluster.awaitEverywhere();
        for (int i = 0; i < SIZE; i++) {
            cluster.stop(i);
            deleteDirectory(i);
            try (ReplicaRecovery recovery = ReplicaRecovery.open(
                    "postgresql",
                    TestServer.configuration(directory, "replica" + i).location(),
                    Map.of("user", "postgres"),
                    directory.resolve("replica" + i))) {
                recovery.beginNewGroup();
            }
        }
        for (int i = 0; i < SIZE; i++) {
            cluster.start(i);
        }
        cluster.awaitOnline();
        onAll(take);
        onAll(takeIdentities);
        cluster.assertIdentical();
    }
}
