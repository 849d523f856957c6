package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.locks.LockSupport;
import org.gorda.gapi.ReflectedDatabase;
import org.junit.jupiter.api.Test;

/** Schema changes are replicated in their place, whatever their kind and whatever else is going on. */
public abstract class SchemaChangesTck extends BindingTck {

    @Test
    void schemaChangesInTheirPlaceAmongRows() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "INSERT INTO T VALUES (1, 1)",
                "ALTER TABLE T ADD COLUMN B VARCHAR(10) DEFAULT 'new'",
                "INSERT INTO T VALUES (2, 2, 'two')",
                "CREATE INDEX I ON T (B)",
                "CREATE VIEW V AS SELECT B FROM T",
                "UPDATE T SET A = 3");
        execute("DROP VIEW V", "DROP INDEX I", "ALTER TABLE T DROP COLUMN A", "INSERT INTO T VALUES (3, 'three')");
        assertEqual();
        execute("CREATE TABLE GONE (ID INTEGER NOT NULL PRIMARY KEY)", "DROP TABLE GONE");
        execute("TRUNCATE TABLE T", "INSERT INTO T VALUES (4, 'four')");
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(1);
    }

    @Test
    void schemaChangeThatIsRolledBackIsNotReplicated() throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            statement.execute("INSERT INTO T VALUES (1)");
            connection.rollback();
        }
        execute("CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)");
        assertEqual();
        assertThat(replica.tables()).hasSize(1);
    }

    @Test
    void generatedConstraintNamesAreTheSameEverywhere() throws SQLException {
        execute("CREATE TABLE P (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER NOT NULL UNIQUE, CHECK (A > 0))");
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, P INTEGER REFERENCES P)");
        try (Connection connection = connect();
                PreparedStatement create =
                        connection.prepareStatement("CREATE TABLE R (ID INTEGER NOT NULL PRIMARY KEY)");
                Statement statement = connection.createStatement()) {
            create.execute();
            statement.execute("DROP TABLE R");
            create.execute();
            connection.commit();
        }
        replicate();
        assertThat(constraintNames(replica)).isEqualTo(constraintNames(origin)).hasSize(6);
        execute("ALTER TABLE T DROP PRIMARY KEY");
        replicate();
        assertThat(constraintNames(replica)).isEqualTo(constraintNames(origin)).hasSize(5);
    }

    private List<String> constraintNames(ReflectedDatabase database) throws SQLException {
        return catalogue(database).stream()
                .filter(line -> line.startsWith("constraint "))
                .map(line -> line.split(" ", 3)[1])
                .toList();
    }

    /** As Liquibase's own table is, for example. */
    @Test
    void tableWithoutPrimaryKeyTakesRowsAndRefusesToChangeThemUntilItHasOne() throws SQLException {
        execute("CREATE TABLE T (A INTEGER NOT NULL)", "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)");
        execute("INSERT INTO T VALUES (1), (2)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO U VALUES (1)");
            for (String change : new String[] {"UPDATE T SET A = 3", "DELETE FROM T"}) {
                assertThatThrownBy(() -> statement.executeUpdate(change))
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("0A000"))
                        .hasMessageContaining("primary key")
                        .hasMessageContaining("T");
            }
            statement.executeUpdate("INSERT INTO T VALUES (3)");
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "U")).isEqualTo(1);
        assertThat(count(replica, "T")).isEqualTo(3);
        execute("ALTER TABLE T ADD PRIMARY KEY (A)", "UPDATE T SET A = A + 1", "DELETE FROM T WHERE A = 4");
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(2);
    }

    @Test
    void tableMayGetItsPrimaryKeyAfterItsFirstRowsInTheTransactionThatMakesIt() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL, A INTEGER)",
                "INSERT INTO T VALUES (1, 1), (2, 2)",
                "ALTER TABLE T ADD CONSTRAINT P PRIMARY KEY (ID)",
                "UPDATE T SET A = A + 1 WHERE ID = 2",
                "INSERT INTO T VALUES (3, 3)");
        execute("DELETE FROM T WHERE ID = 1");
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(2);
        execute("CREATE TABLE GONE (ID INTEGER)", "INSERT INTO GONE VALUES (1)", "DROP TABLE GONE");
        assertEqual();
    }

    @Test
    void renamedTablesColumnsAndIndexesInTheMiddleOfATransaction() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE INDEX I ON T (A)",
                "INSERT INTO T VALUES (1, 1)");
        execute(
                "INSERT INTO T VALUES (2, 2)",
                "RENAME TABLE T TO \"the table\"",
                "INSERT INTO \"the table\" VALUES (3, 3)",
                "RENAME COLUMN \"the table\".A TO \"a column\"",
                "UPDATE \"the table\" SET \"a column\" = 5 WHERE ID = 1",
                "RENAME INDEX I TO \"an index\"",
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)",
                "INSERT INTO T VALUES (9)");
        execute("DELETE FROM \"the table\" WHERE \"a column\" = 2", "DROP INDEX \"an index\"");
        assertEqual();
        assertThat(count(replica, "\"the table\"")).isEqualTo(2);
    }

    @Test
    void columnsAddedToRowsThatAreThere() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "INSERT INTO T VALUES (3, 3), (1, 1), (2, 2)",
                "DELETE FROM T WHERE ID = 1",
                "INSERT INTO T VALUES (1, 1)");
        assertEqual();
        execute("ALTER TABLE T ADD COLUMN C VARCHAR(5) NOT NULL DEFAULT 'all'");
        execute("ALTER TABLE T ADD COLUMN WHEN_ADDED TIMESTAMP DEFAULT CURRENT_TIMESTAMP");
        execute("ALTER TABLE T ADD COLUMN WHO VARCHAR(128) DEFAULT CURRENT_USER");
        execute("ALTER TABLE T ADD COLUMN TWICE INTEGER GENERATED ALWAYS AS (A * 2)");
        execute("ALTER TABLE T ADD COLUMN NUMBERED INTEGER GENERATED ALWAYS AS IDENTITY");
        execute("INSERT INTO T (ID, A) VALUES (4, 4)");
        execute("ALTER TABLE T ALTER COLUMN C SET DATA TYPE VARCHAR(50)", "ALTER TABLE T ALTER COLUMN C NULL");
        execute("ALTER TABLE T ALTER COLUMN A DEFAULT 17", "UPDATE T SET C = 'longer than five' WHERE ID = 1");
        assertEqual();
        replica.takeOver();
        try (Connection connection = connect(replica, new Properties());
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T (ID) VALUES (5)");
            connection.commit();
        }
        assertThat(query(replica, "SELECT COUNT(DISTINCT NUMBERED) FROM T")).containsExactly("5");
    }

    @Test
    void severalSchemasWithTablesOfTheSameName() throws SQLException {
        execute(
                "CREATE SCHEMA ONE",
                "CREATE TABLE ONE.T (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE TWO.T (ID INTEGER NOT NULL PRIMARY KEY, ONE INTEGER REFERENCES ONE.T)",
                "SET SCHEMA ONE",
                "CREATE SEQUENCE S",
                "CREATE VIEW V AS SELECT T.ID FROM T JOIN TWO.T B ON B.ONE = T.ID",
                "INSERT INTO T VALUES (1), (2)",
                "INSERT INTO TWO.T VALUES (10, 1)");
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (7)");
        execute("SET SCHEMA TWO", "UPDATE T SET ONE = 2", "DELETE FROM ONE.T WHERE ID = 1");
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM ONE.V")).containsExactly("2");
        execute("DROP VIEW ONE.V", "DROP SEQUENCE ONE.S RESTRICT", "DROP TABLE TWO.T", "DROP TABLE ONE.T");
        execute("DROP SCHEMA ONE RESTRICT", "DROP SCHEMA TWO RESTRICT");
        assertEqual();
    }

    @Test
    void schemaOfAUserIsMadeWhereTheOriginMakesIt() throws SQLException {
        executeAs("alice", "CREATE TABLE \"APP\".T (ID INTEGER NOT NULL PRIMARY KEY)");
        assertEqual();
        executeAs("alice", "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
        executeAs("bob", "CREATE TABLE OTHERS.T (ID INTEGER NOT NULL PRIMARY KEY)", "CREATE SCHEMA MINE");
        assertEqual();
        assertThat(count(replica, "ALICE.T")).isEqualTo(1);
    }

    @Test
    void schemaMadeWithItsFirstObjectGoesWithARollback() throws SQLException {
        for (String user : List.of("alice", "bob")) {
            try (Connection connection = connectAs(user);
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
                statement.execute("CREATE TABLE OTHERS.T (ID INTEGER NOT NULL PRIMARY KEY)");
                connection.rollback();
            }
            assertEqual();
        }
        execute("CREATE SCHEMA OTHERS", "CREATE TABLE OTHERS.T (ID INTEGER NOT NULL PRIMARY KEY)");
        execute("DROP TABLE OTHERS.T", "DROP SCHEMA OTHERS RESTRICT");
        executeAs("alice", "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
        assertEqual();
    }

    @Test
    void statementPreparedInAnotherSchemaMeansTheSameEverywhere() throws SQLException {
        execute("CREATE SCHEMA ONE", "CREATE SCHEMA TWO");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.execute("SET SCHEMA ONE");
            try (PreparedStatement create =
                    connection.prepareStatement("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)")) {
                statement.execute("SET SCHEMA TWO");
                try {
                    create.execute();
                } catch (SQLException e) {
                    assertThat(e.getSQLState()).isEqualTo("0A000");
                    assertThat(e.getMessage()).contains("ONE", "TWO");
                }
                connection.commit();
                statement.execute("SET SCHEMA ONE");
                try {
                    create.execute();
                } catch (SQLException e) {
                    assertThat(e.getSQLState()).as(e.toString()).isEqualTo("X0Y32");
                }
                connection.commit();
            }
        }
        assertEqual();
    }

    @Test
    void schemaChangeThatFailsLeavesTheTransactionAsItWas() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (2)");
            for (String sql : List.of(
                    "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)",
                    "DROP TABLE MISSING",
                    "ALTER TABLE T ADD CONSTRAINT C CHECK (ID > 5)",
                    "CREATE UNIQUE INDEX I ON T (MISSING)")) {
                assertThatThrownBy(() -> statement.execute(sql)).as(sql).isInstanceOf(SQLException.class);
            }
            statement.executeUpdate("INSERT INTO T VALUES (3)");
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(3);
    }

    @Test
    void everyKindOfSchemaChangeUnderLoad() throws Exception {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE W (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)");
        replicate();
        AtomicBoolean goesOn = new AtomicBoolean(true);
        AtomicInteger written = new AtomicInteger();
        List<Future<?>> load =
                List.of(clients.submit(() -> write(goesOn, written)), clients.submit(() -> read(goesOn)));
        List<List<String>> changes = new ArrayList<>(List.of(
                List.of("CREATE TABLE NEW_TABLE (ID INTEGER NOT NULL PRIMARY KEY)", "DROP TABLE NEW_TABLE"),
                List.of("ALTER TABLE T ADD COLUMN B VARCHAR(10) DEFAULT 'b'", "ALTER TABLE T DROP COLUMN B"),
                List.of("CREATE INDEX I ON T (A)", "DROP INDEX I"),
                List.of("CREATE VIEW V AS SELECT ID FROM T", "DROP VIEW V")));
        changes.addAll(tested().standardSchemaChanges());
        changes.addAll(tested().ownSchemaChanges());
        try {
            for (List<String> change : changes) {
                int before = written.get();
                for (String sql : change) {
                    retrying(sql);
                }
                await(
                        "the load goes on after " + change,
                        () -> written.get() > before || load.stream().anyMatch(Future::isDone));
                for (Future<?> client : load) {
                    if (client.isDone()) {
                        client.get(); // tells why it broke down
                    }
                }
                replicate();
            }
        } finally {
            goesOn.set(false);
        }
        for (Future<?> client : load) {
            client.get(30, TimeUnit.SECONDS);
        }
        assertEqual();
        assertThat(count(replica, "T")).isPositive();
    }

    /** Who is asked to make way may have gone while he is looked for. */
    @Test
    void clientsComeAndGoBesideSchemaChanges() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)");
        AtomicBoolean goesOn = new AtomicBoolean(true);
        AtomicInteger come = new AtomicInteger();
        List<Future<?>> visitors =
                List.of(clients.submit(() -> visit(goesOn, come)), clients.submit(() -> visit(goesOn, come)));
        try {
            for (long until = System.nanoTime() + TimeUnit.SECONDS.toNanos(3); System.nanoTime() < until; ) {
                retrying("CREATE INDEX I ON T (A)");
                retrying("DROP INDEX I");
                replicate();
            }
        } finally {
            goesOn.set(false);
        }
        for (Future<?> visitor : visitors) {
            visitor.get(30, TimeUnit.SECONDS);
        }
        assertThat(come).hasPositiveValue();
        assertEqual();
    }

    private Void visit(AtomicBoolean goesOn, AtomicInteger come) throws SQLException {
        while (goesOn.get()) {
            try (Connection connection = connect();
                    Statement statement = connection.createStatement()) {
                statement.executeQuery("SELECT COUNT(*) FROM T").close();
                connection.commit();
                come.incrementAndGet();
            } catch (SQLException e) {
                requireDisturbance(e);
            }
        }
        return null;
    }

    /** Under load a schema change may meet a deadlock, or wait too long, as it would without us. */
    private void retrying(String sql) throws SQLException {
        for (int tries = 1; ; tries++) {
            try {
                execute(sql);
                return;
            } catch (SQLException e) {
                if (tries == 20 || !e.getSQLState().startsWith("40")) {
                    throw e;
                }
            }
        }
    }

    private void requireDisturbance(SQLException e) throws SQLException {
        if (!e.getSQLState().startsWith("40")
                && !tested().statesBesideSchemaChanges().contains(e.getSQLState())) {
            throw e;
        }
    }

    private Void write(AtomicBoolean goesOn, AtomicInteger written) throws SQLException {
        for (int id = 1; goesOn.get(); id++) {
            try {
                execute(
                        "INSERT INTO T (ID, A) VALUES (" + id + ", 0)",
                        "UPDATE T SET A = A + 1 WHERE ID > " + (id - 3),
                        "INSERT INTO W (ID, A) VALUES (" + id + ", 0)");
                written.incrementAndGet();
                // Nobody would get a table's lock among those who never let go of it.
                LockSupport.parkNanos(2_000_000);
            } catch (SQLException e) {
                requireDisturbance(e);
            }
        }
        return null;
    }

    private Void read(AtomicBoolean goesOn) throws SQLException {
        while (goesOn.get()) {
            try {
                query(replica, "SELECT SUM(A) FROM T");
            } catch (SQLException e) {
                requireDisturbance(e);
            }
        }
        return null;
    }
}
