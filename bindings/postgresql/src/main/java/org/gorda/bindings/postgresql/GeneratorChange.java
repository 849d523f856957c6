package org.gorda.bindings.postgresql;

import java.util.regex.Pattern;
import java.util.stream.Collectors;
import org.gorda.bindings.postgresql.wire.OwnStatement;
import org.gorda.bindings.postgresql.wire.SqlStatement;
import org.jspecify.annotations.Nullable;

/** What a statement that changes the schema may have to do with generators whose values are leased, by its words. */
enum GeneratorChange {
    /** It may change those of the relations that it names. */
    ALTERS,
    /** It sets where they go on. */
    SETS,
    /** It may make some like others. */
    COPIES,
    NONE;

    private static final Pattern COMMENT = Pattern.compile("(?s)/\\*.*?\\*/|--[^\\n]*");
    private static final Pattern ALTER = Pattern.compile(
            "(?is)ALTER\\s+(SEQUENCE\\b.*|TABLE\\b.*\\b(IDENTITY|RESTART|INCREMENT|MAXVALUE|MINVALUE|CYCLE|CACHE|START|TYPE|LOGGED|UNLOGGED)\\b.*)");
    private static final Pattern SET = Pattern.compile("(?is)SELECT\\b.*");
    private static final Pattern LIKE = Pattern.compile("(?is)CREATE\\b.*\\bTABLE\\b.*[(,]\\s*LIKE\\b.*");

    static GeneratorChange of(SqlStatement statement) {
        String words = COMMENT.matcher(statement.text()).replaceAll(" ");
        return ALTER.matcher(words).matches()
                ? ALTERS
                : SET.matcher(words).matches() ? SETS : LIKE.matcher(words).matches() ? COPIES : NONE;
    }

    /** Has those generators show their own bounds; null if there is no need. */
    @Nullable
    OwnStatement showing(SqlStatement statement, String token) {
        if (this == NONE) {
            return null;
        }
        String relations = this == COPIES || statement.name().isEmpty()
                ? "NULL"
                : statement
                        .name()
                        .lines()
                        .map(name -> "pg_catalog.to_regclass(" + PostgresDatabase.literal(name) + ")")
                        .collect(Collectors.joining(", ", "ARRAY[", "]::pg_catalog.oid[]"));
        return OwnStatement.once("SELECT gorda.show_generators(" + PostgresDatabase.literal(token) + ", " + relations
                + ", '" + this + "')");
    }
}
