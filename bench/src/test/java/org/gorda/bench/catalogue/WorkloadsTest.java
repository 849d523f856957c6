package org.gorda.bench.catalogue;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.SplittableRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import org.assertj.core.data.Percentage;
import org.gorda.bench.LoadMatrix;
import org.gorda.bench.LoadReport;
import org.gorda.bench.LoadTest;
import org.gorda.bench.workload.BenchException;
import org.gorda.bench.workload.Evaluator;
import org.gorda.bench.workload.Parameter;
import org.gorda.bench.workload.Parameters;
import org.gorda.bench.workload.TpcB;
import org.gorda.bench.workload.Workload;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.MethodSource;

/** All workloads on a database in memory, without any replication. */
class WorkloadsTest {

    private static final String DATABASE = "jdbc:derby:memory:workloads";
    private static final String URL = DATABASE + ";create=true";

    /** What is smaller here than its standard. */
    private static final Map<String, Map<String, String>> SMALL = Map.of(
            "tpcb", Map.of("accounts", "1000"),
            "evaluator", Map.of("rows", "20"),
            "read-scaling-inverted-keys", Map.of("datarows", "1000", "tables", "2"));

    @BeforeAll
    static void setUp() {
        System.setProperty("derby.stream.error.file", "target/derby.log");
        System.setProperty("derby.locks.deadlockTimeout", "1");
    }

    @AfterEach
    void drop() {
        assertThatThrownBy(() -> DriverManager.getConnection(DATABASE + ";drop=true"))
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08006"));
    }

    static List<String> names() {
        return Workloads.kinds().stream().map(Workload.Kind::name).toList();
    }

    private static Workload workload(String name, Map<String, String> chosen) {
        Workload.Kind kind = Workloads.kinds().stream()
                .filter(each -> each.name().equals(name))
                .findFirst()
                .orElseThrow();
        return kind.make().apply(new Parameters(kind.parameters(), chosen));
    }

    private static Workload small(String name) {
        return workload(name, SMALL.getOrDefault(name, Map.of()));
    }

    private static LoadReport run(Workload workload, int clients, int millis) {
        LoadReport report = LoadTest.of(workload)
                .target(URL)
                .clients(clients)
                .retries(1_000)
                .duration(Duration.ofMillis(millis))
                .run();
        report.requireConsistent();
        return report;
    }

    @ParameterizedTest
    @MethodSource("names")
    void commitsHoldsWhatMustHoldAndRunsAgainOnTheSameTables(String name) throws SQLException {
        // Derby looks for a deadlock when it has lasted a second; until then both clients may wait, in one workload
        // again and again.
        int millis = name.equals("deadlock") ? 3_000 : 2_000;
        LoadReport first = run(small(name), 2, millis);
        try (Connection connection = connect()) {
            Workload other = small(name);
            other.load(connection, (rows, ofAll) -> {});
            other.load(connection, (rows, ofAll) -> {});
            assertThat(other.isLoaded(connection)).isTrue();
            connection.rollback();
        }
        LoadReport second = run(small(name), 2, millis);

        assertThat(first.committed()).as("%s", first).isPositive();
        assertThat(second.committed()).as("%s", second).isPositive();
        // Two clients may make the same list.
        String allowed = name.equals("list-append") ? "23505 error" : "";
        assertThat(List.of(first.aborted(), second.aborted()))
                .allMatch(aborted -> Set.of(allowed).containsAll(aborted.keySet()));
    }

    @ParameterizedTest
    @MethodSource("names")
    void aTransactionThatIsRunAgainDoesTheSame(String name) throws SQLException {
        Workload workload = small(name);
        try (Connection connection = connect()) {
            workload.load(connection, (rows, ofAll) -> {});
            for (int number = 0; number < 20; number++) {
                List<String> once = told(workload, connection, number);
                assertThat(told(workload, connection, number)).isEqualTo(once);
            }
        }
    }

    /** What a transaction tells the database, which takes it back. */
    private static List<String> told(Workload workload, Connection connection, int number) throws SQLException {
        List<String> told = new ArrayList<>();
        workload.run(
                recording(Connection.class, connection, told),
                new Workload.Choices(1, new SplittableRandom(number), "name " + number));
        connection.rollback();
        return told;
    }

