package org.gorda.bindings.postgresql;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.OptionalLong;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.gorda.bindings.postgresql.wire.NamedDatabase;
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

    /** How often a schema change is tried; the server names a hundred of those in its way at once. */
    private static final int TRIES = 100;

    /** Keys are compared by operators, of which types of extensions have their own, in the schemas of the extensions. */
    private static final String SEE_OPERATORS = "SELECT set_config('search_path', concat('pg_catalog, public, ',"
            + " string_agg(quote_ident(nspname) || ', ', '' ORDER BY nspname), 'pg_temp'), false) FROM pg_namespace"
            + " WHERE nspname <> 'pg_catalog' AND oid IN (SELECT oprnamespace FROM pg_operator WHERE oprname = '=')";

    /**
     * Not back behind what was taken here. One that has another name since it was told is passed over: whoever has changed rows by its values has told them before
     * its table could be renamed, and others tell where all generators are, whose values they did not take.
     */
    private static final String GO_ON_BEHIND =
            "SELECT setval(seqrelid, $1::bigint) FROM pg_sequence WHERE seqrelid = gorda.generator_if_any($2::boolean, $3, $4)"
                    + " AND coalesce(sign(seqincrement) * ($1::bigint - pg_sequence_last_value(seqrelid)), 1) > 0";

    private final PostgresDatabase database;
    private final ApplierSession session;
    private final LockWatch watch;

    /** By schema and name. */
    private final Map<String, TableStatements> tables = new HashMap<>();

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
        this.session = new ApplierSession(database.server());
        SqlSession driver = SqlSession.of(session.connection());
        driver.query(SEE_OPERATORS);
        this.watch = new LockWatch(database, driver);
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

    @Override
    public void apply(WriteSet writeSet) {
        WriteSetReader in = new WriteSetReader(writeSet);
        TableStatements[] named = new TableStatements[in.tables().size()];
        try {
            forgetTablesThatWereChanged();
            for (WriteSetReader.Kind kind = in.next(); kind != null; kind = in.next()) {
                switch (kind) {
                    case INSERT -> insert(in, table(in, named));
                    case UPDATE -> update(in, table(in, named));
                    case DELETE -> delete(in, table(in, named));
                    case STATEMENT -> {
                        statement(in);
                        Arrays.fill(named, null);
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
                if (session.isFull()) {
                    executeChanges();
                }
            }
        } catch (SQLException e) {
            throw failed("a write set cannot be applied", e);
        }
    }

    private void executeChanges() throws SQLException {
        if (!session.isEmpty()) {
            first(session.row(), () -> {
                session.execute();
                return true;
            });
        }
    }

    private ReflectionException failed(String what, SQLException e) {
        database.notice(e);
        String message = what + " in " + database.server() + ": " + e.getMessage();
        boolean violates = e.getSQLState() != null && e.getSQLState().startsWith("23");
        return violates ? new DivergenceException(message, e) : new ReflectionException(message, e);
    }

    private TableStatements table(WriteSetReader in, TableStatements[] named) throws SQLException {
        int index = in.tableIndex();
        if (named[index] != null) {
            return named[index];
        }
        WriteSetReader.Table wanted = in.tables().get(index);
        TableStatements table = tables.get(wanted.toString());
        if (table == null || table.shape().fingerprint() != wanted.fingerprint()) {
            TableShape found =
                    PostgresDatabase.table(SqlSession.of(session.connection()), wanted.schema(), wanted.name());
            if (found == null || found.fingerprint() != wanted.fingerprint()) {
                throw new DivergenceException("rows of " + wanted + " were changed elsewhere, but here "
                        + (found == null
                                ? "is no such table"
                                : "it has other columns or another primary key: " + found.columns() + " "
                                        + found.key()));
            }
            table = new TableStatements(found, keyTypes(found));
            tables.put(wanted.toString(), table);
        }
        named[index] = table;
        return table;
    }

    private List<String> keyTypes(TableShape table) throws SQLException {
        Map<String, String> types = new HashMap<>();
        for (List<@Nullable String> row : SqlSession.of(session.connection())
                .query(
                        "WITH RECURSIVE base AS (SELECT attname, atttypid AS type FROM pg_attribute WHERE attrelid = "
                                + PostgresDatabase.literal(table.toString()) + "::regclass UNION ALL"
                                + " SELECT attname, typbasetype FROM base JOIN pg_type ON oid = type WHERE typtype = 'd')"
                                + " SELECT attname, format('%I.%I', n.nspname, t.typname) FROM base"
                                + " JOIN pg_type t ON t.oid = type AND t.typtype <> 'd' JOIN pg_namespace n ON n.oid = t.typnamespace")) {
            types.put(Objects.requireNonNull(row.get(0)), Objects.requireNonNull(row.get(1)));
        }
        return table.key().stream()
                .map(position -> Objects.requireNonNull(
                        types.get(table.columns().get(position - 1).name())))
                .toList();
    }

    private static List<@Nullable Object> values(WriteSetReader in, int count) {
        List<@Nullable Object> values = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            values.add(Values.read(in));
        }
        return values;
    }

    private void insert(WriteSetReader in, TableStatements table) {
        List<@Nullable Object> values = values(in, in.count());
        List<@Nullable Object> key = new ArrayList<>();
        table.shape().key().forEach(position -> key.add(values.get(position - 1)));
        session.change(table.shape(), key, table.insert(), values);
    }

    private void update(WriteSetReader in, TableStatements table) {
        List<@Nullable Object> key = values(in, table.shape().key().size());
        int count = in.count();
        List<Integer> columns = new ArrayList<>(count);
        List<@Nullable Object> values = new ArrayList<>(count + key.size());
        for (int i = 0; i < count; i++) {
            columns.add(in.column());
            values.add(Values.read(in));
        }
        values.addAll(key);
        session.change(table.shape(), key, table.update(columns), values);
    }

    private void delete(WriteSetReader in, TableStatements table) {
        List<@Nullable Object> key = values(in, table.shape().key().size());
        session.change(table.shape(), key, table.delete(), key);
    }

    private void statement(WriteSetReader in) throws SQLException {
        WriteSetReader.Statement change = in.readStatement();
        executeChanges();
        forgetTables();
        SqlSession driver = SqlSession.of(session.connection());
        first(null, () -> {
            session.begin();
            try (Statement statement = session.connection().createStatement()) {
                statement.setEscapeProcessing(false);
                change(driver, statement, change);
            }
            database.captureNewTables(driver);
            driver.query(SEE_OPERATORS);
            return true;
        });
        changesSchema = true;
    }

    /** Once what is in the way is out of it. */
    private void change(SqlSession driver, Statement statement, WriteSetReader.Statement change) throws SQLException {
        for (int tries = 1; true; tries++) {
            statement.execute("SAVEPOINT gorda");
            try {
                changeAs(driver, statement, change);
                return;
            } catch (SQLException e) {
                statement.execute("ROLLBACK TO SAVEPOINT gorda");
                if (concernsRoleThatStays(change.text(), e)) {
                    LOG.warn("{}: roles of this server stay as they are: {}", database.server(), e.getMessage());
                    return;
                }
                List<String> dropped = tries < TRIES ? TemporaryDependents.drop(driver, e) : List.of();
                if (dropped.isEmpty()) {
                    throw new DivergenceException(
                            "a schema change that succeeded at its origin fails here: " + change.text() + ": "
                                    + e.getMessage(),
                            e);
                }
                LOG.warn(
                        "{}: drops {}, made by a client here for itself, for a schema change of another replica: {}",
                        database.server(),
                        dropped,
                        change.text());
            }
        }
    }

    private void changeAs(SqlSession driver, Statement statement, WriteSetReader.Statement change) throws SQLException {
        String ours = SessionSettings.of(driver);
        statement.execute("SET LOCAL SESSION AUTHORIZATION " + TableShape.quoted(change.user()));
        if (!change.role().isEmpty()) {
            become(statement, TableShape.quoted(change.role()));
        }
        SessionSettings.set(driver, change.currentSchema());
        boolean leased = database.leases().haveBegun();
        SqlStatement known = SqlStatement.of(change.text());
        if (leased) {
            execute(driver, database.showing(known));
        }
        NamedDatabase origins = NamedDatabase.of(change.text());
        statement.execute(
                origins == null ? change.text() : origins.with(database.server().database()));
        SessionSettings.set(driver, ours);
        if (leased) {
            execute(driver, database.hiding(known));
        }
        statement.execute("SET LOCAL SESSION AUTHORIZATION DEFAULT");
    }

    /** By the superuser's right where the user may not take the role any more, of which other replicas may have heard earlier. */
    private static void become(Statement statement, String role) throws SQLException {
        statement.execute("SAVEPOINT gorda_role");
        try {
            statement.execute("SET LOCAL ROLE " + role);
        } catch (SQLException e) {
            if (!"42501".equals(e.getSQLState())) {
                throw e;
            }
            statement.execute("ROLLBACK TO SAVEPOINT gorda_role");
            statement.execute("SET LOCAL SESSION AUTHORIZATION DEFAULT");
            statement.execute("SET LOCAL ROLE " + role);
        }
    }

    private static void execute(SqlSession session, @Nullable OwnStatement statement) throws SQLException {
        if (statement != null) {
            session.query(statement.inOne());
        }
    }

    /** Roles belong to the whole server, and not to this database and its origin alone: they stay as they are there. */
    private static boolean concernsRoleThatStays(String change, SQLException failure) {
        Matcher role = MAKES_OR_DROPS_A_ROLE.matcher(change);
        return role.matches()
                && ROLE_STAYS.contains(role.group(1).toUpperCase(Locale.ROOT) + " " + failure.getSQLState());
    }

    /** By a transaction of this replica's own. */
    private void forgetTablesThatWereChanged() throws SQLException {
        long changes = database.schemaChanges();
        if (changes != schemaChangesSeen) {
            executeChanges();
            forgetTables();
            SqlSession.of(session.connection()).query(SEE_OPERATORS);
            schemaChangesSeen = changes;
        }
    }

    private void forgetTables() {
        tables.clear();
        session.forgetStatements();
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
                    executeNow("SELECT gorda.settle(" + named(one.getKey()) + ", "
                            + (value.isPresent() ? value.getAsLong() : "NULL") + ")");
                }
                return true;
            });
        } catch (SQLException e) {
            database.notice(e);
            throw new DivergenceException("generators cannot go on with " + next + ": " + e.getMessage(), e);
        }
    }

    private void executeNow(String sql) throws SQLException {
        session.begin();
        try (Statement statement = session.connection().createStatement()) {
            statement.execute(sql);
        }
    }

    @Override
    public void leaseGenerators(boolean begins) {
        try {
            first(null, () -> {
                if (begins && !generated.isEmpty()) { // as where rows are received
                    goOnBehindOthers();
                }
                executeNow("SELECT gorda.lease_generators(" + begins + ")");
                return true;
            });
            leases = begins;
        } catch (SQLException e) {
            throw failed("values of generators cannot be leased, or not any more,", e);
        }
    }

    /** Within their own bounds, which leases narrow. */
    private void goOnBehindOthers() throws SQLException {
        if (database.leases().haveBegun()) {
            executeNow("SELECT gorda.lease_generators(false)");
            for (Generator generator : generated.keySet()) {
                // Where it goes on is its last value then, which it is not set back behind.
                session.add(
                        "SELECT gorda.take(gorda.generator_if_any($1::boolean, $2, $3))",
                        String.valueOf(generator.identity()),
                        generator.schema(),
                        generator.name());
            }
        }
        addGenerated();
        session.execute();
        generated.clear();
    }

    private static String named(Generator generator) {
        return "gorda.generator_of(" + generator.identity() + ", " + PostgresDatabase.literal(generator.schema()) + ", "
                + PostgresDatabase.literal(generator.name()) + ")";
    }

    @Override
    public void execute() {
        try {
            executeChanges();
        } catch (SQLException e) {
            throw failed("write sets cannot be applied", e);
        }
    }

    @Override
    public void commit(StoredPosition position, boolean durable) {
        execute();
        database.checkNew(position);
        try {
            first(null, () -> {
                addGenerated();
                if (changesSchema && database.leases().haveBegun()) {
                    session.begin();
                    execute(SqlSession.of(session.connection()), database.settling());
                }
                if (durable) {
                    session.add("SET LOCAL synchronous_commit TO local");
                }
                session.add(PostgresDatabase.STORES, database.rowOf(position).toArray());
                session.add("COMMIT");
                session.execute();
                return true;
            });
            known.putAll(generated);
            generated.clear();
            database.committed(position);
            leasesHaveChanged();
        } catch (SQLException e) {
            throw failed("what was ordered up to " + position + " cannot be committed", e);
        }
    }

    private void addGenerated() {
        for (Map.Entry<Generator, Long> one : generated.entrySet()) {
            Generator generator = one.getKey();
            session.add(
                    GO_ON_BEHIND,
                    one.getValue().toString(),
                    String.valueOf(generator.identity()),
                    generator.schema(),
                    generator.name());
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
        try {
            return session.reading();
        } catch (SQLException e) {
            throw failed("nothing can be read", e);
        }
    }

    @Override
    public List<TableShape> tables() throws SQLException {
        return first(null, () -> PostgresDatabase.tables(SqlSession.of(session.reading())));
    }

    /** Compares the primary key's index and all others with the rows, where the server has its own extension for that. */
    @Override
    public @Nullable String damage(TableShape table) throws SQLException {
        Connection connection = session.reading();
        Savepoint before = connection.setSavepoint();
        try {
            SqlSession.of(connection)
                    .query(
                            "SELECT gorda.bt_index_check(indexrelid, true) FROM pg_index JOIN pg_class i ON i.oid = indexrelid"
                                    + " WHERE indrelid = " + PostgresDatabase.literal(table.toString()) + "::regclass"
                                    + " AND indisvalid AND relam = (SELECT oid FROM pg_am WHERE amname = 'btree')");
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
            generated.clear();
            session.rollback();
            forgetTables(); // they may be as they were before a change of the schema
            leases = null;
            changesSchema = false;
            watch.end();
        } catch (SQLException e) {
            throw failed("what was applied cannot be rolled back", e);
        }
    }

    @Override
    public void close() {
        try {
            watch.close();
            session.close();
        } catch (SQLException e) {
            LOG.debug("the applier's connection was gone already", e);
        }
        database.closed(this);
    }
}
