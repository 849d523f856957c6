package org.gorda.bindings.postgresql;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Locale;
import java.util.Objects;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.gorda.bindings.postgresql.wire.NamedDatabase;
import org.gorda.bindings.postgresql.wire.OwnStatement;
import org.gorda.bindings.postgresql.wire.SqlStatement;
import org.gorda.bindings.postgresql.wire.SqlStatement.Kind;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.WriteSetWriter;
import org.jspecify.annotations.Nullable;

/**
 * What is done before and after a statement of a client that changes the schema, or when constraints are checked, when the rows before it are told. Confined to
 * the client's thread.
 */
final class SchemaChange {

    /** Who executes it, where what it makes would be, the session's temporary relations, and whether the server refuses it. */
    private static final String CONTEXT =
            "SELECT session_user, current_user, pg_catalog.current_schema(), (SELECT pg_catalog.string_agg(relname, E'\\n')"
                    + " FROM pg_catalog.pg_class WHERE relnamespace = pg_catalog.pg_my_temp_schema() AND relkind IN ('r', 'v', 'S', 'p')),"
                    + " pg_catalog.current_setting('transaction_read_only')";

    /** Refuses what others could not do in the order in which it is sent. */
    private static final OwnStatement TRUNCATED = OwnStatement.kept("SELECT gorda.truncated()");

    private final ClientSession session;
    private final PostgresDatabase database;
    private final WriteSetWriter out;
    private String settings = "";
    private String user = "";
    private String role = "";

    /** It is not sent to others. */
    private boolean staysHere;

    /** From the first change of the schema by a transaction that wins to the transaction's end. */
    private @Nullable LockWatch watch;

    SchemaChange(ClientSession session, PostgresDatabase database, WriteSetWriter out) {
        this.session = session;
        this.database = database;
        this.out = out;
    }

    /**
     * Whether a statement changes what others have, too: not only temporary relations, which are the session's own, nor what is left on this server of a REINDEX CONCURRENTLY
     * that has failed, nor another database of this server.
     */
    boolean isReplicated(SqlStatement statement) throws SQLException {
        boolean isSchema = statement.kind() == Kind.SCHEMA;
        NamedDatabase named = NamedDatabase.of(statement.text());
        boolean isOfOther = named != null && !named.name().equals(ownDatabase());
        staysHere = isSchema && !statement.makesTableOfQuery() && (isOfOther || areOfThisServer(statement.name()));
        return isSchema && !staysHere;
    }

    private String ownDatabase() {
        return database.server().database();
    }

    private boolean areOfThisServer(String relations) throws SQLException {
        if (relations.isEmpty()) {
            return false;
        }
        List<String> named = new ArrayList<>();
        relations.lines().forEach(name -> named.add("(" + PostgresDatabase.literal(name) + ")"));
        List<@Nullable String> counts = session.query(
                        "SELECT count(*) FILTER (WHERE c.relpersistence = 't' OR c.relkind = 'i' AND NOT i.indisvalid), count(*) FROM (VALUES "
                                + String.join(", ", named)
                                + ") n (name) JOIN pg_catalog.pg_class c ON c.oid = pg_catalog.to_regclass(n.name)"
                                + " LEFT JOIN pg_catalog.pg_index i ON i.indexrelid = c.oid")
                .get(0);
        if ("0".equals(counts.get(0))) {
            return false;
        }
        if (!Objects.equals(counts.get(0), counts.get(1))) {
            throw new RefusedException(
                    Refusal.unsupported(
                            "a statement on temporary relations, or indexes that are not valid, and others cannot be replicated: have one for each"));
        }
        return true;
    }

    /** Whether the server keeps all locked until the commit whose rows a statement may concern that is to be executed. */
    boolean changesTablesOnly(SqlStatement statement) throws SQLException {
        boolean changesRoutines = statement.changesRoutinesOnly();
        return (statement.changesTablesOnly() || changesRoutines)
                && (statement.onlyAdds()
                        || session.query("SELECT 1 FROM gorda.by_names LIMIT 1").isEmpty())
                && (!changesRoutines
                        || session.query("SELECT 1 FROM gorda.by_routines LIMIT 1")
                                .isEmpty());
    }

