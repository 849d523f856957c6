package org.gorda.bindings.postgresql;

import java.io.BufferedOutputStream;
import java.io.FilterOutputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.UUID;
import java.util.function.Consumer;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.gorda.gapi.FileTree;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;
import org.postgresql.copy.CopyManager;
import org.postgresql.core.BaseConnection;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Copies of a database as it is at one moment: a directory with the statements that make its schema, before and after the rows, a file for each table's rows,
 * and the position. Stateless.
 */
final class PostgresSnapshot {

    private static final Logger LOG = LoggerFactory.getLogger(PostgresSnapshot.class);

    private static final int COPY_BUFFER = 1 << 18;

    /**
     * The server tells of names, indexes, defaults and views as they are now, or of a number where they were dropped, whatever the snapshot of the transaction is that asks.
     * So the schema is read until nothing of it was dropped meanwhile.
     */
    private static final int SCHEMA_READINGS_MAX = 10;

    /** A table or a column that the snapshot of the transaction has. */
    private static final Set<String> GONE = Set.of("42P01", "42703");

    /** Schemas, types, functions and sequences, which have no rows whose copying would meet another name. */
    private static final Set<List<String>> NAMED =
            Set.of(List.of("1", "1"), List.of("1", "3"), List.of("1", "4"), List.of("1", "5"));

    /** Of a table whose loading is told in the log. */
    private static final long LOGGED_BYTES = 64L << 20;

    /** Written last. */
    private static final String POSITION = "position";

    /** Of statements, which the server's texts cannot contain. */
    private static final String SEPARATOR = "\0";

    private static final List<String> SCHEMA = List.of("schema-before", "schema-after");
    private static final String TABLES = "tables";

    /** Who owns the database, and who may do what with it: what comes before its name in statements, and what behind it, by turns. */
    private static final String RIGHTS = "rights";

    private static final String FIND_RIGHTS =
            "SELECT 'ALTER', 'OWNER TO ' || quote_ident(pg_get_userbyid(datdba)), 1 AS turn FROM pg_database WHERE datname = current_database()"
                    + " UNION ALL SELECT 'REVOKE ALL ON', 'FROM PUBLIC', 2 FROM pg_database WHERE datname = current_database() AND datacl IS NOT NULL"
                    + " UNION ALL SELECT format('GRANT %s ON', privilege_type), format('TO %s%s', CASE grantee WHEN 0 THEN 'PUBLIC'"
                    + " ELSE quote_ident(pg_get_userbyid(grantee)) END, CASE WHEN is_grantable THEN ' WITH GRANT OPTION' END), 3"
                    + " FROM pg_database, aclexplode(datacl) WHERE datname = current_database() ORDER BY turn";

    /** Its encoding and how it sorts, as options of CREATE DATABASE: what is the default is each server's own. */
    private static final String LOCALE = "locale";

    private static final String FIND_LOCALE =
            "SELECT format('ENCODING %L LC_COLLATE %L LC_CTYPE %L', pg_encoding_to_char(encoding), datcollate, datctype)"
                    + " || CASE provider WHEN 'i' THEN ' LOCALE_PROVIDER icu ICU_LOCALE ' || quote_literal(locale) || coalesce(' ICU_RULES ' || quote_literal(rules), '')"
                    + " WHEN 'b' THEN ' LOCALE_PROVIDER builtin BUILTIN_LOCALE ' || quote_literal(locale) WHEN 'c' THEN ' LOCALE_PROVIDER libc' ELSE '' END"
                    + " FROM (SELECT *, columns ->> 'datlocprovider' AS provider, coalesce(columns ->> 'datlocale', columns ->> 'daticulocale') AS locale,"
                    + " columns ->> 'daticurules' AS rules FROM (SELECT *, to_jsonb(d) AS columns FROM pg_database d WHERE datname = current_database()) d) d";

    /** Of roles that are not there, or not this one's to give to. */
    private static final Set<String> NOT_GIVEN = Set.of("42704", "42501");

