package org.gorda.bindings.derby;

import java.io.PrintWriter;
import java.io.Writer;
import java.util.Properties;
import org.apache.derby.iapi.services.monitor.Monitor;
import org.gorda.gapi.ReflectionException;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** Boots Derby in this JVM with our modules in place of its own. Thread-safe. */
final class DerbyEngine {

    private static final Logger LOG = LoggerFactory.getLogger(DerbyEngine.class);

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
        Properties modules = new Properties();
        modules.put("derby.module.gorda.connections", ReflectedConnectionFactory.class.getName());
        modules.put("derby.module.gorda.execution", ReflectedExecutionFactory.class.getName());
        modules.put("derby.module.gorda.locks", PriorityLockFactory.class.getName());
        modules.put("derby.module.gorda.driver", GuardedDriver.class.getName());
        modules.put("derby.service.jdbc", "org.apache.derby.iapi.jdbc.InternalDriver");
        modules.put("derby.service.authentication", "org.apache.derby.iapi.jdbc.AuthenticationService");
        Monitor.startMonitor(modules, new PrintWriter(Writer.nullWriter()));
        LOG.debug("Derby was started with the modules of GORDA");
    }

    /** Thrown when Derby runs but our modules do not: what changes then would not be seen. */
    static ReflectionException notReflected(String location) {
        return new ReflectionException("Derby was started in this JVM before GORDA, so that changes to " + location
                + " would not be seen: open the GORDA URL or replica before any other Derby database");
    }
}
