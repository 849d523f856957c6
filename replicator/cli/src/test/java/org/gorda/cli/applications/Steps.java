package org.gorda.cli.applications;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import javax.sql.DataSource;

/** What a program has done already, which stands in its database. */
final class Steps {

    /** Part of a program. */
    interface Step {
        void run() throws Exception;
    }

    private final DataSource pool;

    Steps(DataSource pool) throws SQLException {
        this.pool = pool;
        Tables.create(pool, "CREATE TABLE step (name VARCHAR(40) PRIMARY KEY)");
    }

    /** Runs it unless it came to its end before. */
    void once(String name, Step step) throws Exception {
        if (!isDone(name)) {
            step.run();
            try (Connection connection = pool.getConnection();
                    PreparedStatement insert = connection.prepareStatement("INSERT INTO step VALUES (?)")) {
                insert.setString(1, name);
                insert.executeUpdate();
            }
        }
    }

    private boolean isDone(String name) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery("SELECT 1 FROM step WHERE name = '" + name + "'")) {
            return found.next();
        }
    }
}
