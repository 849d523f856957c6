package org.gorda.bindings.postgresql.wire;

import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/** What a client's prepared statements and portals are: what the server has taken, and what it may take yet. Thread-safe. */
final class PreparedStatements {

    private final Map<String, SqlStatement> taken = new HashMap<>();
    private final Map<String, SqlStatement> pending = new HashMap<>();
    private final Map<String, SqlStatement> portals = new HashMap<>();

    synchronized void parse(String name, SqlStatement statement) {
        pending.put(name, statement);
    }

    /** The server has taken it. */
    synchronized void parsed(String name, SqlStatement statement) {
        taken.put(name, statement);
    }

    synchronized void closed(String name) {
        taken.remove(name);
    }

    /** All that was sent is answered. */
    synchronized void settle() {
        pending.clear();
    }

    @Nullable
    synchronized SqlStatement find(String name) {
        SqlStatement found = pending.get(name);
        return found == null ? taken.get(name) : found;
    }

    synchronized void bind(String portal, @Nullable SqlStatement statement) {
        if (statement == null) {
            portals.remove(portal);
        } else {
            portals.put(portal, statement);
        }
    }

    @Nullable
    synchronized SqlStatement portal(String name) {
        return portals.get(name);
    }

    /** They end with their transaction. */
    synchronized void dropPortals() {
        portals.clear();
    }
}
