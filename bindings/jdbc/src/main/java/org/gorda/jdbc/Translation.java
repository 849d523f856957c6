package org.gorda.jdbc;

import java.io.IOException;
import java.sql.BatchUpdateException;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLNonTransientConnectionException;
import java.sql.SQLTransactionRollbackException;
import java.util.List;
import java.util.concurrent.TimeoutException;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.gorda.gapi.Refusal;
import org.jspecify.annotations.Nullable;

/** Gives errors that replicas raise the form they have inside the engine, whatever the engine's own driver made of them. */
final class Translation {

    private static final String MARK = ".GORDA : [0] ";

    /** How Derby's driver gives it where the server, whom it asks for the text, does not answer any more. */
    private static final Pattern UNASKED =
            Pattern.compile("DERBY SQL error: .*, SQLERRMC: (?<text>[^\\x14]+)\\x14[^\\x14]*\\.GORDA", Pattern.DOTALL);

    /** How it gives what ends the session, as a cause: without a mark, but by the first words of ours. */
    private static final Pattern ENDED = Pattern.compile(
            "DERBY SQL error: .*, SQLSTATE: (?<state>08006|57P01), SQLERRMC: (?<text>(this )?replica [^\\x14]+)",
            Pattern.DOTALL);

    /** How PostgreSQL's driver gives what a replica says of itself; of its own it says other things. */
    private static final Pattern OF_ITSELF = Pattern.compile("(ERROR|FATAL): (this )?replica .*", Pattern.DOTALL);

    private Translation() {}

    /** Whether the connection that gave this is of no use any more. */
    static boolean endsConnection(SQLException e) {
        String state = e.getSQLState();
        return state != null && (state.startsWith("08") || state.startsWith("57P") || state.equals("58009"));
    }

    /** Whether a login failed for what was asked for, so that it would fail elsewhere or later, too. */
    static boolean isRejection(SQLException failure) {
        for (SQLException e = failure; e != null; e = e.getNextException()) {
            if ("08004".equals(e.getSQLState())) {
                return true;
            }
        }
        // The engine's driver refuses some names itself.
        return !endsConnection(failure) || ("08001".equals(failure.getSQLState()) && !isUnreachable(failure));
    }

    private static boolean isUnreachable(Throwable failure) {
        for (Throwable at = failure; at != null; at = at.getCause()) {
            if (at instanceof IOException || at instanceof TimeoutException) {
                return true;
            }
        }
        return false;
    }

    static SQLException translate(SQLException e) {
        return e instanceof BatchUpdateException batch ? translate(batch) : translateOne(e);
    }

    /** The engine's driver says of each batch that it has failed, and why only in what follows; in the engine it is said at once. */
    private static SQLException translate(BatchUpdateException batch) {
        for (SQLException e = batch.getNextException(); e != null; e = e.getNextException()) {
            String state = e.getSQLState();
            String text = ownText(e);
            if (state != null && (text != null || state.startsWith("40") || endsConnection(e))) {
                SQLException one = translateOne(e);
                BatchUpdateException translated = new BatchUpdateException(
                        one.getMessage(), one.getSQLState(), e.getErrorCode(), batch.getLargeUpdateCounts(), batch);
                translated.setNextException(e);
                return translated;
            }
        }
        return batch;
    }

    private static SQLException translateOne(SQLException e) {
        String state = e.getSQLState();
        if (state == null) {
            return e;
        }
        if (state.equals("58009")) {
            // DRDA's own word for a conversation that has ended.
            return new SQLNonTransientConnectionException("the connection to the replica was lost", "08006", e);
        }
        String text = ownText(e);
        if (text == null) {
            return e;
        }
        SQLException translated;
        if (state.startsWith("08") || state.startsWith("57P")) {
            translated = new SQLNonTransientConnectionException(text, state, e);
        } else if (state.startsWith("40")) {
            translated = new SQLTransactionRollbackException(text, state, e);
        } else if (state.startsWith("0A")) {
            translated = new SQLFeatureNotSupportedException(text, state, e);
        } else {
            translated = new SQLException(text, state, e);
        }
        return translated;
    }

    /**
     * Whether a replica itself has said that it has no majority. In answer to a commit that means that nothing was sent: what became of one that was sent
     * is asked for, or said to be unknown by another state.
     */
    static boolean isWithoutMajority(SQLException e) {
        String withoutMajority = Refusal.Cause.NO_MAJORITY.sqlState();
        if (OF_ITSELF.matcher(String.valueOf(e.getMessage())).matches()) {
            return withoutMajority.equals(e.getSQLState());
        }
        for (Throwable at = e; at != null; at = at.getCause()) {
            Matcher said = ENDED.matcher(String.valueOf(at.getMessage()));
            if (said.matches()) {
                return said.group("state").equals(withoutMajority);
            }
        }
        return false;
    }

    /**
     * The text of a refusal of ours, null if it is none. One that ends the session is to Derby's driver a fault of the protocol, and what was said
     * its cause.
     */
    private static @Nullable String ownText(SQLException e) {
        String text = textOf(e);
        for (Throwable at = e.getCause(); text == null && at != null && endsConnection(e); at = at.getCause()) {
            text = textOf(at);
        }
        return text;
    }

    private static @Nullable String textOf(Throwable e) {
        String message = e.getMessage();
        if (message == null) {
            return null;
        }
        int mark = message.indexOf(MARK);
        if (mark >= 0) {
            return message.substring(mark + MARK.length());
        }
        for (Pattern form : List.of(UNASKED, ENDED)) {
            Matcher said = form.matcher(message);
            if (said.matches()) {
                return said.group("text");
            }
        }
        return null;
    }
}
