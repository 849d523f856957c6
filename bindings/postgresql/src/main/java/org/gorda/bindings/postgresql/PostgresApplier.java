package org.gorda.bindings.postgresql;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.gorda.bindings.postgresql.wire.OwnStatement;
import org.gorda.bindings.postgresql.wire.SqlStatement;
import org.gorda.gapi.Applier;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.RowKey;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.WriteSetReader;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Brings write sets into the database by SQL, in a session in which no trigger fires and no foreign key acts. What is done to one table is done in its order,
 * gathered as long as it is the same statement; tables do not matter to each other there, and nobody sees anything of it before the commit. Confined to one
 * thread.
 */
final class PostgresApplier implements Applier {

    private static final Logger LOG = LoggerFactory.getLogger(PostgresApplier.class);

    /** An index and its table contradict each other. */
    private static final String CONTRADICTION = "XX002";

    private static final String NO_SUCH_FUNCTION = "42883";

    private static final Pattern MAKES_OR_DROPS_A_ROLE =
            Pattern.compile("(?is)(CREATE|DROP)\\s+(ROLE|USER|GROUP)\\s+(?!MAPPING\\b).*");

    /** A role is there already; it is not there, or has something in another database of the server. */
    private static final Set<String> ROLE_STAYS = Set.of("CREATE 42710", "DROP 42704", "DROP 2BP01");

    /** Keys are compared by operators, of which types of extensions have their own, in the schemas of the extensions. */
    private static final String SEE_OPERATORS = "SELECT set_config('search_path', concat('pg_catalog, public, ',"
            + " string_agg(quote_ident(nspname) || ', ', '' ORDER BY nspname), 'pg_temp'), false) FROM pg_namespace"
            + " WHERE nspname <> 'pg_catalog' AND oid IN (SELECT oprnamespace FROM pg_operator WHERE oprname = '=')";

    /** So many rows, or bytes of them, are sent together at most. */
    private static final int BATCH_ROWS_MAX = 1000;

    private static final long BATCH_BYTES_MAX = 1 << 20;

    private final PostgresDatabase database;
    private final Connection connection;
    private final LockWatch watch;

    /** Stores a position and commits, in one round trip; prepared on the server. */
    private final PreparedStatement ends;

    /** By schema and name; those that this transaction has changed have their batches. */
    private final Map<String, Batch> tables = new LinkedHashMap<>();

    /** What others have taken from generators since the last commit. */
    private final Map<Generator, Long> generated = new HashMap<>();

    /** What they were told to go on behind, since the last schema change. */
    private final Map<Generator, Long> known = new HashMap<>();

    private long schemaChangesSeen;

    /** Whether the transaction changes the schema. */
    private boolean changesSchema;

    /** Whether the values of generators are leased from this transaction on; null if it does not change that. */
    private @Nullable Boolean leases;

    PostgresApplier(PostgresDatabase database) throws SQLException {
        this.database = database;
        this.connection = database.server().connect(Server.APPLIES);
        connection.setAutoCommit(false);
        SqlSession session = SqlSession.of(connection);
        session.query(SEE_OPERATORS);
        long backend = session.number("SELECT pg_backend_pid()");
        connection.commit();
        this.ends = connection.prepareStatement("INSERT INTO gorda.position VALUES (?, ?, ?, ?, ?, ?); COMMIT");
        this.watch = new LockWatch(database, Math.toIntExact(backend));
    }

    /** What is done on the connection, during which those in the way give way. */
    private interface Work<T> {
        T run() throws SQLException;
    }

    private <T> T first(@Nullable RowKey row, Work<T> work) throws SQLException {
        watch.begin(database.listener().makeWay(row));
        try {
            return work.run();
        } finally {
            watch.end();
        }
    }

    /** Changes of one table's rows by the same statement, gathered in their order. */
    private final class Batch {

        private final TableShape table;
        private final List<RowKey> rows = new ArrayList<>();
        private String sql = "";
        private @Nullable PreparedStatement statement;
        private long bytes;

        Batch(TableShape table) {
            this.table = table;
        }

