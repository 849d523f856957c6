package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Function;
import org.jspecify.annotations.Nullable;

/**
 * Transactions of one kind, on tables of its own. A new workload is one class with a {@link Kind}, which {@link org.gorda.bench.catalogue.Workloads} lists.
 * Thread-safe.
 */
public interface Workload {

    /**
     * What users choose from. Immutable.
     *
     * @param name lower case, words divided by {@code -}
     * @param text what its transactions do, in a sentence
     * @param parameters what can be chosen about it
     * @param make makes one with given values
     */
    record Kind(String name, String text, List<Parameter> parameters, Function<Parameters, Workload> make) {}

    /**
     * What one transaction draws from. A transaction that is run again gets the same.
     *
     * @param client whose it is, from 0
     * @param random for this transaction alone
     * @param name of the transaction, at most 22 characters; no other has it, in any run
     */
    record Choices(int client, SplittableRandom random, String name) {

        /** Whether to do what is done in so many of a hundred cases. */
        boolean chance(int percent) {
            return percent > 0 && random.nextInt(100) < percent;
        }
    }

    /**
     * What was found in the end. Immutable.
     *
     * @param text for people; empty if there is nothing to find
     */
    record Check(boolean consistent, String text) {

        static final Check NOTHING = new Check(true, "");
    }

    /** Told how it goes while tables are filled. */
    interface Loading {
        void loaded(long rows, long ofAll);
    }

    Kind kind();

    /** Makes the tables and fills them as far as they are not there. */
    void load(Connection connection, Loading progress) throws SQLException;

    /** Whether this connection shows all that was loaded; those to other replicas may do so later. */
    boolean isLoaded(Connection connection) throws SQLException;

    /**
     * Runs one transaction on a connection without auto-commit, and commits it.
     *
     * @throws SQLException to be rolled back
     */
    void run(Connection connection, Choices choices) throws SQLException;

    /** Looks whether what must hold does, while nobody changes anything. The caller rolls back. */
    default Check check(Connection connection) throws SQLException {
        return Check.NOTHING;
    }

    /** Within which time nine of ten transactions must have their answer; null if that is not asked. */
    default @Nullable Duration responseLimit() {
        return null;
    }
}