    private static final String NOT_DONE = "{} cannot be done for a database that was received: {}";

    /** Views, and functions of them, which may need what is made after the rows. */
    private static final Pattern LATE = Pattern.compile("create view |CREATE OR REPLACE |alter (function|procedure) ");

    private static final Pattern COMMENTS = Pattern.compile("comment on ");

    /** Whether the values of generators are leased. */
    private static final String LEASES = "leases";

    private PostgresSnapshot() {}

    /** Up to where a session sees the database; null if nothing was ever committed with a position. */
    static @Nullable StoredPosition position(SqlSession session) throws SQLException {
        List<List<@Nullable String>> found =
                session.query("SELECT high, low, term, idx FROM gorda.position ORDER BY turn DESC LIMIT 1");
        return found.isEmpty() ? null : position(found.get(0));
    }

    private static StoredPosition position(List<@Nullable String> row) {
        long[] numbers = row.stream()
                .mapToLong(number -> Long.parseLong(Objects.requireNonNull(number)))
                .toArray();
        return new StoredPosition(numbers[0], numbers[1], numbers[2], numbers[3]);
    }

    static void write(Server server, Path target) {
        if (Files.exists(target)) {
            throw new ReflectionException("a snapshot cannot be written to " + target + ", which exists");
        }
        Path unfinished = target.resolveSibling(target.getFileName() + ".unfinished");
        try (Connection connection = server.connect("")) {
            FileTree.delete(unfinished);
            try {
                Files.createDirectories(unfinished);
                connection.setAutoCommit(false);
                connection.setTransactionIsolation(Connection.TRANSACTION_REPEATABLE_READ);
                connection.setReadOnly(true);
                copy(connection, server, unfinished);
                Files.move(unfinished, target, StandardCopyOption.ATOMIC_MOVE);
            } finally {
                FileTree.delete(unfinished);
            }
        } catch (IOException | SQLException e) {
            throw new ReflectionException("a snapshot of " + server + " cannot be written to " + target + ": " + e, e);
        }
    }

    /** The rows of {@code schema.sql}, in the snapshot that the session's transaction begins here. */
    private static List<List<@Nullable String>> schema(Connection connection, Server server) throws SQLException {
        SqlSession session = SqlSession.of(connection);
        for (int left = SCHEMA_READINGS_MAX; left > 0; left--) {
            try {
                List<List<@Nullable String>> read = session.query(Installation.script("schema.sql"));
                try (Connection other = server.connect("")) {
                    boolean isWhole = read.stream().allMatch(row -> row.get(3) != null);
                    if (isWhole
                            && kept(SqlSession.of(other).query(Installation.script("schema.sql")))
                                    .containsAll(kept(read))) {
                        return read;
                    }
                }
            } catch (SQLException e) {
                String state = String.valueOf(e.getSQLState());
                if (left == 1 || !(state.startsWith("42") || state.equals("XX000"))) {
                    throw e;
                }
                LOG.debug("{}: something was dropped while the schema was read", server, e);
            }
            connection.rollback();
        }
        throw new ReflectionException(
                "its schema was changed each time that it was read, " + SCHEMA_READINGS_MAX + " times");
    }

    /** What the rows of a schema are of, and the rows themselves of what others name. */
    private static Set<String> kept(List<List<@Nullable String>> schema) {
        return schema.stream()
                .map(row -> NAMED.contains(row.subList(0, 2))
                        ? row.toString()
                        : row.subList(0, 3).toString())
                .collect(Collectors.toSet());
    }

