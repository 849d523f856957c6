package org.gorda.bindings.triggers.tck;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Properties;
import org.junit.jupiter.api.Test;

/** As {@link OwnTck}, in the words of SQL's standard. */
public abstract class OwnStandardTck extends OwnTck {

    @Test
    void changesPastTheReplicaAreRefused() throws SQLException {
        makeTable();
        try (Connection past = past("origin");
                Statement statement = past.createStatement()) {
            assertRefused("0A000", () -> statement.executeUpdate("INSERT INTO T VALUES (1, 1)"));
        }
        assertThat(count(origin, "T")).isZero();
    }

    @Test
    void transactionsInSql() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection connection = origin.connect(new Properties());
                Statement statement = connection.createStatement()) {
            for (String sql : List.of(
                    "SET AUTOCOMMIT FALSE",
                    "INSERT INTO T VALUES (1)",
                    "SAVEPOINT S",
                    "INSERT INTO T VALUES (2)",
                    "ROLLBACK TO SAVEPOINT S",
                    "INSERT INTO T VALUES (3)",
                    "COMMIT",
                    "INSERT INTO T VALUES (4)",
                    "ROLLBACK",
                    "SET AUTOCOMMIT TRUE",
                    "INSERT INTO T VALUES (5)")) {
                statement.execute(sql);
            }
        }
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM T ORDER BY ID")).containsExactly("1", "3", "5");
    }

    @Test
    void renamedTablesColumnsAndSchemas() throws SQLException {
        execute("CREATE SCHEMA ONE", "CREATE SCHEMA OTHER");
        execute(
                "CREATE TABLE ONE.T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE OTHER.T (ID INTEGER NOT NULL PRIMARY KEY, B VARCHAR(5))",
                "INSERT INTO ONE.T VALUES (1, 1), (2, 2)",
                "INSERT INTO OTHER.T VALUES (1, 'one')",
                "ALTER TABLE ONE.T RENAME TO \"the table\"",
                "INSERT INTO ONE.\"the table\" VALUES (3, 3)",
                "ALTER TABLE ONE.\"the table\" ALTER COLUMN A RENAME TO \"a column\"",
                "CREATE TABLE ONE.T (ID INTEGER NOT NULL PRIMARY KEY)",
                "INSERT INTO ONE.T VALUES (9)",
                "UPDATE ONE.\"the table\" SET \"a column\" = 5 WHERE ID = 1",
                "ALTER SCHEMA ONE RENAME TO TWO",
                "SET SCHEMA TWO",
                "DELETE FROM T",
                "CREATE SEQUENCE S",
                "ALTER TABLE \"the table\" ADD COLUMN C VARCHAR(5) DEFAULT 'all' NOT NULL",
                "ALTER TABLE \"the table\" ALTER COLUMN C SET DATA TYPE VARCHAR(50)",
                "UPDATE \"the table\" SET C = 'longer than five' WHERE ID = 1");
        assertEqual();
        assertThat(count(replica, "TWO.\"the table\"")).isEqualTo(3);
    }

    /** A query takes nothing that others do not see. */
    @Test
    void viewsTakeNoValuesOfSequences() throws SQLException {
        makeTable();
        execute("CREATE SEQUENCE S", "INSERT INTO T VALUES (1, 1)");
        assertRefusedEach(
                "CREATE VIEW V AS SELECT NEXT VALUE FOR S AS N FROM T",
                "CREATE VIEW V (N) AS (SELECT ID + NEXT   VALUE FOR S FROM T)");
        execute("CREATE VIEW V AS SELECT ID FROM T");
        assertEqual();
    }

    @Test
    void theReplicasOwnSchemaIsNotDropped() throws SQLException {
        makeTable();
        assertRefusedEach(
                "DROP SCHEMA GORDA CASCADE", "DROP SCHEMA\"GORDA\"CASCADE", "ALTER SCHEMA\"GORDA\"RENAME TO X");
        execute("INSERT INTO T VALUES (1, 1)");
        assertEqual();
    }

    /** Some replicas would have it, and others would not. */
    @Test
    void checksByChanceAreNotAdded() throws SQLException {
        makeTable();
        execute("INSERT INTO T VALUES (1, 1), (2, 2)");
        assertRefusedEach(
                "ALTER TABLE T ADD CONSTRAINT C CHECK (RAND() > 0.5)",
                "ALTER TABLE T ADD CHECK (A < rand ())",
                "CREATE DOMAIN D AS INTEGER CHECK (VALUE = 7 OR RAND() > 0.5)",
                "CREATE TABLE U (ID INTEGER PRIMARY KEY, A INTEGER CHECK (A = 0 OR ((A + 1) > RAND())))");
        execute(
                "ALTER TABLE T ADD CONSTRAINT C CHECK (A > 0)",
                "CREATE TABLE U (ID INTEGER PRIMARY KEY, A INTEGER CHECK (A > 0), B DOUBLE PRECISION DEFAULT RAND())",
                "INSERT INTO U (ID, A) VALUES (1, 1)");
        assertEqual();
    }
}
