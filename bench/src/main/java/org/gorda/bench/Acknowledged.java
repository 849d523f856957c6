package org.gorda.bench;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.BitSet;
import java.util.HashMap;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Which transactions were acknowledged to a load test's clients, by name; one bit each. Names are {@code run-client-number}.
 * Thread-safe.
 */
public final class Acknowledged {

    /** More transactions of one client would have names that are too long. */
    static final int NUMBER_MAX = 99_999_999;

    private static final int RUN_DIGITS = 8;

    private final String run;
    private final Map<Integer, BitSet> numbers = new HashMap<>();
    private final Map<Integer, BitSet> unknown = new HashMap<>();
    private long count;

    Acknowledged(int run) {
        this.run = String.format("%08x", run);
    }

    /** The name of a client's transaction, 22 characters. */
    String name(int client, int number) {
        return String.format("%s-%04d-%08d", run, client, number);
    }

    synchronized void acknowledged(int client, int number) {
        numbers.computeIfAbsent(client, any -> new BitSet()).set(number);
        count++;
    }

    /** The client was told that nobody knows whether it happened. */
    synchronized void unknown(int client, int number) {
        unknown.computeIfAbsent(client, any -> new BitSet()).set(number);
    }

    public synchronized long count() {
        return count;
    }

    /** Looks for all of them among what a replica holds. */
    public Lookup lookup() {
        return new Lookup();
    }

    /** One replica's history, looked through. Confined to one thread. */
    public final class Lookup {
        private final Map<Integer, BitSet> found = new HashMap<>();
        private long foundCount;
        private long unexpected;
        private @Nullable String firstUnexpected;

        /** Reads the history of one replica's own database. */
        public Lookup in(Connection connection) throws SQLException {
            try (Statement statement = connection.createStatement();
                    ResultSet names = statement.executeQuery("SELECT filler FROM history")) {
                while (names.next()) {
                    found(names.getString(1));
                }
            }
            return this;
        }

        /** One more row of the history. */
        void found(String name) {
            if (!name.startsWith(run)) {
                return; // of another run
            }
            int client = Integer.parseInt(name.substring(RUN_DIGITS + 1, RUN_DIGITS + 5));
            int number = Integer.parseInt(name.substring(RUN_DIGITS + 6).strip());
            found.computeIfAbsent(client, any -> new BitSet()).set(number);
            if (is(numbers, client, number)) {
                foundCount++;
            } else if (!is(unknown, client, number)) {
                unexpected++;
                firstUnexpected = firstUnexpected == null ? name : firstUnexpected;
            }
        }

        private boolean is(Map<Integer, BitSet> of, int client, int number) {
            synchronized (Acknowledged.this) {
                BitSet bits = of.get(client);
                return bits != null && bits.get(number);
            }
        }

        /** How many were acknowledged and are not there. */
        public long lost() {
            return count() - foundCount;
        }

        /** How many are there although the client was told that they are not. */
        public long unexpected() {
            return unexpected;
        }

        /** The name of one of them. */
        public @Nullable String firstUnexpected() {
            return firstUnexpected;
        }
    }
}
