package org.gorda.bindings.postgresql;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.jspecify.annotations.Nullable;
import org.postgresql.util.PSQLException;
import org.postgresql.util.ServerErrorMessage;

/**
 * What clients of one server have made for themselves, as temporary views, tables, functions and types, of what is replicated. Where it was not, a change of the schema has
 * succeeded that the server refuses for it.
 */
final class TemporaryDependents {

    /** It depends on what is dropped, or uses what is changed; its rows, or columns, do not fit. */
    private static final Set<String> IN_THE_WAY = Set.of("2BP01", "0A000", "23502", "23514", "42804");

    private static final String NAME = "pg_temp_[0-9]+\\.(\"([^\"]|\"\")*\"|[^\\s(\"]+)";

    private static final Pattern NAMES = Pattern.compile(NAME);

    /** What lies in the schemas of sessions, and the name by which the server tells of it; a table also by that of its index. */
    private static final String OWN =
            "SELECT d.classid, d.objid, d.objid AS named FROM pg_depend d JOIN pg_namespace n ON d.refclassid = 'pg_namespace'::regclass AND d.refobjid = n.oid"
                    + " WHERE n.nspname ~ '^pg_temp_[0-9]+$'"
                    + " UNION ALL SELECT 'pg_class'::regclass, indrelid, indexrelid FROM pg_index JOIN pg_class ON oid = indexrelid WHERE relpersistence = 't'";

    private static final String TABLES =
            "o.classid = 'pg_class'::regclass AND o.objid IN (SELECT c.oid FROM pg_class c WHERE c.relpersistence = 't' AND ";

    /** The server does not name those that have a table's or type's columns; and those with columns of a type by a part of their names. */
    private static final List<String> UNNAMED = List.of(
            TABLES + "(c.reloftype <> 0 OR EXISTS (SELECT FROM pg_inherits WHERE inhrelid = c.oid)))",
            TABLES + "EXISTS (SELECT FROM pg_depend t WHERE t.classid = 'pg_class'::regclass AND t.objid = c.oid"
                    + " AND t.refclassid = 'pg_type'::regclass AND t.refobjid >= 16384))");

    private TemporaryDependents() {}

    /**
     * Drops what the server refuses a statement for, with its owner's authority; of a table all, if it is only a part of it.
     *
     * @return their names; empty if the failure has another reason
     */
    static List<String> drop(SqlSession session, SQLException failure) throws SQLException {
        if (!IN_THE_WAY.contains(String.valueOf(failure.getSQLState()))
                || !(failure instanceof PSQLException refusal)
                || refusal.getServerErrorMessage() == null) {
            return List.of();
        }
        for (String those : those(refusal.getServerErrorMessage())) {
            List<String> dropped = dropThose(session, those);
            if (!dropped.isEmpty()) {
                return dropped;
            }
        }
        return List.of();
    }

    private static List<String> dropThose(SqlSession session, String those) throws SQLException {
        List<String> dropped = new ArrayList<>();
        for (List<@Nullable String> row :
                session.query("SELECT DISTINCT upper(replace(i.type, ' object', '')), i.identity FROM (" + OWN
                        + ") o, pg_identify_object(o.classid, o.objid, 0) i, pg_identify_object(o.classid, o.named, 0) n WHERE "
                        + those)) {
            String identity = Objects.requireNonNull(row.get(1));
            session.query(
                    "DROP " + row.get(0) + " IF EXISTS " + identity + " CASCADE"); // one may have gone with another
            dropped.add(identity);
        }
        return dropped;
    }

    /** What it may be, the most probable first. */
    private static List<String> those(ServerErrorMessage refusal) {
        List<String> named = new ArrayList<>();
        if (refusal.getDetail() != null) {
            Matcher name = NAMES.matcher(refusal.getDetail());
            while (name.find()) {
                named.add(PostgresDatabase.literal(name.group()));
            }
        }
        return named.isEmpty()
                ? UNNAMED
                : List.of("substring(n.identity FROM " + PostgresDatabase.literal("^(" + NAME + ")") + ") IN ("
                        + String.join(", ", named) + ")");
    }
}
