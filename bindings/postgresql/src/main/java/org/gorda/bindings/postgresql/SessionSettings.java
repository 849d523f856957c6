package org.gorda.bindings.postgresql;

import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.gorda.bindings.postgresql.wire.SqlStatement;
import org.jspecify.annotations.Nullable;

/** What a statement that changes the schema means besides its words, which is the same on all replicas: settings of its session. Stateless. */
final class SessionSettings {

    private static final List<String> NAMES = SqlStatement.SETTINGS;

    private static final String PLACES =
            "SELECT pg_catalog.current_setting('lc_monetary'), pg_catalog.current_setting('lc_numeric'),"
                    + " pg_catalog.current_setting('lc_time')";

    private static final String READ = NAMES.stream()
            .map(name -> "pg_catalog.current_setting('" + name + "')")
            .collect(Collectors.joining(", ", "SELECT row(", ")::pg_catalog.text"));

    /** Where appliers are, and where names and signs are the same but for that of money. */
    private static final Pattern NOWHERE = Pattern.compile("(?i)(C|POSIX)([.@].*)?");

    private static final Pattern AS_NOWHERE = Pattern.compile(NOWHERE.pattern() + "|(?i)en_US([.@].*)?");

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

    /**
     * The settings that say how values are read and written at some place, if one is not as the applier has it: those of other places are not to be had on each server.
     *
     * @param sign whether that of money matters
     */
    static String place(SqlSession session, boolean sign) throws SQLException {
        List<String> places =
                session.query(PLACES).get(0).stream().map(String::valueOf).toList();
        boolean isNowhere =
                places.stream().allMatch(place -> AS_NOWHERE.matcher(place).matches());
        boolean hasSign = sign && !NOWHERE.matcher(places.get(0)).matches();
        return isNowhere && !hasSign ? "" : String.join(", ", places);
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