    /** Waits until nobody has changed rows that a statement may concern for which the server does not wait, and keeps others from doing so until the commit. */
    void keepWritersAway(SqlStatement statement) throws SQLException {
        if (!changesTablesOnly(statement)
                && (statement.changesTablesOnly()
                        || statement.changesRoutinesOnly()
                        || statement.changesNames()
                        || !statement.fills().isEmpty())) {
            session.query(database.keepWritersAway(statement));
        }
    }

    /** Others must make way from now on, also for rows: they may have asked for their commits, which wait until this one has ended. */
    void win(Refusal why) throws SQLException {
        if (watch != null) {
            return;
        }
        LockWatch begun = new LockWatch(database, session.process());
        watch = begun;
        begun.begin(why);
    }

    /** What names a temporary relation, as a view of one does, means nothing in others' sessions. */
    private static void requireWithout(String temporary, String sql) {
        for (String name : temporary.lines().toList()) {
            if (Pattern.compile("(?iu)(?<![\\w$])" + Pattern.quote(name) + "(?![\\w$])")
                    .matcher(sql)
                    .find()) {
                throw new RefusedException(Refusal.unsupported(
                        "a statement that names a temporary relation, as this one seems to" + " do with " + name
                                + ", cannot be replicated: make what is TEMPORARY itself of it, or use other names"));
            }
        }
    }

    /** Others' databases have other names. A column is named in the same way, by a schema and a table. */
    private void requireWithoutDatabase(String sql) throws SQLException {
        Matcher qualified = Pattern.compile("(?iu)(?<![\\w$.])\"?" + Pattern.quote(ownDatabase())
                        + "\"?\\s*\\.\\s*(\"?)([^\\s\".()']+)\\1\\s*\\.")
                .matcher(sql);
        while (qualified.find()) {
            String schema =
                    qualified.group(1).isEmpty() ? qualified.group(2).toLowerCase(Locale.ROOT) : qualified.group(2);
            if (!session.query(
                            "SELECT 1 FROM pg_catalog.pg_namespace WHERE nspname = " + PostgresDatabase.literal(schema))
                    .isEmpty()) {
                throw new RefusedException(
                        Refusal.unsupported("a statement with the name of this database before that of schema " + schema
                                + " cannot be replicated: leave it out, others' have other names"));
            }
        }
    }

    private static void requireNotTemporary(String schema) {
        if (schema.startsWith("pg_temp")) {
            throw new RefusedException(
                    Refusal.unsupported(
                            "what is temporary only because search_path begins with pg_temp cannot be told from what is replicated: say TEMPORARY, or put pg_temp last"));
        }
    }

    /** Others need not make way any more. */
    void endWatch() {
        LockWatch ending = watch;
        watch = null;
        if (ending != null) {
            ending.close();
        }
    }

    /** Gets all ready for a statement. */
    void before(SqlStatement statement) throws SQLException {
        if (statement.kind() == Kind.SCHEMA) {
            List<@Nullable String> context = session.query(CONTEXT).get(0);
            String temporary = context.get(3);
            if (!staysHere && statement.creates()) {
                requireNotTemporary(String.valueOf(context.get(2)));
            }
            boolean isSent = !staysHere && !statement.makesTableOfQuery();
            if (temporary != null && isSent) {
                requireWithout(temporary, statement.text());
            }
            if (isSent) {
                requireWithoutDatabase(statement.text());
            }
            user = Objects.requireNonNull(context.get(0));
            String current = Objects.requireNonNull(context.get(1));
            role = current.equals(user) ? "" : current;
            settings = SessionSettings.of(session);
            if (isSent && !SessionSettings.areIso(settings)) {
                throw new RefusedException(Refusal.unsupported(
                        "a change of the schema cannot be replicated from a session whose DateStyle is not ISO:"
                                + " SET DateStyle TO ISO before it, with DMY, MDY or YMD"));
            }
            if (isSent) {
                requireNoPlace(statement);
                requireServersOwn(statement.callsToRetype());
            }
            boolean isReadOnly = "on".equals(context.get(4));
            OwnStatement showing = isSent && !isReadOnly && showsGenerators() ? database.showing(statement) : null;
            if (showing != null) {
                session.query(showing);
            }
        }
        session.query(database.listen());
    }

