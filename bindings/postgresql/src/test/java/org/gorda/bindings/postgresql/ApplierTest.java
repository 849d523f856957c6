package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.lang.management.ManagementFactory;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Properties;
import java.util.Random;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Consumer;
import java.util.stream.IntStream;
import org.gorda.gapi.Content;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.Generator;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.WriteSetWriter;
import org.gorda.gapi.tck.MetaLevel;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What is gathered and sent together is done as if it had come one by one, and what is wrong with one row of it is told of that row. */
class ApplierTest {

    private static final int ACCOUNTS = 1000;
    private static final int BRANCHES = 4;

    /** So many for each size of a segment; {@code -Dgorda.applied=3000} or more to measure. */
    private static final int TRANSACTIONS = Integer.getInteger("gorda.applied", 400);

    private static final int ROUNDS = Integer.getInteger("gorda.rounds", 1);

    @TempDir
    Path directory;

    private final Random random = new Random(7);
    private PostgresDatabase database;
    private PostgresApplier applier;
    private long index;
    private long entries;

    @BeforeEach
    void open() throws SQLException {
        TestServer.dropOthers(directory);
        database = (PostgresDatabase)
                new PostgresBinding().open(TestServer.configuration(directory, "bank"), new MetaLevel());
        execute(
                "CREATE TABLE public.account (id integer PRIMARY KEY, bid integer, balance bigint, filler char(80))",
                "CREATE TABLE public.branch (id integer PRIMARY KEY, balance bigint, filler char(84))",
                "CREATE TABLE public.entry (id bigint PRIMARY KEY, aid integer, delta bigint, at timestamp, note text)",
                "CREATE SEQUENCE public.numbers",
                "INSERT INTO public.account SELECT i, 1, 0, '' FROM generate_series(1, " + ACCOUNTS + ") i",
                "INSERT INTO public.branch SELECT i, 0, '' FROM generate_series(1, " + BRANCHES + ") i");
        applier = (PostgresApplier) database.applier();
    }

    @AfterEach
    void close() {
        database.close();
    }

    /** Past the applier, and not captured. */
    private void execute(String... statements) throws SQLException {
        try (Connection connection = database.server().connect(" -c session_replication_role=replica")) {
            SqlSession session = SqlSession.of(connection);
            for (String sql : statements) {
                session.query(sql);
            }
            database.captureNewTables(session);
        }
    }

    private List<@Nullable String> row(String query) throws SQLException {
        try (Connection connection = database.server().connect("")) {
            return SqlSession.of(connection).query(query).get(0);
        }
    }

    private TableShape table(String name) {
        return database.tables().stream()
                .filter(table -> table.name().equals(name))
                .findFirst()
                .orElseThrow();
    }

    private WriteSet writeSet(Consumer<WriteSetWriter> changes) {
        WriteSetWriter writer = database.newWriter();
        changes.accept(writer);
        return WriteSet.decode(writer.finish().bytes(), Content.EMPTY);
    }

    private static void update(WriteSetWriter writer, TableShape table, int id, int column, long value) {
        writer.update(table);
        writer.putInteger(SqlType.INTEGER, id);
        writer.changed(1);
        writer.column(column);
        writer.putInteger(SqlType.BIGINT, value);
    }

    private static void insert(WriteSetWriter writer, TableShape entry, long id, int account, long delta) {
        writer.insert(entry, 5);
        writer.putInteger(SqlType.BIGINT, id);
        writer.putInteger(SqlType.INTEGER, account);
        writer.putInteger(SqlType.BIGINT, delta);
        writer.putTimestamp(2026, 11, 24, 3600, 123_456_000);
        if (id % 2 == 0) {
            writer.putNull();
        } else {
            writer.putString(SqlType.LONGVARCHAR, "ä'\\\"{},\n" + id);
        }
    }

    private void commit() {
        applier.commit(new StoredPosition(1, 2, 3, ++index), false);
    }

    private void receive(long last) {
        applier.apply(writeSet(writer -> writer.generated(false, "public", "numbers", last)));
        applier.leaseGenerators(true);
        commit();
    }

