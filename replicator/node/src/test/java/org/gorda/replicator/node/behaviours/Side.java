package org.gorda.replicator.node.behaviours;

import java.sql.Connection;
import java.sql.Driver;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;

/** A driver with a database, in which the same tables are made on each side. */
public final class Side {

    private final Driver driver;
    private final String url;
    private final String unknownUrl;
    private final ClassLoader classes;

    /**
     * @param unknownUrl of a database that is not there
     * @param classes those of the engine
     */
    public Side(Driver driver, String url, String unknownUrl, ClassLoader classes) {
        this.driver = driver;
        this.url = url;
        this.unknownUrl = unknownUrl;
        this.classes = classes;
    }

    Connection connect() throws SQLException {
        return connect("", new Properties());
    }

    Connection connect(String attributes, Properties properties) throws SQLException {
        return driver.connect(url + attributes, properties);
    }

    Connection connectToUnknown() throws SQLException {
        return driver.connect(unknownUrl, new Properties());
    }

    /** What stands in a URL before the place of the database. */
    String withoutPlace(String text) {
        return text.replaceAll("(jdbc:[a-z]+:).*", "$1");
    }

    /** Makes the tables. */
    public void create() throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            for (String sql : Tables.CREATE) {
                statement.execute(sql);
            }
        }
    }

    /** Looks at a behaviour, with tables as they were at first. */
    public String observe(Behaviour behaviour) throws Exception {
        Thread thread = Thread.currentThread();
        ClassLoader before = thread.getContextClassLoader();
        thread.setContextClassLoader(classes);
        try {
            try (Connection connection = connect();
                    Statement statement = connection.createStatement()) {
                connection.setAutoCommit(false);
                for (String sql : Tables.FILL) {
                    statement.execute(sql);
                }
                connection.commit();
            }
            Connection connection = connect();
            try {
                return Seen.show(behaviour.body().observe(connection, this));
            } finally {
                end(connection);
            }
        } finally {
            thread.setContextClassLoader(before);
        }
    }

    private static void end(Connection connection) throws SQLException {
        if (!connection.isClosed()) {
            if (!connection.getAutoCommit()) {
                connection.rollback();
            }
            connection.close();
        }
    }
}
