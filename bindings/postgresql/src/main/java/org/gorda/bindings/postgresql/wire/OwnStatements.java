package org.gorda.bindings.postgresql.wire;

import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;

/** How statements of ours are executed on a client's connection, besides the client's: those that come again and again stay prepared. Thread-safe. */
final class OwnStatements {

    /** Of the portal, and of the statement that is executed once. */
    static final String NAME = "gorda";

    private final Map<String, String> names = new HashMap<>();
    private final Set<String> prepared = ConcurrentHashMap.newKeySet();

    /** @param repeated what comes again and again */
    OwnStatements(List<String> repeated) {
        repeated.forEach(sql -> names.put(sql, NAME + "_" + names.size()));
    }

    /** How it is named. */
    String name(String sql) {
        return names.getOrDefault(sql, NAME);
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