    private @Nullable String next() throws SQLException {
        return row("SELECT next FROM gorda.generator WHERE relid = 'public.numbers'::regclass")
                .get(0);
    }

    /** Who receives rows is told, in the transaction that begins leases, where the others' generators are; and once more if it lacks too much later. */
    @Test
    void generatorsAreLeasedBehindWhatOthersHaveTakenBefore() throws Exception {
        receive(100);
        assertThat(next()).isEqualTo("101");
        receive(200);
        assertThat(next()).isEqualTo("201");
        receive(50);
        assertThat(next()).as("one is left out").isEqualTo("202");
        applier.leaseGenerators(false);
        commit();
        assertThat(row("SELECT nextval('public.numbers')")).containsExactly("202");
    }

    @Test
    void segmentsOfAnySizeLeaveTheSame() throws Exception {
        TableShape account = table("account");
        TableShape branch = table("branch");
        TableShape entry = table("entry");
        long[] accounts = new long[ACCOUNTS + 1];
        long[] branches = new long[BRANCHES + 1];
        for (int round = 0; round < ROUNDS; round++) {
            for (int size : new int[] {1, 3, 8, 32, 400}) {
                List<WriteSet> writeSets = new ArrayList<>();
                for (int i = 0; i < TRANSACTIONS; i++) {
                    int id = 1 + random.nextInt(ACCOUNTS);
                    int of = 1 + random.nextInt(BRANCHES);
                    long delta = random.nextInt(1000);
                    accounts[id] += delta;
                    branches[of] += delta;
                    writeSets.add(writeSet(writer -> {
                        update(writer, account, id, 3, accounts[id]);
                        update(writer, branch, of, 2, branches[of]);
                        insert(writer, entry, ++entries, id, delta);
                    }));
                }
                apply(writeSets, size);
            }
        }
        long sum =
                IntStream.rangeClosed(1, ACCOUNTS).mapToLong(id -> accounts[id]).sum();
        assertThat(
                        row(
                                "SELECT (SELECT sum(balance) FROM public.account), (SELECT sum(balance) FROM public.branch),"
                                        + " (SELECT sum(delta) FROM public.entry), (SELECT count(*) FROM public.entry),"
                                        + " (SELECT count(*) FROM public.entry WHERE note = E'\u00e4\\'\\\\\"{},\\n' || id),"
                                        + " (SELECT count(*) FROM public.entry WHERE note IS NULL AND at = '2026-11-24 01:00:00.123456')"))
                .containsExactly("" + sum, "" + sum, "" + sum, "" + entries, "" + (entries + 1) / 2, "" + entries / 2);
        for (int id = 1; id <= 10; id++) {
            assertThat(row("SELECT balance FROM public.account WHERE id = " + id))
                    .containsExactly("" + accounts[id]);
        }
        assertThat(row("SELECT max(idx) FROM gorda.position")).containsExactly("" + index);
    }

    private void apply(List<WriteSet> writeSets, int size) throws IOException, SQLException {
        double serverMicros = serverMicros();
        double cpuMicros = cpuMicros();
        for (int i = 0; i < writeSets.size(); i++) {
            applier.apply(writeSets.get(i));
            if ((i + 1) % size == 0 || i + 1 == writeSets.size()) {
                applier.execute();
                commit();
            }
        }
        cpuMicros = cpuMicros() - cpuMicros;
        serverMicros = serverMicros() - serverMicros;
        System.out.printf(
                Locale.ROOT,
                "segments of %3d: %6.1f us of the server and %6.1f us of this thread for each transaction%n",
                size,
                serverMicros / writeSets.size(),
                cpuMicros / writeSets.size());
    }

    private static double cpuMicros() {
        return ManagementFactory.getThreadMXBean().getCurrentThreadCpuTime() / 1e3;
    }

