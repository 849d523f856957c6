package org.gorda.bench;

import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.util.List;
import java.util.Properties;
import java.util.logging.Logger;
import org.jspecify.annotations.Nullable;

/**
 * By which programs on this machine are clients of {@link EmbeddedReplica}s that are not in their processes: for replicas under test, whose engine has no network
 * protocol of its own. URLs are {@code jdbc:gorda-lines:HOST:PORT,HOST:PORT}. Thread-safe.
 */
public final class LineDriver implements Driver {

    /** The property of a connection that goes to any replica at first. */
    static final String READ_ONLY = "readOnly";

    private static final String PREFIX = "jdbc:gorda-lines:";

    static {
        try {
            DriverManager.registerDriver(new LineDriver());
        } catch (SQLException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** For {@link java.util.ServiceLoader}. */
    public LineDriver() {}

    /** @param addresses where each replica lets orders in */
    static String url(List<String> addresses) {
        return PREFIX + String.join(",", addresses);
    }

    @Override
    public boolean acceptsURL(@Nullable String url) {
        return url != null && url.startsWith(PREFIX);
    }

    @Override
    public @Nullable Connection connect(@Nullable String url, @Nullable Properties info) throws SQLException {
        if (url == null || !acceptsURL(url)) {
            return null;
        }
        boolean readOnly = info != null && Boolean.parseBoolean(info.getProperty(READ_ONLY));
        return JdbcLine.connect(List.of(url.substring(PREFIX.length()).split(",", -1)), readOnly);
    }

    @Override
    public DriverPropertyInfo[] getPropertyInfo(String url, @Nullable Properties info) {
        return new DriverPropertyInfo[0];
    }

    @Override
    public int getMajorVersion() {
        return 0;
    }

    @Override
    public int getMinorVersion() {
        return 1;
    }

    @Override
    public boolean jdbcCompliant() {
        return false;
    }

    @Override
    public Logger getParentLogger() {
        return Logger.getLogger("org.gorda.bench");
    }
}
