package org.gorda.bindings.postgresql.wire;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.gorda.bindings.postgresql.wire.SqlStatement.Kind;
import org.jspecify.annotations.Nullable;

/**
 * What the statements of a client's session are: by its settings, as far as the server has told of them, and by what the client has prepared, which the
 * server has taken or may take yet. Thread-safe.
 */
final class ClientStatements {

    /** What may be anything. */
    private static final SqlStatement UNKNOWN = new SqlStatement(Kind.CALL, "", "");

    private final Map<String, SqlStatement> taken = new HashMap<>();
    private final Map<String, SqlStatement> pending = new HashMap<>();
    private final Map<String, SqlStatement> portals = new HashMap<>();
    private final Map<String, Substitute> substitutes = new HashMap<>();
    private boolean standardStrings = true;
    private String encoding = "UTF8";
    private boolean isUnderstood = true;

    /** The server tells of a setting. */
    synchronized void setting(String name, String value) {
        if (name.equals("standard_conforming_strings")) {
            standardStrings = value.equals("on");
        } else if (name.equals("client_encoding")) {
            encoding = value;
            isUnderstood = ClientEncoding.isUnderstood(value);
        }
    }

    /** What a text consists of. */
    synchronized List<SqlStatement> of(String text) {
        if (text.equals(ClientMessage.MALFORMED)) {
            return List.of(SqlStatement.refused(
                    "",
                    isUnderstood
                            ? "the statement has bytes that are not UTF8, as the database's are"
                            : ClientEncoding.refusal(encoding)));
        }
        return SqlLexer.statements(text, standardStrings).stream()
                .map(this::check)
                .toList();
    }

    private SqlStatement check(SqlStatement statement) {
        if (statement.kind() == Kind.CALL && !statement.name().isEmpty()) {
            SqlStatement executed = find(statement.name());
            if (!executed.kind().isPlain()) {
                return SqlStatement.refused(
                        statement.text(),
                        "EXECUTE of what is no query cannot be replicated: execute it by the protocol");
            }
        }
        if (!isUnderstood && statement.kind() != Kind.PASS && statement.kind() != Kind.ROLLBACK) {
            return SqlStatement.refused(statement.text(), ClientEncoding.refusal(encoding));
        }
        boolean mayChange = statement.fetches()
                && portals.values().stream().anyMatch(bound -> bound.kind().mayChange());
        return mayChange ? new SqlStatement(Kind.CALL, statement.text(), "") : statement;
    }

    /** The client has one prepared. */
    synchronized SqlStatement parse(String name, String text, List<Integer> types) {
        SqlStatement statement = of(text).stream().findFirst().orElse(UNKNOWN).with(types);
        if (statement.kind() != Kind.REFUSED) {
            pending.put(name, statement);
        }
        return statement;
    }

    /** The server has taken it. */
    synchronized void parsed(String name, SqlStatement statement) {
        taken.put(name, statement);
    }

    synchronized void closed(String name) {
        taken.remove(name);
    }

    /**
     * The server has dropped what a statement says.
     *
     * @param tag what it says of that
     */
    synchronized void dropped(String tag, @Nullable SqlStatement by) {
        if (tag.endsWith(" ALL")) {
            taken.keySet().retainAll(Set.of("")); // it has no name
        } else if (by != null && tag.equals("DEALLOCATE")) {
            taken.remove(by.name());
        }
    }

    /** All that was sent is answered. */
    synchronized void settle() {
        pending.clear();
    }

    private SqlStatement find(String name) {
        SqlStatement found = pending.get(name);
        return found == null ? taken.getOrDefault(name, UNKNOWN) : found;
    }

    /** The client binds a portal to a prepared statement. */
    synchronized SqlStatement bind(String portal, String name) {
        SqlStatement statement = find(name);
        portals.put(portal, statement);
        substitutes.remove(portal);
        return statement;
    }

    /** What the portal that was just bound is bound to in place of the client's statement. */
    synchronized void substitute(String portal, Substitute substitute) {
        substitutes.put(portal, substitute);
    }

    /** Null if the portal is bound to the client's statement. */
    synchronized @Nullable Substitute substitute(String portal) {
        return substitutes.get(portal);
    }

    synchronized SqlStatement bound(String portal) {
        return portals.getOrDefault(portal, UNKNOWN);
    }

    /** They end with their transaction. */
    synchronized void dropPortals() {
        portals.clear();
        substitutes.clear();
    }
}