    /** Of the applier's process on the server, where that is on this machine and it is Linux; otherwise 0. */
    private double serverMicros() throws IOException, SQLException {
        long process = SqlSession.of(applier.reading()).number("SELECT pg_backend_pid()");
        applier.rollback();
        Path times = Path.of("/proc/" + process + "/schedstat");
        return Files.exists(times) ? Long.parseLong(Files.readString(times).split(" ", -1)[0]) / 1e3 : 0;
    }

    @Test
    void theRowThatIsMissingIsNamedAmongAllThatAreSentTogether() throws SQLException {
        TableShape account = table("account");
        TableShape branch = table("branch");
        execute("DELETE FROM public.branch WHERE id = 2");
        for (int id = 1; id <= 3; id++) {
            int of = id;
            applier.apply(writeSet(writer -> {
                update(writer, account, of, 3, 5);
                update(writer, branch, of, 2, 5);
            }));
        }
        assertThatThrownBy(applier::execute)
                .isInstanceOf(DivergenceException.class)
                .hasMessageContaining("\"public\".\"branch\" key (2)");
        applier.rollback();
        assertThat(row("SELECT sum(balance) FROM public.account")).containsExactly("0");
        applier.apply(writeSet(writer -> update(writer, account, 1, 3, 7)));
        commit();
        assertThat(row("SELECT sum(balance) FROM public.account")).containsExactly("7");
    }

    @Test
    void theRowThatIsThereAlreadyIsNamedAmongAllThatAreSentTogether() throws SQLException {
        TableShape account = table("account");
        TableShape entry = table("entry");
        execute("INSERT INTO public.entry (id) VALUES (2)");
        applier.apply(writeSet(writer -> {
            update(writer, account, 1, 3, 5);
            insert(writer, entry, 1, 1, 5);
            insert(writer, entry, 2, 1, 5);
            insert(writer, entry, 3, 1, 5);
        }));
        assertThatThrownBy(this::commit)
                .isInstanceOf(DivergenceException.class)
                .hasMessageContaining("\"public\".\"entry\" key (2)");
        applier.rollback();
        assertThat(row("SELECT sum(balance), (SELECT count(*) FROM public.entry) FROM public.account"))
                .containsExactly("0", "1");
    }

    private String settings() throws SQLException {
        try (Connection connection = database.server().connect("")) {
            return SessionSettings.of(SqlSession.of(connection));
        }
    }

    @Test
    void aSchemaChangeThatIsRolledBackWithItsRowsCanComeAgain() throws SQLException {
        TableShape account = table("account");
        List<TableShape.Column> columns = new ArrayList<>(account.columns());
        columns.add(new TableShape.Column("more", SqlType.BIGINT));
        TableShape changed = new TableShape("public", "account", columns, account.key());
        WriteSet before = writeSet(writer -> update(writer, account, 1, 3, 5));
        String settings = settings();
        WriteSet change = writeSet(writer -> writer.statement(
                "postgres", "", settings, "ALTER TABLE public.account ADD COLUMN more bigint", List.of()));
        WriteSet behind = writeSet(writer -> update(writer, changed, 1, 5, 6));
        for (int times = 0; times < 3; times++) {
            applier.apply(before);
            applier.execute();
            applier.apply(change);
            applier.apply(behind);
            applier.execute();
            applier.rollback();
            assertThat(row("SELECT to_jsonb(a)->>'balance', to_jsonb(a)->>'more' FROM public.account a WHERE id = 1"))
                    .containsExactly("0", null);
        }
        applier.apply(before);
        applier.apply(change);
        applier.apply(behind);
        commit();
        assertThat(row("SELECT balance, more FROM public.account WHERE id = 1")).containsExactly("5", "6");
        applier.settle(Map.of(new Generator(false, "public", "numbers"), OptionalLong.of(50)));
        applier.apply(behind);
        commit();
        assertThat(row("SELECT nextval('public.numbers')")).containsExactly("50");
    }