    private static <T> T recording(Class<T> type, T target, List<String> told) {
        return type.cast(Proxy.newProxyInstance(
                WorkloadsTest.class.getClassLoader(), new Class<?>[] {type}, (proxy, method, arguments) -> {
                    told.add(method.getName() + Arrays.deepToString(arguments));
                    if (method.getName().equals("commit")) {
                        return null;
                    }
                    try {
                        Object result = method.invoke(target, arguments);
                        if (result instanceof PreparedStatement statement) {
                            return recording(PreparedStatement.class, statement, told);
                        }
                        return result instanceof Statement statement
                                ? recording(Statement.class, statement, told)
                                : result;
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                }));
    }

    @ParameterizedTest
    @CsvSource({"varchar", "blob", "text"})
    void rowsAreAsWideAsTheyAreToBe(String datatype) throws SQLException {
        Map<String, String> wide = Map.of("datatype", datatype, "datawidth", "30000");

        assertThat(run(workload("read-simple", wide), 1, 700).committed()).isPositive();
        assertThat(run(workload("prepared-statement-write", wide), 1, 700).committed())
                .isPositive();
        assertThat(number("SELECT MIN(LENGTH(payload)) FROM read_simple_10x" + datatype + "30000_0"))
                .isEqualTo(30_000);
        assertThat(number("SELECT MIN(LENGTH(payload)) FROM prepared_write_" + datatype + "30000_0"))
                .isEqualTo(30_000);
    }

    @ParameterizedTest
    @CsvSource({"statement-batching", "prepared-statement-write"})
    void allKindsOfBatchesInsertTheSame(String name) throws SQLException {
        for (String type : List.of("statement", "jdbc", "none")) {
            Workload workload = workload(name, Map.of("batch-type", type, "writes-per-xact", "150", "datawidth", "7"));
            try (Connection connection = connect()) {
                workload.load(connection, (rows, ofAll) -> {});
                workload.run(connection, new Workload.Choices(0, new SplittableRandom(1), type));
                assertThat(workload.check(connection))
                        .isEqualTo(new Workload.Check(
                                true,
                                switch (type) {
                                    case "statement" -> "150 rows, of each transaction all";
                                    case "jdbc" -> "300 rows, of each transaction all";
                                    default -> "450 rows, of each transaction all";
                                }));
                connection.rollback();
            }
        }
    }

    @Test
    void aBankWithoutHistoryIsAnotherOne() {
        Map<String, String> without = Map.of("accounts", "1000", "history", "no");
        assertThat(run(small("tpcb"), 1, 100).committed()).isPositive();
        assertThat(run(workload("tpcb", without), 2, 200).committed()).isPositive();
        assertThat(run(small("tpcb"), 1, 100).check().text()).contains("history");
    }

    @Test
    void deadlocksAreThereAndAreToldAsConflicts() {
        LoadReport report = LoadTest.of(
                        workload("deadlock", Map.of("datarows", "8", "operations", "8", "delay-millis", "5")))
                .target(URL)
                .clients(4)
                .duration(Duration.ofSeconds(5))
                .run();

        report.requireConsistent();
        assertThat(report.committed()).isPositive();
        assertThat(report.aborted()).containsOnlyKeys("40001 conflict or change of primary, run again");
        assertThat(report.failures()).isEmpty();
    }

    /** One without tables of its own. */
    private abstract static class Bare implements Workload {
        @Override
        public Kind kind() {
            return new Kind("bare", "Has no tables.", List.of(), parameters -> this);
        }

        @Override
        public void load(Connection connection, Loading progress) {}

        @Override
        public boolean isLoaded(Connection connection) {
            return true;
        }

        @Override
        public void run(Connection connection, Choices choices) throws SQLException {
            connection.commit();
        }
    }

    @Test
    void whatIsCommittedWhileTheClocksAreReadIsNotMeasured() {
        boolean[] read = {false};
        LoadReport report = LoadTest.of(new Bare() {})
                .target(URL)
                .clients(1)
                .rate(100)
                .duration(Duration.ofMillis(500))
                .processorClock(() -> {
                    LockSupport.parkNanos(read[0] ? 0 : TimeUnit.SECONDS.toNanos(1));
                    read[0] = true;
                    return Duration.ZERO;
                })
                .run();

        assertThat(report.committed()).isBetween(1L, 75L);
    }

    @Test
    void whatIsDueAndNotBegunWhenTheTimeIsOverIsTold() {
        AtomicLong begin = new AtomicLong();
        LoadReport report = LoadTest.of(new Bare() {
                    @Override
                    public void run(Connection connection, Choices choices) throws SQLException {
                        begin.compareAndSet(0, System.nanoTime());
                        if (System.nanoTime() - begin.get() > TimeUnit.SECONDS.toNanos(1)) {
                            LockSupport.parkNanos(TimeUnit.SECONDS.toNanos(2)); // into what comes after the end
                        }
                        super.run(connection, choices);
                    }
                })
                .target(URL)
                .clients(2)
                .rate(100)
                .duration(Duration.ofSeconds(2))
                .run();

        assertThat(report.notBegun()).isGreaterThan(20);
        assertThat(report.committed() + report.notBegun())
                .as("what was due, but for what has begun")
                .isGreaterThan(Math.round(report.seconds() * 100) - 5);
        assertThat(report.toText()).contains("not begun   " + report.notBegun() + "; latency is a lower bound");
    }

    /** As another replica's, which are applied late. */
    @Test
    void whatIsCommittedDuringACheckIsSeenByAllOfItOrByNothing() throws Exception {
        try (Connection other = connect();
                Statement statement = other.createStatement()) {
            statement.execute("CREATE TABLE late (id INTEGER PRIMARY KEY)");
            other.commit();
            Thread late = new Thread(() -> {
                try {
                    statement.execute("INSERT INTO late VALUES (1)");
                    other.commit();
                } catch (SQLException e) {
                    throw new AssertionError(e);
                }
            });
            LoadReport report = LoadTest.of(new Bare() {
                        @Override
                        public Check check(Connection connection) throws SQLException {
                            long before = count(connection);
                            late.start();
                            try {
                                late.join(500);
                            } catch (InterruptedException e) {
                                throw new AssertionError(e);
                            }
                            return new Check(count(connection) == before, "");
                        }
                    })
                    .target(URL)
                    .clients(1)
                    .duration(Duration.ofMillis(100))
                    .run();

            late.join();
            assertThat(report.check().consistent()).isTrue();
            assertThat(count(other)).isEqualTo(1);
            other.rollback();
        }
    }

    /** Which sums alone do not show. */
    @Test
    void checksumsShowWhatIsOnAnotherAccount() throws SQLException {
        try (Connection connection = connect()) {
            small("tpcb").load(connection, (rows, ofAll) -> {});
            Map<String, Long> before = TpcB.checksums(connection);
            execute(connection, "UPDATE accounts SET abalance = 1 WHERE aid = 1");
            execute(connection, "UPDATE accounts SET abalance = -1 WHERE aid = 2");
            Map<String, Long> after = TpcB.checksums(connection);

            assertThat(TpcB.sums(connection).equal()).isTrue();
            assertThat(before).containsOnlyKeys("branches", "tellers", "accounts", "history");
            assertThat(after.get("accounts")).isNotEqualTo(before.get("accounts"));
            assertThat(after.get("tellers")).isEqualTo(before.get("tellers"));
            connection.rollback();
            assertThat(TpcB.checksums(connection)).isEqualTo(before);
            connection.rollback();
        }
    }

    private static long count(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT COUNT(*) FROM late")) {
            row.next();
            return row.getLong(1);
        }
    }

