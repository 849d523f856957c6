package org.gorda.junit;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Nested;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Used as a test of an application would. */
@GordaCluster(replicas = 3, protocol = "primary-backup", settings = "commit-timeout=3s")
@Timeout(300)
class GordaClusterTest {

    @BeforeAll
    static void makeTable(TestCluster cluster) throws SQLException {
        execute(cluster, "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
    }

    private static void execute(TestCluster cluster, String sql) throws SQLException {
        try (Connection connection = cluster.connect();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static int count(TestCluster cluster, int id) throws SQLException {
        try (Connection connection = cluster.connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM T WHERE ID = " + id)) {
            rows.next();
            return rows.getInt(1);
        }
    }

    @Test
    void whatIsCommittedOutlivesThePrimary(TestCluster cluster) throws SQLException {
        execute(cluster, "INSERT INTO T VALUES 1");
        int first = cluster.primary();
        cluster.crash(first);

        assertThat(count(cluster, 1)).isEqualTo(1);
        assertThat(cluster.primary()).isNotEqualTo(first);

        cluster.restart(first);
        cluster.awaitOnline();
        cluster.requireIdentical();
    }

    @Test
    void whoIsPausedIsReplaced(TestCluster cluster) throws SQLException {
        int first = cluster.primary();
        cluster.pause(first);

        execute(cluster, "INSERT INTO T VALUES 2");

        cluster.heal();
        assertThat(count(cluster, 2)).isEqualTo(1);
        cluster.requireIdentical();
    }

    /** The next test finds it healed. */
    @Test
    void whoIsCutOffCommitsNothing(TestCluster cluster) throws SQLException {
        int first = cluster.primary();
        try (Connection connection = cluster.connect();
                Statement statement = connection.createStatement()) {
            connection.setAutoCommit(false);
            statement.executeUpdate("INSERT INTO T VALUES 3");
            cluster.partition(first);

            assertThatThrownBy(connection::commit).isInstanceOf(SQLException.class);
        }
        assertThat(cluster.log(first)).anySatisfy(line -> assertThat(line).contains("ISOLATED"));
        execute(cluster, "INSERT INTO T VALUES 4");
        cluster.heal();
        assertThat(count(cluster, 3)).isZero();
        assertThat(count(cluster, 4)).isEqualTo(1);
        cluster.requireIdentical();
    }

    @Nested
    class InItsMidst {
        @Test
        void theGroupIsThatOfTheClassAround(TestCluster cluster) throws SQLException {
            execute(cluster, "INSERT INTO T VALUES 5");
            assertThat(count(cluster, 5)).isEqualTo(1);
        }
    }
}