    private static void copy(Connection connection, Server server, Path directory) throws SQLException, IOException {
        SqlSession session = SqlSession.of(connection);
        List<List<@Nullable String>> schema = schema(connection, server);
        StoredPosition position = position(session);
        List<List<String>> phases = List.of(new ArrayList<>(), new ArrayList<>(), new ArrayList<>());
        for (List<@Nullable String> row : schema) {
            phases.get(Integer.parseInt(Objects.requireNonNull(row.get(0)))).add(Objects.requireNonNull(row.get(3)));
        }
        if (!phases.get(0).isEmpty()) {
            throw new ReflectionException("no snapshot can be made of " + String.join(", ", phases.get(0))
                    + ": make a copy of the database by PostgreSQL's own means, or drop that");
        }
        List<String> tables = new ArrayList<>();
        CopyManager copy = new CopyManager(connection.unwrap(BaseConnection.class));
        for (TableShape table : PostgresDatabase.tables(session)) {
            String named = table.columns().isEmpty() ? table.toString() : PostgresDatabase.withColumns(table);
            try (OutputStream out = new BufferedOutputStream(
                    new FrugalOutput(directory.resolve(String.valueOf(tables.size()))), COPY_BUFFER)) {
                copy.copyOut("COPY " + named + " TO STDOUT", out);
            } catch (SQLException e) {
                if (GONE.contains(String.valueOf(e.getSQLState()))) {
                    throw new ReflectionException(table + " was changed before it was copied", e);
                }
                throw e;
            }
            requireNotMadeAnew(session, table);
            tables.add(named);
        }
        String leases = String.valueOf(
                session.query("SELECT leases FROM gorda.leasing").get(0).get(0));
        List<String> rights = new ArrayList<>();
        for (List<@Nullable String> row : session.query(FIND_RIGHTS)) {
            rights.add(Objects.requireNonNull(row.get(0)));
            rights.add(Objects.requireNonNull(row.get(1)));
        }
        String locale = Objects.requireNonNull(session.query(FIND_LOCALE).get(0).get(0));
        connection.commit();
        Files.writeString(directory.resolve(LOCALE), locale);
        Files.writeString(directory.resolve(RIGHTS), String.join(SEPARATOR, rights));
        Files.writeString(directory.resolve(LEASES), leases);
        Files.writeString(directory.resolve(SCHEMA.get(0)), String.join(SEPARATOR, phases.get(1)));
        Files.writeString(directory.resolve(SCHEMA.get(1)), String.join(SEPARATOR, phases.get(2)));
        Files.writeString(directory.resolve(TABLES), String.join(SEPARATOR, tables));
        Files.writeString(
                directory.resolve(POSITION),
                position == null
                        ? ""
                        : position.groupHigh() + " " + position.groupLow() + " " + position.term() + " "
                                + position.index());
    }

    /**
     * That a table is still in the file that the snapshot of the transaction knows: one that TRUNCATE or ALTER TABLE made since has no rows for it. To be called when
     * the table was read, and is locked thereby.
     */
    static void requireNotMadeAnew(SqlSession session, TableShape table) throws SQLException {
        boolean isSame = !session.query(
                        "SELECT 1 FROM pg_class c JOIN pg_namespace n ON n.oid = c.relnamespace WHERE n.nspname = "
                                + PostgresDatabase.literal(table.schema()) + " AND c.relname = "
                                + PostgresDatabase.literal(table.name())
                                + " AND c.oid = to_regclass(format('%I.%I', n.nspname, c.relname))"
                                + " AND c.relfilenode = pg_relation_filenode(c.oid)")
                .isEmpty();
        if (!isSame) {
            throw new ReflectionException(table + " was made anew while it was copied");
        }
    }

    /**
     * @param replaces a database that is there, once all of the snapshot is loaded
     * @param progress is told what is being done
     */
    static void load(Path snapshot, Server server, boolean replaces, Consumer<String> progress) {
        try (Connection maintenance = server.maintain();
                Statement statement = maintenance.createStatement()) {
            boolean exists = !SqlSession.of(maintenance)
                    .query("SELECT 1 FROM pg_database WHERE datname = " + PostgresDatabase.literal(server.database()))
                    .isEmpty();
            if (exists && !replaces) {
                throw new ReflectionException(
                        "a snapshot cannot be loaded to " + server + ", which exists: drop it first");
            }
            prepare(snapshot, server, progress);
            if (exists) {
                statement.execute("DROP DATABASE " + TableShape.quoted(server.database()) + " WITH (FORCE)");
            }
            String made = TableShape.quoted(server.unfinished().database());
            statement.execute("ALTER DATABASE " + made + " RENAME TO " + TableShape.quoted(server.database()));
            statement.execute("COMMENT ON DATABASE " + TableShape.quoted(server.database()) + " IS NULL");
        } catch (SQLException e) {
            throw new ReflectionException("the snapshot " + snapshot + " cannot be loaded to " + server + ": " + e, e);
        }
    }

