package org.gorda.gapi;

/**
 * Why a client is refused something, as it is told at the JDBC edge. Immutable.
 *
 * @param cause decides the SQLSTATE
 * @param message what, where, which value, what to do
 */
public record Refusal(Cause cause, String message) {

    /** Of what the database can do, but cannot be replicated. */
    public static Refusal unsupported(String message) {
        return new Refusal(Cause.UNSUPPORTED, message);
    }

    /** The causes with their SQLSTATE; the one table that maps what goes wrong to what an application sees. */
    public enum Cause {
        /** Another transaction won; the same transaction may succeed when tried again. */
        CONFLICT("40001"),
        /** The primary changed while the transaction ran; it did not happen. */
        PRIMARY_CHANGED("40001"),
        /** An ordered transaction needed a lock that this one held. */
        PRIORITY("40001"),
        /** What the transaction waited for was not ordered, or not shown here, in time; it did not happen. */
        OVERDUE("40001"),
        /** This replica is a backup: writes belong to the primary. */
        BACKUP("25006"),
        /** This replica cannot reach a majority of its group. */
        NO_MAJORITY("08006"),
        /** This replica is stopping or was stopped. */
        STOPPED("57P01"),
        /** Whether the transaction happened is not known here: ask for its outcome. */
        UNKNOWN_OUTCOME("08007"),
        /** The database can do this, but it cannot be replicated. */
        UNSUPPORTED("0A000"),
        /** The transaction changes more than the group is configured to carry. */
        TOO_LARGE("54000"),
        /** The disk of this replica cannot hold what the transaction changes until its commit. */
        DISK_FULL("53100");

        private final String sqlState;

        Cause(String sqlState) {
            this.sqlState = sqlState;
        }

        public String sqlState() {
            return sqlState;
        }

        /** Whether the session is closed, because it is of no use any more on this replica. */
        public boolean endsSession() {
            return sqlState.startsWith("08") || sqlState.startsWith("57P");
        }

        /** Whether the transaction is rolled back, and the session goes on. */
        public boolean endsTransaction() {
            return sqlState.startsWith("40") || this == TOO_LARGE || this == DISK_FULL;
        }
    }
}
