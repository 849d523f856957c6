package org.gorda.bindings.postgresql.wire;

import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;

/**
 * The database that a statement grants rights on, comments on, or sets something for a role in. It has another name on each replica. Immutable.
 *
 * @param before the statement up to its name
 * @param name as the server compares names
 * @param after the statement behind it
 */
public record NamedDatabase(String before, String name, String after) {

    /** One database, and no comments before it. */
    private static final Pattern NAMES = Pattern.compile(
            "(?is)(?<before>((GRANT|REVOKE)\\s[\\w\\s,]*?\\sON|COMMENT\\s+ON"
                    + "|SECURITY\\s+LABEL\\s+(FOR\\s+('[^']*'|[^\\s'\"]+|\"[^\"]*\")\\s+)?ON"
                    + "|ALTER\\s+(ROLE|USER)\\s+([^\\s\"]+|\"[^\"]*\")\\s+IN)\\s+DATABASE\\s+)"
                    + "(?<name>\"(?:[^\"]|\"\"){1,200}\"|[\\w$\\x{80}-\\x{10ffff}]+)(?<after>\\s+(TO|FROM|IS|SET|RESET)\\b.*)");

    /** What a statement names so; null if it does not, or not as it is understood here. */
    public static @Nullable NamedDatabase of(String sql) {
        Matcher names = NAMES.matcher(sql);
        if (!names.matches()) {
            return null;
        }
        String written = names.group("name");
        String name = written.startsWith("\"")
                ? written.substring(1, written.length() - 1).replace("\"\"", "\"")
                : SqlLexer.inCase(written, 'A', 'a');
        return new NamedDatabase(names.group("before"), name, names.group("after"));
    }

    /** The statement with another one in its place. */
    public String with(String database) {
        return before + TableShape.quoted(database) + after;
    }
}
