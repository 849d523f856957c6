package org.gorda.bindings.derby;

import java.io.IOException;
import java.io.PrintWriter;
import java.io.Writer;
import java.sql.SQLException;
import java.util.Map;
import java.util.Properties;
import org.apache.derby.iapi.services.monitor.Monitor;
import org.apache.derby.shared.common.reference.Property;
import org.gorda.gapi.ReflectionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Boots Derby in this JVM with our modules in place of its own. Thread-safe. */
final class DerbyEngine {

    private static final Logger LOG = LoggerFactory.getLogger(DerbyEngine.class);

    /** What to do, by Derby's SQLSTATE. */
    private static final Map<String, String> ADVICE = Map.of(
            "XSDB6", " Stop the process that has it open, or give each replica a database of its own.",
            "08004", " Give the user and the password of somebody whom the database lets in.",
            "XJ001",
                    " Derby's own log, derby-0.log beside the database, has what came before. If the disk is full, make room, then start this replica again.",
            "XBM0A",
                    " If it was deleted while a replica had it, delete what is left and the replica's directory, which alone is refused:"
                            + " the replica receives both from others that hold what the group has acknowledged.",
            "XBM0J", " Give a path that does not exist yet, or that of a Derby database.",
            "X0Y68", " GORDA keeps its own tables in a schema of that name: rename yours.");

    /** What else Derby's store may say. */
    private static final String OF_THE_STORE = "XS";

    private static final String IF_DAMAGED =
            " If its files are damaged, and other replicas hold what the group has acknowledged,"
                    + " delete it and the replica's directory: the replica receives both.";
    private static final String IF_FULL = " Make room or mend the disk, then start this replica again.";

    /**
     * Of Derby's log, unless they are set as Java's system properties: all that change something wait while a full buffer is written, and while a new file is begun, which is forced
     * three times. Derby's own are 32 KB and 1 MB, some 20 and 700 transactions of TPC-B.
     */
    private static final Map<String, String> SETTINGS = Map.of(
            Property.LOG_BUFFER_SIZE, Integer.toString(1 << 20),
            Property.LOG_SWITCH_INTERVAL, Integer.toString(16 << 20));

    private DerbyEngine() {}

    /**
     * Starts Derby unless it runs already.
     *
     * @throws ReflectionException if Derby runs without our modules
     */
    static synchronized void start() {
        if (Monitor.getMonitor() != null) {
            return;
        }
        SETTINGS.forEach((name, value) -> {
            if (System.getProperty(name) == null) {
                System.setProperty(name, value);
            }
        });
        Properties modules = new Properties();
        modules.put("derby.module.gorda.connections", ReflectedConnectionFactory.class.getName());
        modules.put("derby.module.gorda.execution", ReflectedExecutionFactory.class.getName());
        modules.put("derby.module.gorda.locks", PriorityLockFactory.class.getName());
        modules.put("derby.module.gorda.caches", PageCacheFactory.class.getName());
        modules.put("derby.module.gorda.driver", GuardedDriver.class.getName());
        // The name of a kind of storage of its own, which is that of a URL that tells none.
        modules.put("derby.module.directory", DirectoryStorage.class.getName());
        modules.put("derby.service.jdbc", "org.apache.derby.iapi.jdbc.InternalDriver");
        modules.put("derby.service.authentication", "org.apache.derby.iapi.jdbc.AuthenticationService");
        Monitor.startMonitor(modules, new PrintWriter(Writer.nullWriter()));
        LOG.debug("Derby was started with the modules of GORDA");
    }

    /** Thrown when a database cannot be opened, with what Derby says and what to do. */
    static ReflectionException cannotOpen(String location, SQLException failure) {
        String advice = "";
        for (SQLException e = failure; e != null; e = e.getNextException()) {
            String state = String.valueOf(e.getSQLState());
            advice = ADVICE.getOrDefault(state, state.startsWith(OF_THE_STORE) ? IF_DAMAGED : advice);
        }
        for (Throwable e = failure; e != null; e = e.getCause()) {
            advice = e instanceof IOException ? " (" + e.getMessage() + ")" + IF_FULL : advice;
        }
        return new ReflectionException(
                "the Derby database " + location + " cannot be opened: " + messages(failure) + advice, failure);
    }

    /** All that Derby says; its first word may only be that there is more. */
    static String messages(SQLException failure) {
        SQLException first = failure.getNextException() != null && "XJ040".equals(failure.getSQLState())
                ? failure.getNextException()
                : failure;
        StringBuilder text = new StringBuilder(String.valueOf(first.getMessage()));
        for (SQLException e = first.getNextException(); e != null; e = e.getNextException()) {
            text.append("; ").append(e.getMessage());
        }
        return text.toString();
    }

    /** Thrown when Derby runs but our modules do not: what changes then would not be seen. */
    static ReflectionException notReflected(String location) {
        return new ReflectionException("Derby was started in this JVM before GORDA, so that changes to " + location
                + " would not be seen: open the GORDA URL or replica before any other Derby database");
    }
}