        void add(String next, List<@Nullable Object> values, List<@Nullable Object> key) throws SQLException {
            if (!next.equals(sql)) {
                close();
                statement = connection.prepareStatement(next);
                sql = next;
            }
            PreparedStatement open = statement;
            if (open == null) {
                throw new IllegalStateException("no statement for " + next);
            }
            for (int i = 0; i < values.size(); i++) {
                Values.set(open, i + 1, values.get(i));
                bytes += Values.size(values.get(i));
            }
            open.addBatch();
            rows.add(RowKey.of(table, key));
            if (rows.size() == BATCH_ROWS_MAX || bytes > BATCH_BYTES_MAX) {
                flush();
            }
        }

        void flush() throws SQLException {
            PreparedStatement open = statement;
            if (open == null || rows.isEmpty()) {
                return;
            }
            List<RowKey> changed = List.copyOf(rows);
            rows.clear();
            bytes = 0;
            int[] counts = first(changed.get(0), open::executeBatch);
            for (int i = 0; i < counts.length; i++) {
                if (counts[i] != 1) {
                    throw new DivergenceException(
                            "there is not one row " + changed.get(i) + " here, which was changed elsewhere: " + sql);
                }
            }
        }

        void close() throws SQLException {
            flush();
            PreparedStatement open = statement;
            statement = null;
            sql = "";
            if (open != null) {
                open.close();
            }
        }
    }

    @Override
    public void apply(WriteSet writeSet) {
        WriteSetReader in = new WriteSetReader(writeSet);
        Batch[] batches = new Batch[in.tables().size()];
        try {
            forgetTablesThatWereChanged();
            for (WriteSetReader.Kind kind = in.next(); kind != null; kind = in.next()) {
                switch (kind) {
                    case INSERT -> insert(in, batch(in, batches));
                    case UPDATE -> update(in, batch(in, batches));
                    case DELETE -> delete(in, batch(in, batches));
                    case STATEMENT -> {
                        statement(in);
                        Arrays.fill(batches, null);
                    }
                    case END_OF_STATEMENT -> {}
                    case GENERATED -> {
                        Generator generator = new Generator(in.readBoolean(), in.readText(), in.readText());
                        long last = in.readInteger();
                        if (!Long.valueOf(last).equals(known.get(generator))) {
                            generated.put(generator, last);
                        }
                    }
                }
            }
        } catch (SQLException e) {
            throw failed("a write set cannot be applied", e);
        }
    }

    private ReflectionException failed(String what, SQLException e) {
        database.notice(e);
        String message = what + " in " + database.server() + ": " + e.getMessage();
        boolean violates = e.getSQLState() != null && e.getSQLState().startsWith("23");
        return violates ? new DivergenceException(message, e) : new ReflectionException(message, e);
    }

    private Batch batch(WriteSetReader in, Batch[] batches) throws SQLException {
        int index = in.tableIndex();
        if (batches[index] != null) {
            return batches[index];
        }
        WriteSetReader.Table named = in.tables().get(index);
        Batch batch = tables.get(named.toString());
        if (batch == null || batch.table.fingerprint() != named.fingerprint()) {
            if (batch != null) {
                batch.close();
            }
            TableShape found = PostgresDatabase.table(SqlSession.of(connection), named.schema(), named.name());
            if (found == null || found.fingerprint() != named.fingerprint()) {
                throw new DivergenceException("rows of " + named + " were changed elsewhere, but here "
                        + (found == null
                                ? "is no such table"
                                : "it has other columns or another primary key: " + found.columns() + " "
                                        + found.key()));
            }
            batch = new Batch(found);
            tables.put(named.toString(), batch);
        }
        batches[index] = batch;
        return batch;
    }

