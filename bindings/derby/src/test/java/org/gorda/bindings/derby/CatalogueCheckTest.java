package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.Finding;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What the check says is held against what the binding does. */
class CatalogueCheckTest {

    /** A table that has no primary key, and how it gets one. */
    private static final Map<String, String> KEYLESS = Map.of(
            "PLAIN (A INTEGER)",
            "ALTER TABLE \"APP\".\"PLAIN\" ADD COLUMN ROW_ID BIGINT GENERATED ALWAYS AS IDENTITY; "
                    + "ALTER TABLE \"APP\".\"PLAIN\" ADD PRIMARY KEY (ROW_ID)",
            "COUNTED (A INTEGER, N INTEGER GENERATED ALWAYS AS IDENTITY)",
            "ALTER TABLE \"APP\".\"COUNTED\" ADD PRIMARY KEY (\"N\")",
            "CONSTRAINED (A INTEGER, B INTEGER NOT NULL, C INTEGER NOT NULL, CONSTRAINT BC UNIQUE (C, B))",
            "ALTER TABLE \"APP\".\"CONSTRAINED\" DROP CONSTRAINT \"BC\"; "
                    + "ALTER TABLE \"APP\".\"CONSTRAINED\" ADD CONSTRAINT \"BC\" PRIMARY KEY (\"C\", \"B\")",
            "NULLABLE (A INTEGER, B INTEGER UNIQUE)",
            "ALTER TABLE \"APP\".\"NULLABLE\" ADD COLUMN ROW_ID BIGINT GENERATED ALWAYS AS IDENTITY; "
                    + "ALTER TABLE \"APP\".\"NULLABLE\" ADD PRIMARY KEY (ROW_ID)",
            "\"in quotes\" (A INTEGER, \"the \"\"key\"\"\" INTEGER NOT NULL)",
            "ALTER TABLE \"APP\".\"in quotes\" ADD PRIMARY KEY (\"the \"\"key\"\"\")",
            "REFERENCED (A INTEGER, B INTEGER NOT NULL UNIQUE)",
            "ALTER TABLE \"APP\".\"REFERENCED\" ADD COLUMN ROW_ID BIGINT GENERATED ALWAYS AS IDENTITY; "
                    + "ALTER TABLE \"APP\".\"REFERENCED\" ADD PRIMARY KEY (ROW_ID)");

    @TempDir
    Path directory;

    private final MetaLevel metaLevel = new MetaLevel();
    private String url;

    @BeforeEach
    void create() throws SQLException {
        // The same engine serves all tests of this process.
        DerbyEngine.start();
        url = "jdbc:derby:" + directory.resolve("db");
        DriverManager.getConnection(url + ";create=true").close();
    }

    @AfterEach
    void shutDown() {
        assertThatThrownBy(() -> DriverManager.getConnection(url + ";shutdown=true"))
                .hasMessageContaining("shutdown");
    }

    private void execute(String... statements) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private List<Finding> findings() throws SQLException {
        try (Connection connection = DriverManager.getConnection(url)) {
            return new DerbyBinding().examine(connection).orElseThrow();
        }
    }

    private List<Finding> obstacles() throws SQLException {
        return findings().stream().filter(Finding::obstacle).toList();
    }

    @Test
    void tablesWithoutPrimaryKeyAreListedWithAKeyThatFitsThem() throws SQLException {
        for (String table : KEYLESS.keySet()) {
            execute("CREATE TABLE " + table);
        }
        execute(
                "CREATE UNIQUE INDEX I ON \"in quotes\" (\"the \"\"key\"\"\" DESC)",
                "CREATE TABLE CHILD (ID INTEGER NOT NULL PRIMARY KEY, B INTEGER REFERENCES REFERENCED (B))",
                "INSERT INTO PLAIN VALUES (1), (1)",
                "INSERT INTO COUNTED (A) VALUES 1, 1");
        List<Finding> found = obstacles();
        assertThat(found)
                .hasSize(KEYLESS.size())
                .allSatisfy(finding -> assertThat(finding.problem())
                        .startsWith("it has no primary key, by which replicas find a row"));
        assertThat(found.stream().map(Finding::fix)).containsExactlyInAnyOrderElementsOf(KEYLESS.values());
        refusedIs(true);
        for (Finding finding : found) {
            execute(finding.fix().split("; ", -1));
        }
        assertThat(obstacles()).isEmpty();
        refusedIs(false);
    }