    @Test
    void whatFailsByNoRefusalIsToldByItself() {
        Workload nowhere = new Bare() {
            @Override
            public void run(Connection connection, Choices choices) throws SQLException {
                if (choices.random().nextBoolean()) {
                    throw new SQLException("as pools fail");
                }
                try (Statement statement = connection.createStatement()) {
                    statement.executeUpdate("DELETE FROM NOWHERE");
                }
            }
        };
        LoadReport report = LoadTest.of(nowhere)
                .target(URL)
                .clients(1)
                .duration(Duration.ofSeconds(1))
                .run();

        assertThat(report.committed()).isZero();
        assertThat(report.failures()).containsOnlyKeys("no SQLSTATE, error", "42X05 error");
        assertThat(report.failures()).isEqualTo(report.aborted());
    }

    @Test
    void aFifthOfTheHotSpotsTuplesTakesFourOfFiveAccesses() throws SQLException {
        Workload workload = workload("hot-spot", Map.of("updates", "100"));
        try (Connection connection = connect()) {
            workload.load(connection, (rows, ofAll) -> {});
            for (int number = 0; number < 2_000; number++) {
                workload.run(connection, new Workload.Choices(0, new SplittableRandom(number), "any"));
            }
        }
        long all = number("SELECT SUM(changes) FROM hot_spot_100xvarchar100_0");
        long hot = number("SELECT SUM(changes) FROM hot_spot_100xvarchar100_0 WHERE id < 20");

        assertThat(all / 2_000.0).isBetween(5.8, 6.2);
        assertThat(hot / (double) all).isBetween(0.78, 0.82);
        assertThat(number("SELECT MIN(changes) FROM hot_spot_100xvarchar100_0")).isPositive();
    }