    private void requireNoPlace(SqlStatement statement) throws SQLException {
        if (!statement.computesByPlace() && !(statement.retypes() && haveMoney(statement.name()))) {
            return;
        }
        String place = SessionSettings.place(session, statement.writesSignOfMoney());
        if (!place.isEmpty()) {
            throw new RefusedException(
                    Refusal.unsupported(
                            "a change of the schema by names and signs that depend on lc_monetary, lc_numeric and lc_time, here '"
                                    + place
                                    + "', cannot be replicated, because other servers may not have them: SET those three TO 'C' before it"));
        }
    }

    /** What has such a name may be called in their place, and is other than that of an extension not known to return the same everywhere. */
    private void requireServersOwn(List<String> functions) throws SQLException {
        if (functions.isEmpty()) {
            return;
        }
        List<List<@Nullable String>> own = session.query(
                "SELECT p.oid::pg_catalog.regprocedure FROM pg_catalog.pg_proc p WHERE p.oid >= 16384 AND p.proname IN ("
                        + functions.stream().map(PostgresDatabase::literal).collect(Collectors.joining(", "))
                        + ") AND NOT EXISTS (SELECT FROM pg_catalog.pg_depend d WHERE d.classid = 'pg_catalog.pg_proc'::pg_catalog.regclass"
                        + " AND d.objid = p.oid AND d.deptype = 'e') LIMIT 1");
        if (!own.isEmpty()) {
            throw new RefusedException(
                    Refusal.unsupported("values that each replica would compute for itself, perhaps by "
                            + own.get(0).get(0) + ", which is called as one of the server's functions,"
                            + " cannot be replicated: update the rows instead"));
        }
    }

    private boolean haveMoney(String relations) throws SQLException {
        for (String name : relations.lines().toList()) {
            if (!session.query("SELECT 1 FROM pg_catalog.pg_attribute WHERE attrelid = pg_catalog.to_regclass("
                            + PostgresDatabase.literal(name)
                            + ") AND atttypid = 'pg_catalog.money'::pg_catalog.regtype LIMIT 1")
                    .isEmpty()) {
                return true;
            }
        }
        return false;
    }

    private boolean showsGenerators() {
        return !staysHere && database.leases().haveBegun();
    }

    /** The statement has ended well; the session is listened to still. */
    void after(SqlStatement statement) throws SQLException {
        if (statement.kind() != Kind.SCHEMA || staysHere) {
            return;
        }
        if (statement.makesTableOfQuery()) {
            afterQuery();
            return;
        }
        if (statement.truncates()) {
            session.query(TRUNCATED);
        }
        send(statement.text());
        if (showsGenerators()) {
            session.query(database.hiding(statement));
        }
        database.captureNewTables(session);
    }

    /** Others make the table that there is now, and get its rows. */
    private void afterQuery() throws SQLException {
        List<List<@Nullable String>> made = session.query("SELECT relid, statement FROM gorda.made()");
        for (List<@Nullable String> table : made) {
            send(Objects.requireNonNull(table.get(1)));
        }
        database.captureNewTables(session);
        for (List<@Nullable String> table : made) {
            session.query(database.tellRows(Objects.requireNonNull(table.get(0))));
        }
    }

    private void send(String sql) {
        out.statement(user, role, settings, sql, List.of());
    }
}
