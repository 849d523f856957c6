package org.gorda.bindings.postgresql;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.gorda.bindings.postgresql.wire.PlainStatement;
import org.gorda.bindings.postgresql.wire.PlainStatement.Verb;
import org.gorda.bindings.postgresql.wire.SqlStatement;
import org.gorda.bindings.postgresql.wire.Substitute;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.jspecify.annotations.Nullable;

/**
 * What is known of a session in which nothing but plain statements was executed since it was asked, by {@code gorda.footing}: none of its settings is in the way,
 * and it has no relations of its own. Holds until the schema changes, or a reload of the server's configuration changes what it was asked for. Confined to who sends the client's messages, but for {@link #holds}.
 */
final class Footing {

    /** How the session's texts are. */
    private static final char AS_OURS = 'o';

    private static final String TRUE = "t";

    /** Substitutes that are remembered. */
    private static final int REMEMBERED_MAX = 250;

    private final PostgresDatabase database;
    private final ProvableTables tables;
    private final boolean isAsOurs;
    private final Set<String> unreadable;
    private final String session;
    private final Map<String, Substitute> remembered = new HashMap<>();
    private volatile boolean isSetOtherwise;

    /** Takes the changes of rows that statements return. */
    interface Changes {
        void returned(ProvableTable table, PlainStatement statement, List<@Nullable String> row);
    }

    /**
     * Takes what the session has told.
     *
     * @param session its mark
     */
    Footing(PostgresDatabase database, ProvableTables tables, String told, String session) {
        this.database = database;
        this.tables = tables;
        this.isAsOurs = told.charAt(0) == AS_OURS;
        this.unreadable = Set.of(told.substring(1).split(",", -1));
        this.session = session;
    }

    /** Whether neither the schema nor its settings have changed, as far as is known. */
    boolean holds() {
        return !isSetOtherwise && tables.schemaChanges() == database.schemaChanges();
    }

    private static void require(boolean isUnchanged) {
        if (!isUnchanged) {
            throw new RefusedException(changedMeanwhile());
        }
    }

    private void requireSettings(@Nullable String areAsAsked) {
        if (!TRUE.equals(areAsAsked)) {
            isSetOtherwise = true;
            throw new RefusedException(
                    new Refusal(
                            Refusal.Cause.CONFLICT,
                            "the server's configuration was reloaded, and a setting of this session is another one now: run the transaction again"));
        }
    }

    static Refusal changedMeanwhile() {
        return new Refusal(
                Refusal.Cause.CONFLICT,
                "the schema was changed while a statement was executed: run the transaction again");
    }

    private @Nullable ProvableTable proving(PlainStatement statement) {
        ProvableTable table = tables.proving(statement);
        return table == null || unreadable.contains(table.identity()) ? null : table;
    }

    /** Whether a statement changes nothing, in no way. */
    boolean isRead(PlainStatement statement) {
        return statement.verb() == Verb.SELECT && proving(statement) != null;
    }

    /** What returns the rows that a statement changes; null if that cannot be told by what it returns. */
    @Nullable
    Substitute substitute(SqlStatement statement, PlainStatement plain, Changes changes) {
        if (plain.verb() == Verb.SELECT) {
            return null;
        }
        Substitute known = remembered.get(statement.text());
        if (known != null) {
            return known;
        }
        ProvableTable table = proving(plain);
        if (table == null || (table.isBySettings() && !isAsOurs) || remembered.size() == REMEMBERED_MAX) {
            return null;
        }
        Substitute.Rows rows = new Substitute.Rows() {
            @Override
            public void row(List<@Nullable String> values) {
                require(holds() && table.identity().equals(values.get(0)));
                requireSettings(values.get(1));
                changes.returned(table, plain, values.subList(2, values.size()));
            }

            /** A trigger that is new on the table may have changed others, which was marked as told, and nothing that is returned. */
            @Override
            public void end() {
                require(holds());
            }
        };
        Substitute made = new Substitute(session + table.returning(statement.text(), plain), rows);
        remembered.put(statement.text(), made);
        return made;
    }
}
