package org.gorda.jdbc;

import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.DriverPropertyInfo;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.Arrays;
import java.util.Properties;
import java.util.logging.Logger;
import org.gorda.replicator.engine.Setting;
import org.jspecify.annotations.Nullable;

/** Registered with {@link DriverManager} for URLs that begin with {@code jdbc:gorda:}. Thread-safe. */
public final class GordaDriver implements Driver {

    private static final String NETWORK = "jdbc:gorda://";
    private static final String EMBEDDED = "jdbc:gorda:";

    static {
        try {
            DriverManager.registerDriver(new GordaDriver(), Clusters::end);
        } catch (SQLException e) {
            throw new ExceptionInInitializerError(e);
        }
    }

    /** For {@link java.util.ServiceLoader}. */
    public GordaDriver() {}

    @Override
    public boolean acceptsURL(@Nullable String url) {
        return url != null && url.startsWith(EMBEDDED);
    }

    @Override
    public @Nullable Connection connect(@Nullable String url, @Nullable Properties info) throws SQLException {
        if (url == null || !acceptsURL(url)) {
            return null;
        }
        Properties given = info == null ? new Properties() : info;
        return url.startsWith(NETWORK)
                ? Clusters.connect(ClusterUrl.parse(url, given))
                : EmbeddedReplicas.connect(EmbeddedUrl.parse(url, given));
    }

    @Override
    public DriverPropertyInfo[] getPropertyInfo(String url, @Nullable Properties info) {
        Setting.Use use = url.startsWith(NETWORK) ? Setting.Use.CLUSTER : Setting.Use.EMBEDDED;
        return Arrays.stream(Setting.values())
                .filter(setting -> setting.isFor(use))
                .map(setting -> propertyInfo(setting, info))
                .toArray(DriverPropertyInfo[]::new);
    }

    private static DriverPropertyInfo propertyInfo(Setting setting, @Nullable Properties info) {
        String given = info == null ? null : info.getProperty(setting.key());
        DriverPropertyInfo property = new DriverPropertyInfo(setting.key(), given);
        property.description = setting.text() + " (" + setting.range() + "; default " + setting.standard() + ")";
        return property;
    }

    @Override
    public int getMajorVersion() {
        return 0;
    }

    @Override
    public int getMinorVersion() {
        return 1;
    }

    /** Not certified: the engine underneath decides. */
    @Override
    public boolean jdbcCompliant() {
        return false;
    }

    @Override
    public Logger getParentLogger() throws SQLFeatureNotSupportedException {
        throw new SQLFeatureNotSupportedException("this driver logs through slf4j");
    }
}
