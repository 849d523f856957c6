package org.gorda.bindings.postgresql.wire;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.jspecify.annotations.Nullable;

/** Which statements of ours stay prepared on a client's connection, besides the client's. Thread-safe, but for {@link #name}: confined to who sends. */
final class KeptStatements {

    /** Of the portal, and of the statement that is executed once. */
    static final String NAME = "gorda";

    /** Of clients' statements so many are replaced by ours in a session, at most. */
    private static final int SUBSTITUTES_MAX = 250;

    private final Map<String, String> names = new HashMap<>();
    private final Set<String> prepared = ConcurrentHashMap.newKeySet();

    /** How it is named. */
    String name(OwnStatement statement) {
        return statement.isKept() ? names.computeIfAbsent(statement.sql(), sql -> NAME + "_" + names.size()) : NAME;
    }

    /** How the substitute of a client's statement is named; null if there are too many. */
    @Nullable
    String name(String sql, List<Integer> types) {
        String key = types + sql;
        if (names.size() >= SUBSTITUTES_MAX && !names.containsKey(key)) {
            return null;
        }
        return names.computeIfAbsent(key, added -> NAME + "_" + names.size());
    }

    boolean isPrepared(String name) {
        return prepared.contains(name);
    }

    /** The server has prepared it. */
    void prepared(String name) {
        if (!name.equals(NAME)) {
            prepared.add(name);
        }
    }

    /** Some may not be there any more. */
    void forget() {
        prepared.clear();
    }

    /** Whether a statement, or what the server says when it is through, is about statements that are dropped. */
    static boolean drops(String text) {
        String start = text.substring(0, Math.min(10, text.length())).toUpperCase(Locale.ROOT);
        return start.startsWith("DEALLOCATE") || start.startsWith("DISCARD");
    }
}
