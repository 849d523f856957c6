package org.gorda.bindings.postgresql;

import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;

/** What a statement that changes the schema means besides its words, which is the same on all replicas: settings of its session. Stateless. */
final class SessionSettings {

    private static final List<String> NAMES = List.of(
            "search_path",
            "TimeZone",
            "DateStyle",
            "IntervalStyle",
            "standard_conforming_strings",
            "check_function_bodies",
            "bytea_output",
            "extra_float_digits",
            "default_text_search_config",
            "array_nulls",
            "transform_null_equals",
            "xmlbinary",
            "xmloption");

    private static final String READ = NAMES.stream()
            .map(name -> "pg_catalog.current_setting('" + name + "')")
            .collect(Collectors.joining(", ", "SELECT row(", ")::pg_catalog.text"));

    private SessionSettings() {}

    /** All of them, as one text. */
    static String of(SqlSession session) throws SQLException {
        return Objects.requireNonNull(session.query(READ).get(0).get(0));
    }

    /** Whether dates are written so that the applier's driver, which knows no other way, goes on when they are set. */
    static boolean areIso(String settings) {
        String dates = new RowText(settings, 0).row().get(NAMES.indexOf("DateStyle"));
        return dates != null && dates.startsWith("ISO");
    }

    /** Sets all of them, until the end of the transaction. */
    static void set(SqlSession session, String settings) throws SQLException {
        List<@Nullable String> values = new RowText(settings, 0).row();
        StringBuilder sql = new StringBuilder("SELECT ");
        for (int i = 0; i < NAMES.size(); i++) {
            sql.append(i == 0 ? "" : ", ")
                    .append("pg_catalog.set_config('")
                    .append(NAMES.get(i))
                    .append("', ")
                    .append(PostgresDatabase.literal(Objects.requireNonNullElse(values.get(i), "")))
                    .append(", true)");
        }
        session.query(sql.toString());
    }
}