    /** Loads it beside the database, unless that is done: its place in the order says which one it is. */
    static void prepare(Path snapshot, Server server, Consumer<String> progress) {
        if (!Files.isRegularFile(snapshot.resolve(POSITION))) {
            throw new ReflectionException(
                    snapshot + " is no snapshot of a PostgreSQL database: it has no file " + POSITION);
        }
        Server unfinished = server.unfinished();
        String made = TableShape.quoted(unfinished.database());
        try (Connection maintenance = server.maintain();
                Statement statement = maintenance.createStatement()) {
            String whole = PostgresDatabase.literal("gorda: all of " + Files.readString(snapshot.resolve(POSITION)));
            boolean isDone = !SqlSession.of(maintenance)
                    .query("SELECT 1 FROM pg_database WHERE datname = "
                            + PostgresDatabase.literal(unfinished.database())
                            + " AND shobj_description(oid, 'pg_database') = " + whole)
                    .isEmpty();
            if (isDone) {
                return;
            }
            statement.execute(
                    "DROP DATABASE IF EXISTS " + made + " WITH (FORCE)"); // left by a load that was interrupted
            statement.execute("CREATE DATABASE " + made + " TEMPLATE template0 "
                    + String.join("", textsIfAny(snapshot.resolve(LOCALE))));
            try (Connection connection = unfinished.connect(Server.APPLIES + " -c check_function_bodies=off")) {
                fill(connection, snapshot, progress);
            }
            giveRights(statement, made, textsIfAny(snapshot.resolve(RIGHTS)));
            statement.execute("COMMENT ON DATABASE " + made + " IS " + whole);
        } catch (IOException | SQLException e) {
            throw new ReflectionException("the snapshot " + snapshot + " cannot be loaded to " + server + ": " + e, e);
        }
    }

    /** As they were, as far as the roles are here. */
    private static void giveRights(Statement statement, String database, List<String> rights) throws SQLException {
        for (int i = 0; i + 1 < rights.size(); i += 2) {
            String sql = rights.get(i) + " DATABASE " + database + " " + rights.get(i + 1);
            try {
                statement.execute(sql);
            } catch (SQLException e) {
                if (!NOT_GIVEN.contains(e.getSQLState())) {
                    throw e;
                }
                LOG.warn(NOT_DONE, sql, e.getMessage());
            }
        }
    }

    /** The statements that delete what extensions have brought, which is among what was copied. */
    private static List<String> rowsOfExtensions(Connection connection) throws SQLException {
        return SqlSession.of(connection)
                .query(
                        "SELECT format('DELETE FROM ONLY %s', c.oid::regclass) FROM pg_class c JOIN pg_depend d ON d.objid = c.oid"
                                + " AND d.classid = 'pg_class'::regclass AND d.deptype = 'e' JOIN pg_namespace n ON n.oid = c.relnamespace"
                                + " WHERE c.relkind = 'r' AND c.relpersistence = 'p' AND n.nspname !~ '^pg_'")
                .stream()
                .map(row -> Objects.requireNonNull(row.get(0)))
                .toList();
    }

