package org.gorda.cli.applications;

import java.sql.SQLException;
import java.sql.SQLTransientConnectionException;
import java.time.Duration;

/** What a program meets when the primary changes. */
final class Interruptions {

    private static final Duration PATIENCE = Duration.ofSeconds(90);

    private Interruptions() {}

    /** Whether it says: that did not happen, run it again, perhaps on another connection. */
    static boolean isOne(Throwable failure) {
        for (Throwable at = failure; at != null; at = at.getCause()) {
            if (at instanceof SQLException sql) {
                for (SQLException e = sql; e != null; e = e.getNextException()) {
                    if (saysRunAgain(e)) {
                        return true;
                    }
                }
            }
        }
        return false;
    }

    private static boolean saysRunAgain(SQLException e) {
        String state = String.valueOf(e.getSQLState());
        boolean known = !state.equals("08007"); // nobody knows whether it happened
        return known
                && (e instanceof SQLTransientConnectionException
                        || isClosedByPool(e)
                        || state.matches("40001|08.*|57P..|25006"));
    }

    /** What HikariCP answers to a rollback on a connection that was lost; Spring gives this in place of what led to it. */
    private static boolean isClosedByPool(SQLException e) {
        return e.getSQLState() == null && "Connection is closed".equals(e.getMessage());
    }

    /** Runs an application until it comes to its end. */
    static void overcome(Application application, Runnable midway) throws Exception {
        long end = System.nanoTime() + PATIENCE.toNanos();
        while (true) {
            try {
                application.run(midway);
                return;
            } catch (Exception e) {
                if (!isOne(e) || System.nanoTime() - end > 0) {
                    throw e;
                }
            }
        }
    }
}
