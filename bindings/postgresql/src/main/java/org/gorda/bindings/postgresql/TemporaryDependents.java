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
 * The temporary views and tables that clients of one server have made of what is replicated. Where they were not, a change of the schema has succeeded that the
 * server refuses for them.
 */
final class TemporaryDependents {

    private static final Set<String> IN_THE_WAY = Set.of("2BP01", "0A000");

    private static final Pattern NAME = Pattern.compile("pg_temp_\\d+\\.(\"([^\"]|\"\")*\"|[\\w$]+)");

    /** The server does not name those that have a table's or type's columns. */
    private static final String HEIRS = "c.relpersistence = 't' AND (c.reloftype <> 0"
            + " OR EXISTS (SELECT FROM pg_inherits i WHERE i.inhrelid = c.oid))";

    private TemporaryDependents() {}

    /**
     * Drops those for which the server refuses a statement, with its owner's authority.
     *
     * @return their names; empty if the failure has another reason
     */
    static List<String> drop(SqlSession session, SQLException failure) throws SQLException {
        if (!IN_THE_WAY.contains(String.valueOf(failure.getSQLState()))
                || !(failure instanceof PSQLException refusal)
                || refusal.getServerErrorMessage() == null) {
            return List.of();
        }
        List<String> dropped = new ArrayList<>();
        for (List<@Nullable String> row : session.query(
                "SELECT c.oid::regclass, CASE relkind WHEN 'v' THEN 'VIEW' WHEN 'S' THEN 'SEQUENCE' ELSE 'TABLE' END FROM pg_class c"
                        + " WHERE relkind IN ('r', 'p', 'v', 'S') AND "
                        + those(refusal.getServerErrorMessage()))) {
            String name = Objects.requireNonNull(row.get(0));
            session.query("DROP " + row.get(1) + " IF EXISTS " + name + " CASCADE"); // one may have gone with another
            dropped.add(name);
        }
        return dropped;
    }

    private static String those(ServerErrorMessage refusal) {
        List<String> named = new ArrayList<>();
        if (refusal.getDetail() != null) {
            Matcher name = NAME.matcher(refusal.getDetail());
            while (name.find()) {
                named.add("to_regclass(" + PostgresDatabase.literal(name.group()) + ")");
            }
        }
        return named.isEmpty() ? HEIRS : "c.oid IN (" + String.join(", ", named) + ")";
    }
}