    /** Whether the binding itself refuses changes to the tables. */
    private void refusedIs(boolean refused) throws SQLException {
        shutDown();
        ReflectedDatabase database = new DerbyBinding()
                .open(
                        new DatabaseConfiguration(
                                directory.resolve("db").toString(),
                                Map.of(),
                                Duration.ofMillis(200),
                                32 << 20,
                                directory.resolve("spool")),
                        metaLevel);
        try (Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement()) {
            for (String table : KEYLESS.keySet()) {
                String sql = "UPDATE " + table.substring(0, table.indexOf('(')) + " SET A = 7";
                statement.execute("CREATE TABLE GOOD (ID INTEGER NOT NULL PRIMARY KEY)");
                statement.execute("DROP TABLE GOOD");
                if (refused && hasRows(table)) {
                    assertThatThrownBy(() -> statement.executeUpdate(sql))
                            .as(sql)
                            .hasMessageContaining("primary key");
                } else if (!refused) {
                    statement.executeUpdate(sql);
                }
            }
        } finally {
            database.close();
            DriverManager.getConnection(url).close();
        }
    }

    private static boolean hasRows(String table) {
        return table.startsWith("PLAIN") || table.startsWith("COUNTED");
    }

    @Test
    void whatElseCannotBeReplicatedIsListed() throws SQLException {
        execute(
                "CREATE TYPE PRICE EXTERNAL NAME 'java.net.URI' LANGUAGE JAVA",
                "CREATE TABLE X (ID INTEGER NOT NULL PRIMARY KEY, A XML, B PRICE)",
                "CREATE TABLE D (ID INTEGER NOT NULL, U INTEGER NOT NULL, "
                        + "CONSTRAINT PK PRIMARY KEY (ID) DEFERRABLE INITIALLY DEFERRED, "
                        + "CONSTRAINT UQ UNIQUE (U, ID) DEFERRABLE, CONSTRAINT CK CHECK (U > 0) DEFERRABLE)",
                "CREATE SCHEMA GORDA",
                "CREATE TABLE GORDA.T (ID INTEGER NOT NULL PRIMARY KEY)");
        assertThat(obstacles().stream().map(finding -> finding.object() + ": " + finding.problem()))
                .containsExactlyInAnyOrder(
                        "table \"APP\".\"X\": its column \"B\" is of a user-defined type",
                        "table \"APP\".\"D\": its primary key \"PK\" is deferrable, so that it does not always tell rows apart",
                        "schema \"GORDA\": GORDA keeps its own tables in a schema of that name");
        for (Finding finding : obstacles()) {
            if (finding.problem().contains("deferrable")) {
                execute(finding.fix().split("; ", -1));
            }
        }
        execute("DROP TABLE X", "DROP TABLE GORDA.T", "DROP SCHEMA GORDA RESTRICT");
        assertThat(obstacles()).isEmpty();
    }

    @Test
    void whatMustBeOnEveryReplicaIsSaidAndIsNoObstacle() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE PROCEDURE CLOSE_DAY () LANGUAGE JAVA PARAMETER STYLE JAVA MODIFIES SQL DATA EXTERNAL NAME "
                        + "'shop.Jobs.closeDay'",
                "CREATE FUNCTION ROOT (X DOUBLE) RETURNS DOUBLE LANGUAGE JAVA PARAMETER STYLE JAVA NO SQL EXTERNAL NAME "
                        + "'java.lang.Math.sqrt'",
                "CREATE TRIGGER R AFTER INSERT ON T FOR EACH STATEMENT VALUES 1");
        assertThat(obstacles()).isEmpty();
        assertThat(findings())
                .anySatisfy(finding -> {
                    assertThat(finding.object()).isEqualTo("procedure \"APP\".\"CLOSE_DAY\"");
                    assertThat(finding.problem()).contains("the rows that it changes are replicated");
                    assertThat(finding.fix()).isEqualTo("put class shop.Jobs on the class path of every replica");
                })
                .anySatisfy(finding -> {
                    assertThat(finding.object()).isEqualTo("function \"APP\".\"ROOT\"");
                    assertThat(finding.problem()).doesNotContain("changes");
                })
                .anySatisfy(finding -> assertThat(finding.object()).isEqualTo("triggers: 1"))
                .anySatisfy(finding -> assertThat(finding.fix()).contains("copy it to every replica"));
    }
}