    /** Each statement is committed by itself: the server has not the locks for all of them at once. */
    private static void fill(Connection connection, Path snapshot, Consumer<String> progress)
            throws SQLException, IOException {
        Map<String, SQLException> late = require(execute(connection, texts(snapshot.resolve(SCHEMA.get(0)))), LATE);
        CopyManager copy = new CopyManager(connection.unwrap(BaseConnection.class));
        List<String> tables = texts(snapshot.resolve(TABLES));
        require(execute(connection, rowsOfExtensions(connection)), COMMENTS);
        for (int i = 0; i < tables.size(); i++) {
            Path rows = snapshot.resolve(String.valueOf(i));
            long bytes = Files.size(rows);
            String text = String.format(
                    Locale.ROOT,
                    "loads the database that it received: table %,d of %,d, %,d MB",
                    i + 1,
                    tables.size(),
                    bytes >> 20);
            progress.accept(text);
            if (bytes >= LOGGED_BYTES) {
                LOG.info("{}", text);
            }
            try (InputStream in = Files.newInputStream(rows)) {
                copy.copyIn("COPY " + tables.get(i) + " FROM STDIN", in);
            }
        }
        progress.accept("loads the database that it received: has all rows, makes keys and indexes");
        List<String> after = new ArrayList<>(late.keySet());
        after.addAll(texts(snapshot.resolve(SCHEMA.get(1))));
        require(execute(connection, after), COMMENTS).forEach((sql, e) -> LOG.warn(NOT_DONE, sql, e.getMessage()));
        String token = UUID.randomUUID().toString();
        String position = Files.readString(snapshot.resolve(POSITION));
        connection.setAutoCommit(false);
        Installation.install(connection, token);
        SqlSession.of(connection).query("SET LOCAL synchronous_commit TO local");
        if (Files.readString(snapshot.resolve(LEASES)).equals("t")) {
            SqlSession.of(connection).query("SELECT gorda.lease_generators(true)");
        }
        if (!position.isEmpty()) {
            SqlSession.of(connection)
                    .query(PostgresDatabase.positionInsert(1, position(List.of(position.split(" ", -1))), token));
        }
        SqlSession.of(connection).query("UPDATE gorda.flush SET flushes = flushes + 1");
        connection.commit();
    }

    private static List<String> textsIfAny(Path file) throws IOException {
        return Files.exists(file) ? texts(file) : List.of();
    }

    private static List<String> texts(Path file) throws IOException {
        String all = Files.readString(file);
        return all.isEmpty() ? List.of() : List.of(all.split(SEPARATOR, -1));
    }

    /**
     * What fails is tried again after the others, as long as that helps: it may need something that is made later.
     *
     * @return what failed then, and how, in the order in which it was to be executed
     */
    private static Map<String, SQLException> execute(Connection connection, List<String> statements)
            throws SQLException {
        List<String> left = statements;
        while (true) {
            Map<String, SQLException> failed = new LinkedHashMap<>();
            for (String sql : left) {
                try (Statement statement = connection.createStatement()) {
                    statement.setEscapeProcessing(false);
                    statement.execute(sql);
                } catch (SQLException e) {
                    failed.put(sql, e);
                }
            }
            if (failed.size() == left.size()) {
                return failed;
            }
            left = List.copyOf(failed.keySet());
        }
    }

    /** @param others how statements begin that may have failed */
    private static Map<String, SQLException> require(Map<String, SQLException> failed, Pattern others)
            throws SQLException {
        for (Map.Entry<String, SQLException> failure : failed.entrySet()) {
            if (!others.matcher(failure.getKey()).lookingAt()) {
                SQLException e = failure.getValue();
                throw new SQLException(failure.getKey() + ": " + e.getMessage(), e.getSQLState(), e);
            }
        }
        return failed;
    }

    /** A new file, written as long as its disk has room for what the replica and others keep there. */
    private static final class FrugalOutput extends FilterOutputStream {

        private final FileStore disk;

        FrugalOutput(Path path) throws IOException {
            super(Files.newOutputStream(path));
            disk = Files.getFileStore(path);
        }

        @Override
        public void write(byte[] bytes, int offset, int length) throws IOException {
            if (disk.getUsableSpace() < FileTree.ROOM_LEFT + length) {
                throw new IOException("there is no room for a snapshot on disk " + disk + ": make room there");
            }
            out.write(bytes, offset, length);
        }
    }
}
