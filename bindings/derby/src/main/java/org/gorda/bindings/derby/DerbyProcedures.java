package org.gorda.bindings.derby;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import org.apache.derby.shared.common.error.PublicAPI;
import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;

/** What clients call by SQL; the routines are created with the database. */
public final class DerbyProcedures {

    private DerbyProcedures() {}

    /**
     * Commits the caller's transaction under a name that the caller has given it, so that it can ask any replica for the outcome
     * should the answer be lost. {@code CALL GORDA.COMMIT_AS(session, number)}.
     */
    public static void commitAs(String session, long number) throws SQLException {
        ReflectedConnection connection = caller("COMMIT_AS");
        TransactionId id;
        try {
            id = new TransactionId(SessionId.parse(session), number);
        } catch (IllegalArgumentException e) {
            throw new SQLException("'" + session + "' is not a session's identity", "22023", e);
        }
        connection.name(id);
        try (Connection caller = DriverManager.getConnection("jdbc:default:connection")) {
            caller.commit();
        } catch (SQLException e) {
            // Otherwise Derby would tell the client of an error in a procedure.
            StandardException reason = StandardException.getArgumentFerry(e);
            throw reason == null ? e : PublicAPI.wrapStandardException(reason);
        }
    }

    /**
     * A place in the order: all that the caller has committed or read here is up to there. {@code VALUES GORDA.POSITION()}.
     */
    public static long position() throws SQLException {
        return caller("POSITION").database().listener().seen();
    }

    /** Waits until this replica shows everything up to what {@link #position} was elsewhere. {@code CALL GORDA.AWAIT_POSITION(number)}. */
    public static void awaitPosition(long index) throws SQLException {
        try {
            caller("AWAIT_POSITION").awaitVisible(index);
        } catch (StandardException e) {
            throw PublicAPI.wrapStandardException(e);
        }
    }

    private static ReflectedConnection caller(String routine) throws SQLException {
        ReflectedConnection connection = ReflectedConnection.current();
        if (connection == null || !connection.isCapturing()) {
            throw new SQLException("GORDA." + routine + " is for connections to a replicated database", "0A000");
        }
        return connection;
    }
}