    @Test
    void neighboursInTheInvertedIndexAreAStepApart() throws SQLException {
        try (Connection connection = connect()) {
            workload("read-scaling-inverted-keys", Map.of("datarows", "103", "select-rows", "5", "step", "7"))
                    .load(connection, (rows, ofAll) -> {});
        }
        String table = "read_inverted7_103xvarchar100_0";

        assertThat(number("SELECT COUNT(DISTINCT num) FROM " + table)).isEqualTo(103);
        assertThat(number("SELECT MAX(num) FROM " + table)).isEqualTo(102);
        assertThat(number("SELECT COUNT(*) FROM " + table + " a JOIN " + table
                        + " b ON b.num = a.num + 1 WHERE b.id - a.id = 7"))
                .isEqualTo(103 - 7);
    }

    @Test
    void loadingGoesOnWhereItWasInterrupted() throws SQLException {
        Workload workload = workload("read-simple", Map.of("datarows", "2500", "tables", "2"));
        try (Connection connection = connect()) {
            assertThatThrownBy(() -> workload.load(connection, (rows, ofAll) -> {
                        if (rows == 3_500) {
                            throw new IllegalStateException("interrupted");
                        }
                    }))
                    .hasMessage("interrupted");
            connection.rollback();
            assertThat(workload.isLoaded(connection)).isFalse();
            List<Long> told = new ArrayList<>();
            workload.load(connection, (rows, ofAll) -> told.add(rows));

            assertThat(told).containsExactly(4_500L, 5_000L);
            assertThat(workload.isLoaded(connection)).isTrue();
            assertThat(workload.check(connection).consistent()).isTrue();
            connection.rollback();
        }
    }

    @ParameterizedTest
    @CsvSource({"read-simple, read_simple_10xvarchar10_0", "evaluator, evaluator_left_20"})
    void tablesWithOtherRowsAreRefused(String name, String table) throws SQLException {
        try (Connection connection = connect()) {
            small(name).load(connection, (rows, ofAll) -> {});
            execute(connection, "DELETE FROM " + table + " WHERE id = 3");
            assertThatThrownBy(() -> small(name).load(connection, (rows, ofAll) -> {}))
                    .isInstanceOf(BenchException.class)
                    .hasMessageContainingAll(table, "drop it");
            connection.rollback();
        }
    }

    @ParameterizedTest
    @CsvSource({
        "read-write, read_write_1000xvarchar10_0, UPDATE % SET num = num + 1 WHERE id = 5",
        "write-simple, write_simple_varchar100_0, 'INSERT INTO % VALUES (''x'', 0, 2, ''x'')'",
        "evaluator, evaluator_product_20, UPDATE % SET num = num + 1 WHERE left_id = 0",
        "bank, \"The Bank\".\"Account\", UPDATE % SET \"Balance\" = 0 WHERE ID = 3",
        "bank, \"The Bank\".\"Transfer\", 'INSERT INTO % VALUES (1, 1, 2, 3)'",
        "list-append, LISTS, 'INSERT INTO % VALUES (1, 1, '',4,5,4'')'"
    })
    void whatMustHoldIsSeenToBeBroken(String name, String table, String change) throws SQLException {
        Workload workload = small(name);
        try (Connection connection = connect()) {
            workload.load(connection, (rows, ofAll) -> {});
            assertThat(workload.check(connection).consistent()).isTrue();
            execute(connection, change.replace("%", table));
            Workload.Check check = workload.check(connection);

            assertThat(check.consistent()).as(check.text()).isFalse();
            connection.rollback();
        }
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = ';',
            value = {
                "read-simple; datatype=char; datatype is char but must be varchar or blob or text",
                "read-simple; datawidth=32001; datawidth is 32001 but must be 1 to 32000 with datatype varchar",
                "read-scaling-aggregates; select-rows=201; select-rows is 201 but must be 1 to 200",
                "read-scaling-inverted-keys; step=10001; step is 10001 but must be 1 to 10000",
                "deadlock; operations=21; operations is 21 but must be 1 to 20",
                "hot-spot; length-spread=6; length-spread is 6 but must be 0 to 5",
                "hot-spot; updates=101; updates is 101 but must be 0 to 100",
                "evaluator; inserts=90; inserts, updates and deletes are 120 but must be 0 to 100",
                "evaluator; read-size=101; read-size is 101 but must be 1 to 100",
                "bank; isolation=none; isolation is none but must be mixed or read-committed"
            })
    void valuesThatCannotBeAreRefusedInOneLine(String name, String value, String line) throws SQLException {
        connect().close();
        String[] parts = value.split("=", -1);
        assertThatThrownBy(() -> workload(name, Map.of(parts[0], parts[1])))
                .isInstanceOf(BenchException.class)
                .hasMessageContaining(line)
                .hasMessageNotContaining("\n");
    }

