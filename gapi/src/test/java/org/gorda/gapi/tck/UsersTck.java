package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import org.assertj.core.api.ThrowableAssert.ThrowingCallable;
import org.junit.jupiter.api.Test;

/** Users, who owns what they make, and what they may do. */
public abstract class UsersTck extends BindingTck {

    @Override
    protected boolean withPrivileges() {
        return true;
    }

    private static void assertForbidden(ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).startsWith("42"));
    }

    @Test
    void schemasBelongToWhoMadeThem() throws SQLException {
        executeAs("alice", "CREATE SCHEMA ALICE", "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        executeAs("bob", "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
        execute("CREATE SCHEMA SHARED AUTHORIZATION CAROL");
        executeAs("carol", "CREATE TABLE SHARED.T (ID INTEGER NOT NULL PRIMARY KEY)");
        assertEqual();
        assertForbidden(() -> executeAs("alice", "CREATE TABLE BOB.U (ID INTEGER NOT NULL PRIMARY KEY)"));
        assertEqual();
        assertThat(count(replica, "BOB.T")).isEqualTo(1);
    }

    @Test
    void grantsHaveTheirGrantorAndWorkOnTheReplica() throws SQLException {
        executeAs(
                "alice",
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER, B INTEGER)",
                "CREATE SEQUENCE S",
                tested().procedure(TckBinding.Procedure.INSERT_ROW),
                "GRANT SELECT, INSERT ON T TO BOB",
                "GRANT UPDATE (A) ON T TO CAROL",
                "GRANT USAGE ON SEQUENCE S TO BOB",
                "GRANT EXECUTE ON PROCEDURE INSERT_ROW TO PUBLIC");
        executeAs("bob", "INSERT INTO ALICE.T VALUES (1, 1, 1)");
        assertEqual();
        Properties bob = new Properties();
        bob.setProperty("user", "bob");
        Properties carol = new Properties();
        carol.setProperty("user", "carol");
        try (Connection connection = connect(replica, bob);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM ALICE.T")) {
            assertThat(rows.next()).isTrue();
            assertThat(rows.getInt(1)).isEqualTo(1);
            connection.rollback();
        }
        try (Connection connection = connect(replica, carol);
                Statement statement = connection.createStatement()) {
            assertForbidden(() -> statement.executeQuery("SELECT B FROM ALICE.T"));
            connection.rollback();
        }
        executeAs(
                "alice", "REVOKE INSERT ON T FROM BOB", "REVOKE EXECUTE ON PROCEDURE INSERT_ROW FROM PUBLIC RESTRICT");
        assertForbidden(() -> executeAs("bob", "INSERT INTO ALICE.T VALUES (2, 2, 2)"));
        assertEqual();
    }

    @Test
    void rolesAreGrantedAndUsed() throws SQLException {
        executeAs("alice", "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
        execute("CREATE ROLE READER", "CREATE ROLE CHIEF", "GRANT READER TO CHIEF", "GRANT CHIEF TO BOB");
        executeAs("alice", "GRANT SELECT ON T TO READER");
        executeAs(
                "bob",
                "SET ROLE CHIEF",
                "CREATE VIEW V AS SELECT ID FROM ALICE.T",
                "CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY)",
                "INSERT INTO C SELECT ID FROM V");
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM BOB.V")).containsExactly("1");
        executeAs("alice", "REVOKE SELECT ON T FROM READER");
        execute("REVOKE CHIEF FROM BOB", "DROP ROLE READER");
        assertEqual();
    }

    @Test
    void whatIsDoneWithAnothersRightsIsDoneSoOnTheReplica() throws SQLException {
        executeAs(
                "alice",
                "CREATE TABLE P (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE S (ID INTEGER NOT NULL PRIMARY KEY)",
                "GRANT REFERENCES ON P TO BOB",
                "GRANT SELECT ON S TO BOB");
        executeAs(
                "bob",
                "CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY, P INTEGER REFERENCES ALICE.P)",
                "CREATE VIEW V AS SELECT ID FROM ALICE.S");
        assertEqual();
        executeAs("alice", "REVOKE SELECT ON S FROM BOB", "REVOKE REFERENCES ON P FROM BOB");
        assertEqual();
    }

    @Test
    void usersAndSettingsOfTheDatabaseAreRefusedOrReplicated() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            for (String sql : tested().refused()) {
                assertRefused("0A000", () -> statement.execute(sql));
            }
            statement.executeUpdate("INSERT INTO T VALUES (2)");
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(2);
    }
}
