package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class CapturedTablesTest {

    @TempDir
    Path directory;

    private DerbyDatabase database;

    @BeforeEach
    void open() {
        database = (DerbyDatabase) new DerbyBinding()
                .open(
                        new DatabaseConfiguration(
                                directory.resolve("db").toString(),
                                Map.of(),
                                Duration.ofMillis(200),
                                32 << 20,
                                directory.resolve("spool")),
                        new MetaLevel());
    }

    @AfterEach
    void close() {
        database.close();
    }

    private int kept() {
        return database.capturedTables().kept();
    }

    @Test
    void tablesAreKeptAgainAfterMetadataAndSchemaChanges() throws SQLException {
        try (Connection connection = database.connect(new Properties());
                Connection other = database.connect(new Properties());
                Statement statement = connection.createStatement();
                Statement elsewhere = other.createStatement()) {
            connection.setAutoCommit(false);
            statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            statement.execute("CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)");
            connection.commit();
            for (int i = 0; i < 3; i++) {
                try (ResultSet columns = connection.getMetaData().getColumns(null, null, "T", null);
                        ResultSet keys = connection.getMetaData().getImportedKeys(null, null, "T")) {
                    assertThat(columns.next()).isTrue();
                    assertThat(keys.next()).isFalse();
                }
                statement.execute("ALTER TABLE T ADD COLUMN C" + i + " INTEGER");
                statement.execute("INSERT INTO T (ID) VALUES (" + i + ")");
                elsewhere.execute("INSERT INTO U VALUES (" + i + ")");
                assertThat(kept()).as("while a transaction changes the schema").isZero();
                if (i == 1) {
                    connection.rollback();
                } else {
                    connection.commit();
                }
                statement.execute("INSERT INTO T (ID) VALUES (" + (10 + i) + ")");
                connection.commit();
                assertThat(kept()).as("after round %s", i).isEqualTo(1);
            }
        }
    }

    @Test
    void connectionThatEndsWithinASchemaChangeLeavesNothingBehind() throws SQLException {
        try (Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
            Connection gone = database.connect(new Properties());
            gone.setAutoCommit(false);
            try (Statement change = gone.createStatement()) {
                change.execute("CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)");
            }
            gone.abort(Runnable::run);
            statement.execute("INSERT INTO T VALUES (1)");
            assertThat(kept()).isEqualTo(1);
        }
    }
}
