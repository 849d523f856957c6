package org.gorda.bindings.derby;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.util.Properties;
import org.apache.derby.iapi.jdbc.Driver42;
import org.apache.derby.impl.jdbc.EmbedConnection;
import org.apache.derby.shared.common.error.StandardException;
import org.apache.derby.shared.common.reference.Attribute;
import org.gorda.gapi.Refusal;
import org.jspecify.annotations.Nullable;

/**
 * Derby's module that all connections come from. It does not let a program, a tool or a client shut down a database under its replica:
 * Derby would open it again for the next one who comes, without the replica, and what is changed then nobody would see. Nor does it let clients of the network
 * server into any other database. Thread-safe.
 */
public final class GuardedDriver extends Driver42 {

    /** In the properties of a client's login: whether it only reads. */
    private static final String READS = "gorda.reads";

    /** For Derby. */
    public GuardedDriver() {}

    @Override
    public Connection connect(String url, @Nullable Properties info, int loginTimeoutSeconds) throws SQLException {
        if (acceptsURL(url) && !url.equals(Attribute.SQLJ_NESTED)) {
            Properties attributes = getAttributes(url, info);
            if (Boolean.parseBoolean(attributes.getProperty(Attribute.SHUTDOWN_ATTR))) {
                checkNotReplicated(getDatabaseName(url, attributes));
            }
            if (attributes.getProperty(Attribute.DRDAID_ATTR) != null) {
                checkReplicated(getDatabaseName(url, attributes));
            }
            if (Boolean.parseBoolean(attributes.getProperty(READS))) {
                return reading(super.connect(url, info, loginTimeoutSeconds));
            }
        }
        return super.connect(url, info, loginTimeoutSeconds);
    }

    /** Has the session refuse changes, whatever its replica does. */
    private static Connection reading(Connection opened) {
        if (opened instanceof EmbedConnection derbys
                && derbys.getLanguageConnection() instanceof ReflectedConnection session) {
            session.onlyReads();
        }
        return opened;
    }

    /** Of a client of the network server, before Derby opens, creates or restores any database that the process can reach. */
    private static void checkReplicated(String name) throws SQLException {
        if (!isReplicated(name)) {
            throw new SQLNonTransientConnectionException(notInto(name), Refusal.Cause.STOPPED.sqlState());
        }
    }

    /** Strangers are not told where it is. */
    static String notInto(String name) {
        return "this server lets clients into its replicated database only, not into " + name
                + ": use the URL that `gorda status --json` shows as `clients`";
    }

    private static boolean isReplicated(String name) throws SQLException {
        try {
            return ReflectedConnectionFactory.isReflected(name);
        } catch (StandardException e) {
            throw new SQLException("whether " + name + " belongs to a replica cannot be found out", e);
        }
    }

    /** Without a name, all of Derby is to be shut down. */
    private static void checkNotReplicated(String name) throws SQLException {
        boolean isNeeded = name.isEmpty() ? ReflectedConnectionFactory.isAnyReflected() : isReplicated(name);
        if (isNeeded) {
            throw new SQLNonTransientConnectionException(
                    (name.isEmpty() ? "Derby" : name) + " stays open for the replica that needs it: close that, by"
                            + " jdbc:gorda:derby:PATH;shutdown=true or by the end of its process",
                    "08006");
        }
    }
}