    private static List<@Nullable Object> values(WriteSetReader in, int count) {
        List<@Nullable Object> values = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            values.add(Values.read(in));
        }
        return values;
    }

    private static void insert(WriteSetReader in, Batch batch) throws SQLException {
        TableShape table = batch.table;
        List<@Nullable Object> values = values(in, in.count());
        List<@Nullable Object> key = new ArrayList<>();
        table.key().forEach(position -> key.add(values.get(position - 1)));
        batch.add(
                "INSERT INTO " + PostgresDatabase.withColumns(table) + " OVERRIDING SYSTEM VALUE VALUES ("
                        + "?, ".repeat(values.size() - 1) + "?)",
                values,
                key);
    }

    private static void update(WriteSetReader in, Batch batch) throws SQLException {
        TableShape table = batch.table;
        List<@Nullable Object> key = values(in, table.key().size());
        List<@Nullable Object> values = new ArrayList<>();
        StringBuilder sql = new StringBuilder("UPDATE ").append(table).append(" SET ");
        for (int left = in.count(); left > 0; left--) {
            sql.append(name(table, in.column())).append(left > 1 ? " = ?, " : " = ?");
            values.add(Values.read(in));
        }
        values.addAll(key);
        batch.add(sql.append(where(table)).toString(), values, key);
    }

    private static void delete(WriteSetReader in, Batch batch) throws SQLException {
        List<@Nullable Object> key = values(in, batch.table.key().size());
        batch.add("DELETE FROM " + batch.table + where(batch.table), key, key);
    }

    private static String name(TableShape table, int position) {
        return TableShape.quoted(table.columns().get(position - 1).name());
    }

    private static String where(TableShape table) {
        return table.key().stream()
                .map(position -> name(table, position) + " = ?")
                .collect(Collectors.joining(" AND ", " WHERE ", ""));
    }

    private void statement(WriteSetReader in) throws SQLException {
        WriteSetReader.Statement change = in.readStatement();
        forgetTables();
        SqlSession session = SqlSession.of(connection);
        first(null, () -> {
            String ours = SessionSettings.of(session);
            try (Statement statement = connection.createStatement()) {
                statement.execute("SET LOCAL SESSION AUTHORIZATION " + TableShape.quoted(change.user()));
                if (!change.role().isEmpty()) {
                    statement.execute("SET LOCAL ROLE " + TableShape.quoted(change.role()));
                }
                SessionSettings.set(session, change.currentSchema());
                boolean leased = database.leases().haveBegun();
                if (leased) {
                    execute(session, database.showing(SqlStatement.of(change.text())));
                }
                try {
                    statement.setEscapeProcessing(false);
                    execute(statement, change.text());
                } catch (SQLException e) {
                    throw new DivergenceException(
                            "a schema change that succeeded at its origin fails here: " + change.text() + ": "
                                    + e.getMessage(),
                            e);
                }
                SessionSettings.set(session, ours);
                if (leased) {
                    execute(session, database.hiding());
                }
                statement.execute("SET LOCAL SESSION AUTHORIZATION DEFAULT");
            }
            database.captureNewTables(session);
            session.query(SEE_OPERATORS);
            return true;
        });
        changesSchema = true;
    }

    private static void execute(SqlSession session, @Nullable OwnStatement statement) throws SQLException {
        if (statement != null) {
            session.query(statement.inOne());
        }
    }

    /** Roles belong to the whole server, and not to this database and its origin alone: they stay as they are there. */
    private void execute(Statement statement, String change) throws SQLException {
        Matcher role = MAKES_OR_DROPS_A_ROLE.matcher(change);
        if (!role.matches()) {
            statement.execute(change);
            return;
        }
        Savepoint before = connection.setSavepoint();
        try {
            statement.execute(change);
        } catch (SQLException e) {
            if (!ROLE_STAYS.contains(role.group(1).toUpperCase(Locale.ROOT) + " " + e.getSQLState())) {
                throw e;
            }
            connection.rollback(before);
            LOG.warn("{}: roles of this server stay as they are: {}", database.server(), e.getMessage());
        }
    }

    /** By a transaction of this replica's own. */
    private void forgetTablesThatWereChanged() throws SQLException {
        long changes = database.schemaChanges();
        if (changes != schemaChangesSeen) {
            forgetTables();
            SqlSession.of(connection).query(SEE_OPERATORS);
            schemaChangesSeen = changes;
        }
    }

    private void forgetTables() throws SQLException {
        for (Batch batch : tables.values()) {
            batch.close();
        }
        tables.clear();
        known.clear();
    }

    @Override
    public void settle(Map<Generator, OptionalLong> next) {
        if (next.isEmpty()) {
            return;
        }
        try {
            first(null, () -> {
                for (Map.Entry<Generator, OptionalLong> one : next.entrySet()) {
                    OptionalLong value = one.getValue();
                    executeNow("SELECT gorda.settle(" + literal(one.getKey()) + ", "
                            + (value.isPresent() ? value.getAsLong() : "NULL") + ")");
                }
                return true;
            });
        } catch (SQLException e) {
            database.notice(e);
            throw new DivergenceException("generators cannot go on with " + next + ": " + e.getMessage(), e);
        }
    }

    @Override
    public void leaseGenerators(boolean begins) {
        try {
            first(null, () -> {
                executeNow("SELECT gorda.lease_generators(" + begins + ")");
                return true;
            });
            leases = begins;
        } catch (SQLException e) {
            throw failed("values of generators cannot be leased, or not any more,", e);
        }
    }

    private static String literal(Generator generator) {
        if (generator.identity()) {
            throw new DivergenceException(generator + " is generated by a sequence here");
        }
        String name = TableShape.quoted(generator.schema()) + "." + TableShape.quoted(generator.name());
        return PostgresDatabase.literal(name) + "::regclass";
    }

    @Override
    public void execute() {
        try {
            for (Batch batch : tables.values()) {
                batch.flush();
            }
        } catch (SQLException e) {
            throw failed("write sets cannot be applied", e);
        }
    }

    private void executeNow(String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Override
    public void commit(StoredPosition position, boolean durable) {
        database.checkNew(position);
        execute();
        try {
            first(null, () -> {
                for (Map.Entry<Generator, Long> one : generated.entrySet()) {
                    // Not back behind what was taken here.
                    executeNow("SELECT setval(seqrelid, " + one.getValue() + ") FROM pg_sequence WHERE seqrelid = "
                            + literal(one.getKey()) + " AND coalesce(sign(seqincrement) * (" + one.getValue()
                            + " - pg_sequence_last_value(seqrelid)), 1) > 0");
                }
                if (changesSchema && database.leases().haveBegun()) {
                    execute(SqlSession.of(connection), database.settling());
                }
                if (durable) {
                    executeNow("SET LOCAL synchronous_commit TO local");
                }
                List<String> values = database.rowOf(position);
                for (int i = 0; i < values.size(); i++) {
                    ends.setString(i + 1, values.get(i));
                }
                return ends.execute();
            });
            known.putAll(generated);
            generated.clear();
            database.committed(position);
            leasesHaveChanged();
        } catch (SQLException e) {
            throw failed("what was ordered up to " + position + " cannot be committed", e);
        }
    }

    private void leasesHaveChanged() {
        Boolean begins = leases;
        if (begins != null) {
            known.clear();
            database.leases().begin(begins);
        } else if (changesSchema) {
            database.leases().ended();
        }
        leases = null;
        changesSchema = false;
    }

    /** Versions of rows are read, which nobody locks; for the locks of tables that a schema change holds, its transaction is rolled back. */
    @Override
    public Connection reading() {
        watch.begin(database.listener().makeWay(null));
        return connection;
    }

    @Override
    public List<TableShape> tables() throws SQLException {
        return first(null, () -> PostgresDatabase.tables(SqlSession.of(connection)));
    }

    /** Compares the primary key's index and all others with the rows, where the server has its own extension for that. */
    @Override
    public @Nullable String damage(TableShape table) throws SQLException {
        Savepoint before = connection.setSavepoint();
        try {
            SqlSession.of(connection)
                    .query(
                            "SELECT gorda.bt_index_check(indexrelid, true) FROM pg_index JOIN pg_class i ON i.oid = indexrelid"
                                    + " WHERE indrelid = " + PostgresDatabase.literal(table.toString()) + "::regclass"
                                    + " AND relam = (SELECT oid FROM pg_am WHERE amname = 'btree')");
            return null;
        } catch (SQLException e) {
            connection.rollback(before);
            if (CONTRADICTION.equals(e.getSQLState())) {
                return e.getMessage();
            }
            if (NO_SUCH_FUNCTION.equals(e.getSQLState())) {
                return null;
            }
            throw e;
        }
    }

    @Override
    public void rollback() {
        try {
            for (Batch batch : tables.values()) {
                batch.rows.clear();
                PreparedStatement open = batch.statement;
                if (open != null) {
                    open.close();
                }
            }
            tables.clear();
            generated.clear();
            leases = null;
            changesSchema = false;
            connection.rollback();
            watch.end();
        } catch (SQLException e) {
            throw failed("what was applied cannot be rolled back", e);
        }
    }

    @Override
    public void close() {
        try {
            watch.close();
            connection.close();
        } catch (SQLException e) {
            LOG.debug("the applier's connection was gone already", e);
        }
        database.closed(this);
    }
}