    /** Its membership was revoked when this replica had not come so far. */
    @Test
    void aSchemaChangeByARoleThatItsUserMayNotTakeAnyMoreIsMade() throws SQLException {
        execute(
                "DROP ROLE IF EXISTS applier_member, applier_owner",
                "CREATE ROLE applier_member",
                "CREATE ROLE applier_owner",
                "GRANT CREATE ON SCHEMA public TO applier_owner");
        String settings = settings();
        applier.apply(writeSet(writer -> {
            writer.statement(
                    "applier_member", "applier_owner", settings, "CREATE TABLE public.owned (id integer)", List.of());
            writer.statement("postgres", "", settings, "CREATE ROLE applier_other; DROP ROLE applier_other", List.of());
        }));
        commit();
        assertThat(row("SELECT tableowner FROM pg_tables WHERE tablename = 'owned'"))
                .containsExactly("applier_owner");
        execute(
                "DROP TABLE public.owned",
                "REVOKE CREATE ON SCHEMA public FROM applier_owner",
                "DROP ROLE applier_member, applier_owner");
    }

    @Test
    void notAllKindsOfUpdatesStayPrepared() throws SQLException {
        int columns = 11;
        execute(
                "CREATE TABLE public.wide (id integer PRIMARY KEY"
                        + String.join(
                                "",
                                IntStream.range(0, columns)
                                        .mapToObj(i -> ", c" + i + " bigint")
                                        .toList())
                        + ")",
                "INSERT INTO public.wide VALUES (1)");
        TableShape wide = table("wide");
        for (int kind = 1; kind < 1 << columns; kind++) {
            int of = kind;
            applier.apply(writeSet(writer -> {
                writer.update(wide);
                writer.putInteger(SqlType.INTEGER, 1);
                writer.changed(Integer.bitCount(of));
                for (int i = 0; i < columns; i++) {
                    if ((of & 1 << i) != 0) {
                        writer.column(2 + i);
                        writer.putInteger(SqlType.BIGINT, of);
                    }
                }
            }));
            if (kind % 10 == 0) {
                applier.execute();
            }
        }
        commit();
        assertThat(row("SELECT c0, c1, c9, c10 FROM public.wide")).containsExactly("2047", "2047", "2047", "2047");
        try {
            assertThat(SqlSession.of(applier.reading()).number("SELECT count(*) FROM pg_prepared_statements"))
                    .isLessThan(1100);
        } finally {
            applier.rollback();
        }
    }

    /** Who makes a table's file longer has a lock meanwhile, which all wait for who do so too, but not until he has ended his transaction. */
    @Test
    void whoMakesATableLongerIsNotInTheWay() throws Exception {
        AtomicLong ids = new AtomicLong();
        AtomicBoolean ended = new AtomicBoolean();
        List<Future<Long>> running = new ArrayList<>();
        ExecutorService clients = Executors.newCachedThreadPool();
        try {
            for (int i = 0; i < 4; i++) {
                running.add(clients.submit(() -> {
                    long last = 0;
                    try (Connection connection = database.connect(new Properties());
                            Statement statement = connection.createStatement()) {
                        while (!ended.get()) {
                            last = ids.addAndGet(20);
                            statement.execute("INSERT INTO public.entry SELECT i, 1, 1, NULL, repeat('x', 1900)"
                                    + " FROM generate_series(" + (last - 19) + ", " + last + ") i");
                        }
                    }
                    return last;
                }));
            }
            TableShape entry = table("entry");
            String wide = "x".repeat(1900);
            long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(4);
            while (System.nanoTime() < end) {
                applier.apply(writeSet(writer -> {
                    for (int i = 0; i < 100; i++) {
                        writer.insert(entry, 5);
                        writer.putInteger(SqlType.BIGINT, ids.incrementAndGet());
                        writer.putInteger(SqlType.INTEGER, 1);
                        writer.putInteger(SqlType.BIGINT, 1);
                        writer.putNull();
                        writer.putString(SqlType.LONGVARCHAR, wide);
                    }
                }));
                applier.execute();
                applier.rollback();
            }
            ended.set(true);
            for (Future<Long> client : running) {
                assertThat(client.get(10, TimeUnit.SECONDS)).isPositive();
            }
        } finally {
            clients.shutdownNow();
        }
    }
}
