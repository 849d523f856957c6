package org.gorda.jdbc;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

/**
 * What an application is told with a 40001 that it lost against another transaction, field by field. By the network an error comes as
 * a text alone, and embedded connections throw the engine's own exceptions: so it is read from the message. Immutable.
 *
 * @param table as SQL writes it, {@code "APP"."T"}; several, with "or" between them, if it is not known which
 * @param key the primary key of the row, in parentheses; empty if it is not known, or if it was the schema
 * @param transaction the winner's id; empty if it was ordered too long ago
 * @param member the replica where the winner ran; empty as well
 * @param position the winner's place in the order
 * @param age how long before it had been ordered; empty if that was too long ago
 */
public record LostConflict(
        String table, String key, String transaction, String member, long position, Optional<Duration> age) {

    private static final Pattern TEXT = Pattern.compile(
            "conflict on (?:the schema[^:]*|a key of (?<tables>\".*?\")|(?<table>\".*?\") key (?<key>\\(.*?\\))):"
                    + " (?:transaction (?<id>\\S+) of replica (?<member>\\S+)|a transaction), ordered at (?<position>\\d+)"
                    + "(?:, (?<age>\\d+) ms ago)?,",
            Pattern.DOTALL);

    /** Empty if neither the exception nor one that follows it tells of a lost conflict. */
    public static Optional<LostConflict> of(SQLException failure) {
        for (SQLException e = failure; e != null; e = e.getNextException()) {
            Matcher found = TEXT.matcher(String.valueOf(e.getMessage()));
            if ("40001".equals(e.getSQLState()) && found.find()) {
                return Optional.of(new LostConflict(
                        group(found, "table") + group(found, "tables"),
                        group(found, "key"),
                        group(found, "id"),
                        group(found, "member"),
                        Long.parseLong(found.group("position")),
                        Optional.ofNullable(found.group("age"))
                                .map(Long::valueOf)
                                .map(Duration::ofMillis)));
            }
        }
        return Optional.empty();
    }

    private static String group(Matcher found, String name) {
        String text = found.group(name);
        return text == null ? "" : text;
    }
}
