package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.NoClients;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.StoredPosition;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A database that a snapshot of another one takes the place of. */
class ReplacedDatabaseTest {

    @TempDir
    Path directory;

    private DatabaseConfiguration origin;
    private DatabaseConfiguration here;
    private Path snapshot;

    @BeforeEach
    void make() throws SQLException {
        TestServer.dropOthers(directory);
        origin = TestServer.configuration(directory, "origin");
        here = TestServer.configuration(directory, "here");
        snapshot = directory.resolve("snapshot");
        TestServer.execute("CREATE ROLE replaced_owner");
        TestServer.execute("CREATE DATABASE " + name(origin) + " OWNER replaced_owner");
        TestServer.execute("CREATE DATABASE " + name(here));
        execute(origin, "CREATE TABLE t (a integer PRIMARY KEY)");
        execute(origin, "INSERT INTO t VALUES (1)");
        execute(here, "CREATE TABLE t (a integer PRIMARY KEY)");
        execute(here, "INSERT INTO t VALUES (2)");
    }

    @AfterEach
    void drop() throws SQLException {
        TestServer.execute("DROP DATABASE IF EXISTS " + name(origin) + " WITH (FORCE)");
        TestServer.execute("DROP DATABASE IF EXISTS " + name(here) + " WITH (FORCE)");
        TestServer.execute("DROP ROLE replaced_owner");
    }

    private static void nobody(String progress) {}

    private static String name(DatabaseConfiguration database) {
        return database.location().substring(database.location().lastIndexOf('/') + 1);
    }

    private static void execute(DatabaseConfiguration database, String sql) throws SQLException {
        try (Connection connection = TestServer.connect(name(database));
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    private static String ask(DatabaseConfiguration database, String sql) throws SQLException {
        try (Connection connection = TestServer.connect(name(database));
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(sql)) {
            assertThat(row.next()).isTrue();
            return String.valueOf(row.getString(1));
        }
    }

    private void copyOrigin() {
        try (ReflectedDatabase opened = new PostgresBinding().open(origin, new NoClients())) {
            opened.applier().commit(new StoredPosition(1, 2, 3, 4), false);
            opened.snapshot(snapshot);
        }
    }

    @Test
    void aSnapshotThatCannotBeLoadedTakesNoDatabasesPlace() throws Exception {
        copyOrigin();
        Path schema = snapshot.resolve("schema-before");
        String whole = Files.readString(schema);
        Files.writeString(schema, whole + "\0CREATE TABLE u (a known_nowhere)");
        PostgresBinding binding = new PostgresBinding();
        assertThatThrownBy(() -> binding.replace(snapshot, here, ReplacedDatabaseTest::nobody))
                .isInstanceOf(ReflectionException.class)
                .hasMessageContaining("known_nowhere");
        assertThat(ask(here, "SELECT a FROM t")).isEqualTo("2");
        Files.writeString(schema, whole);
        List<String> told = new ArrayList<>();
        binding.replace(snapshot, here, told::add);
        assertThat(told).first().asString().contains("table 1 of ");
        assertThat(told).last().asString().contains("makes keys and indexes");
        assertThat(ask(here, "SELECT a FROM t")).isEqualTo("1");
        binding.replace(snapshot, here, ReplacedDatabaseTest::nobody);
        assertThat(ask(here, "SELECT a FROM t")).isEqualTo("1");
    }

    private static String rights(DatabaseConfiguration database) throws SQLException {
        return ask(
                database,
                "SELECT concat(datdba::regrole, ' ', (SELECT string_agg(x::text, ' ' ORDER BY x::text) FROM aclexplode(datacl) x))"
                        + " FROM pg_database WHERE datname = current_database()");
    }

    @Test
    void aDatabaseThatIsLoadedHasTheOwnerAndTheRightsThatItHad() throws SQLException {
        execute(origin, "REVOKE CONNECT ON DATABASE " + name(origin) + " FROM PUBLIC");
        execute(origin, "GRANT TEMP ON DATABASE " + name(origin) + " TO pg_monitor WITH GRANT OPTION");
        copyOrigin();
        new PostgresBinding().replace(snapshot, here, ReplacedDatabaseTest::nobody);
        assertThat(rights(here)).isEqualTo(rights(origin));
        assertThat(ask(here, "SELECT has_schema_privilege('replaced_owner', 'public', 'CREATE')"))
                .isEqualTo("t");
    }

    @Test
    void anOwnerThatIsNotHereIsLeftOut() throws SQLException, IOException {
        copyOrigin();
        Path file = snapshot.resolve("rights");
        Files.writeString(file, Files.readString(file).replace("replaced_owner", "known_nowhere"));
        new PostgresBinding().replace(snapshot, here, ReplacedDatabaseTest::nobody);
        assertThat(rights(here)).startsWith("postgres");
        assertThat(ask(here, "SELECT a FROM t")).isEqualTo("1");
    }

    @Test
    void whatWasLoadedBesideTheOpenDatabaseOnlyTakesItsPlace() throws Exception {
        copyOrigin();
        PostgresBinding binding = new PostgresBinding();
        try (ReflectedDatabase opened = binding.open(here, new NoClients())) {
            binding.prepare(snapshot, here, ReplacedDatabaseTest::nobody);
            assertThat(opened.storedPosition()).isEmpty();
            assertThat(ask(here, "SELECT a FROM t")).isEqualTo("2");
        }
        Path schema = snapshot.resolve("schema-before");
        String whole = Files.readString(schema);
        Files.writeString(schema, "is not read again");
        binding.replace(snapshot, here, ReplacedDatabaseTest::nobody);
        assertThat(ask(here, "SELECT a FROM t")).isEqualTo("1");
        assertThatThrownBy(() -> binding.replace(snapshot, here, ReplacedDatabaseTest::nobody))
                .hasMessageContaining("is not read again");
        Files.writeString(schema, whole);
        binding.replace(snapshot, here, ReplacedDatabaseTest::nobody);
        try (ReflectedDatabase opened = binding.open(here, new NoClients())) {
            assertThat(opened.storedPosition()).contains(new StoredPosition(1, 2, 3, 4));
        }
    }
}