    @Test
    void groupsOfClientsHaveTheirOwnSharesAndTimesOnTheSameTables() throws SQLException {
        connect().close();
        LoadReport report = matrix("readers: clients=3 inserts=0 updates=0 deletes=0 think=1ms;"
                        + " writers: clients=2 updates=60 ramp-step=1 ramp-every=200ms ; one: rate=20 clients=1")
                .run(soFar -> {})
                .runs()
                .get(0);

        report.requireConsistent();
        assertThat(report.clients()).isEqualTo(6);
        assertThat(report.ratePerS()).isNull();
        assertThat(report.groups()).extracting(LoadReport.Group::name).containsExactly("readers", "writers", "one");
        assertThat(report.groups()).extracting(LoadReport.Group::clients).containsExactly(3, 2, 1);
        assertThat(report.groups()).allMatch(group -> group.committed() > 0);
        assertThat(report.groups().stream()
                        .mapToLong(LoadReport.Group::committed)
                        .sum())
                .isCloseTo(report.committed(), Percentage.withPercentage(5));
        // An open loop of 20/s for a second and a half, and whatever it was behind.
        assertThat(report.groups().get(2).committed()).isLessThan(60);
        assertThat(report.parameters()).containsKey("groups");
    }

    private static LoadMatrix matrix(String groups) {
        return new LoadMatrix(
                Evaluator.KIND,
                Map.of(
                        "url",
                        URL,
                        "rows",
                        "20",
                        "warmup",
                        "0s",
                        "duration",
                        "1500ms",
                        "retries",
                        "1000",
                        "groups",
                        groups),
                line -> {},
                share -> {},
                histogram -> {});
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '#',
            value = {
                "readers clients=3 # groups has 'readers clients=3' but must be name: option=value",
                "a: clients=1; # groups has '' but must be name: option=value",
                "a: clients # group a has 'clients' but can have only option=value",
                "a: url=x # group a has 'url=x' but can have only option=value, with clients, ramp-step, ramp-every, think",
                "a: clients=1; a: clients=2 # groups has 'a' twice",
                "a: updates=90 # inserts, updates and deletes are 110 but must be 0 to 100",
                "a: clients=5000; b: clients=5000 # clients is 5000, 10000 of all groups, but must be 1 to 9999"
            })
    void groupsThatCannotBeAreRefusedInOneLine(String groups, String line) throws SQLException {
        connect().close();
        assertThatThrownBy(() -> matrix(groups))
                .isInstanceOf(BenchException.class)
                .hasMessageContaining(line)
                .hasMessageNotContaining("\n");
    }

    @Test
    void ofTheDocumentationIsTrue() throws IOException, SQLException {
        connect().close();
        Path file = Path.of("").toAbsolutePath();
        while (!Files.exists(file.resolve("LICENSE"))) {
            file = file.getParent();
        }
        file = file.resolve("docs").resolve("load-tests.md");
        String begin = "<!-- Written by WorkloadsTest, from the workloads. -->\n";
        String before = Files.readString(file);
        assertThat(before).contains(begin);
        String after = before.substring(0, before.indexOf(begin) + begin.length()) + documentation();
        if (!after.equals(before)) {
            Files.writeString(file, after);
        }
        assertThat(before)
                .as("%s was out of date and is right now: commit it", file)
                .isEqualTo(after);
    }

    private static String documentation() {
        StringBuilder text = new StringBuilder();
        Workload.Kind any = Workloads.kinds().get(0);
        List<Parameter> common = new ArrayList<>(LoadMatrix.parameters(any));
        common.removeAll(any.parameters());
        text.append("\n### All workloads\n");
        parameters(text, common);
        for (Workload.Kind kind : Workloads.kinds()) {
            text.append("\n### ")
                    .append(kind.name())
                    .append("\n\n")
                    .append(kind.text())
                    .append('\n');
            parameters(text, kind.parameters());
        }
        return text.toString();
    }

    private static void parameters(StringBuilder text, List<Parameter> parameters) {
        text.append("\n| Option | Values | Default | |\n|---|---|---|---|\n");
        for (Parameter each : parameters) {
            text.append(String.format(
                    "| `--%s` | %s | %s | %s |\n",
                    each.name(), each.range().replace("|", ", "), each.standard(), each.text()));
        }
    }

    private static Connection connect() throws SQLException {
        Connection connection = DriverManager.getConnection(URL);
        connection.setAutoCommit(false);
        return connection;
    }

    private static void execute(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate(sql);
        }
    }

    private static long number(String query) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            long number = row.getLong(1);
            connection.rollback();
            return number;
        }
    }
}
