package org.gorda.jdbc;

import java.io.PrintWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.util.Properties;
import java.util.logging.Logger;
import java.util.regex.Pattern;
import javax.sql.DataSource;
import org.gorda.replicator.engine.Setting;
import org.jspecify.annotations.Nullable;

/**
 * A URL as a bean, for pools and containers that want one: HikariCP's {@code dataSourceClassName}, for instance. It does not pool.
 * To be set up by one thread, and thread-safe from then on.
 */
public final class GordaDataSource implements DataSource {

    private static final GordaDriver DRIVER = new GordaDriver();

    /** In a URL. */
    private static final Pattern CREDENTIALS =
            Pattern.compile(";\\s*(user|password)\\s*=[^;]*", Pattern.CASE_INSENSITIVE);

    private volatile @Nullable String url;
    private volatile @Nullable String user;
    private volatile @Nullable String password;
    private volatile int loginTimeoutSeconds;
    private volatile @Nullable PrintWriter logWriter;

    /** One that still needs a {@linkplain #setUrl URL}. */
    public GordaDataSource() {}

    public @Nullable String getUrl() {
        return url;
    }

    /** As for {@link java.sql.DriverManager}, with all settings that it may have; begins with {@code jdbc:gorda:}. */
    public void setUrl(String value) {
        url = value;
    }

    public @Nullable String getUser() {
        return user;
    }

    /** As whom {@link #getConnection()} connects, unless the URL says. */
    public void setUser(@Nullable String value) {
        user = value;
    }

    /** The password of {@link #setUser}. */
    public void setPassword(@Nullable String value) {
        password = value;
    }

    @Override
    public Connection getConnection() throws SQLException {
        return connect(required(url), user, password);
    }

    /**
     * As this user, also if the URL names another.
     *
     * @throws SQLException with 08001 if the URL is none of ours or there is no primary in time, else what the database says
     */
    @Override
    public Connection getConnection(@Nullable String username, @Nullable String secret) throws SQLException {
        String to = required(url);
        return connect(username == null ? to : CREDENTIALS.matcher(to).replaceAll(""), username, secret);
    }

    private static String required(@Nullable String url) throws SQLException {
        if (url == null) {
            throw UrlSettings.bad("the data source has no URL: set url to jdbc:gorda:...");
        }
        return url;
    }

    private Connection connect(String to, @Nullable String username, @Nullable String secret) throws SQLException {
        Properties properties = new Properties();
        if (username != null) {
            properties.setProperty(Setting.USER.key(), username);
        }
        if (secret != null) {
            properties.setProperty(Setting.PASSWORD.key(), secret);
        }
        if (loginTimeoutSeconds > 0) {
            properties.setProperty(Setting.CONNECT_TIMEOUT.key(), loginTimeoutSeconds + "s");
        }
        Connection connection = DRIVER.connect(to, properties);
        if (connection == null) {
            throw UrlSettings.bad("'" + UrlSettings.withoutSettings(to)
                    + "' is no URL of this data source: it has to begin with jdbc:gorda:");
        }
        return connection;
    }

    /** The {@code connect-timeout}, in seconds, where the URL has none; 0, as at first, leaves it to the other settings. */
    @Override
    public void setLoginTimeout(int seconds) {
        loginTimeoutSeconds = seconds;
    }

    @Override
    public int getLoginTimeout() {
        return loginTimeoutSeconds;
    }

    /** Kept and not written to: this driver logs through slf4j. */
    @Override
    public void setLogWriter(@Nullable PrintWriter out) {
        logWriter = out;
    }

    @Override
    public @Nullable PrintWriter getLogWriter() {
        return logWriter;
    }

    @Override
    public Logger getParentLogger() throws SQLFeatureNotSupportedException {
        return DRIVER.getParentLogger();
    }

    @Override
    public <T> T unwrap(Class<T> wanted) throws SQLException {
        if (!isWrapperFor(wanted)) {
            throw new SQLException("a " + getClass().getName() + " is no " + wanted.getName(), "XJ128");
        }
        return wanted.cast(this);
    }

    @Override
    public boolean isWrapperFor(Class<?> wanted) {
        return wanted.isInstance(this);
    }
}
