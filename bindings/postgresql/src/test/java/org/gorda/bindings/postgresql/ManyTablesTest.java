package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.tck.MetaLevel;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.Replica;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A transaction costs what it does, not what there is. */
@Timeout(180)
class ManyTablesTest {

    /** Many more than the server below can have locked at once. */
    private static final int SEQUENCES = 4_000;

    private static final int TABLES = 200;

    private static final int CHANGES = 300;

    @TempDir
    Path directory;

    private static long last(Statement statement, String sequence) throws SQLException {
        try (ResultSet row = statement.executeQuery("SELECT last_value FROM " + sequence)) {
            row.next();
            return row.getLong(1);
        }
    }

    /** Each of them would need a lock to be looked at, of which a server has 64 for each connection if it is not told otherwise. */
    @Test
    void aCommitLooksAtNoSequenceButItsOwn() throws IOException, SQLException {
        String self = "127.0.0.1:" + LoopbackPorts.free(1).get(0);
        try (EmbeddedPostgres server = EmbeddedPostgres.builder()
                .setServerConfig("max_locks_per_transaction", "10")
                .setServerConfig("max_connections", "20")
                .start()) {
            String location = "//localhost:" + server.getPort() + "/postgres";
            try (Connection around = DriverManager.getConnection("jdbc:postgresql:" + location + "?user=postgres");
                    Statement statement = around.createStatement()) {
                statement.execute("CREATE TABLE item (id SERIAL PRIMARY KEY, name TEXT NOT NULL)");
                statement.execute(
                        "DO $$ BEGIN FOR i IN 1.." + SEQUENCES
                                + " LOOP EXECUTE 'CREATE SEQUENCE s' || i; PERFORM nextval('s' || i); COMMIT; END LOOP; END $$");
            }
            try (Replica replica = Replica.builder()
                    .database("postgresql", location)
                    .attribute("user", "postgres")
                    .directory(directory)
                    .group("test")
                    .self(self)
                    .members(self)
                    .protocol(ReplicationProtocol.PRIMARY_BACKUP)
                    .start()) {
                replica.awaitPrimary(Duration.ofSeconds(60));
                write(replica);
            }
        }
    }

    /** Of a table, its parts, its index and its sequence, which are made together, and of all sequences. */
    @Test
    void aDatabaseIsReceivedWithFewerLocksThanItHasTables() throws IOException, SQLException {
        try (EmbeddedPostgres server = EmbeddedPostgres.builder()
                .setServerConfig("max_locks_per_transaction", "10")
                .setServerConfig("max_connections", "20")
                .setServerConfig("fsync", "off")
                .start()) {
            String location = "//localhost:" + server.getPort() + "/";
            try (Connection around =
                            DriverManager.getConnection("jdbc:postgresql:" + location + "postgres?user=postgres");
                    Statement statement = around.createStatement()) {
                statement.execute("DO $$ BEGIN FOR i IN 1.." + TABLES
                        + " LOOP EXECUTE 'CREATE TABLE t' || i || ' (id serial PRIMARY KEY, name text)'; COMMIT; END LOOP;"
                        + " FOR i IN 1.." + SEQUENCES
                        + " LOOP EXECUTE 'CREATE SEQUENCE s' || i; COMMIT; END LOOP; END $$");
            }
            PostgresBinding binding = new PostgresBinding();
            Path snapshot = directory.resolve("snapshot");
            try (ReflectedDatabase origin = binding.open(configuration(location + "postgres"), new MetaLevel())) {
                origin.snapshot(snapshot);
            }
            binding.load(snapshot, configuration(location + "copy"));
            try (ReflectedDatabase copy = binding.open(configuration(location + "copy"), new MetaLevel())) {
                assertThat(copy.tables()).hasSize(TABLES);
            }
        }
    }

    /** By the rows of the catalogue that the server has read for a hundred of them, which do not depend on what else the machine does. */
    @Test
    void aChangeOfTheSchemaCostsAsMuchHoweverManyPrecedeItInItsTransaction() throws SQLException {
        DatabaseConfiguration own = TestServer.configuration(directory, "db");
        TestServer.execute(
                "CREATE DATABASE " + own.location().substring(own.location().lastIndexOf('/') + 1));
        List<Long> read = new ArrayList<>();
        try (ReflectedDatabase database = new PostgresBinding().open(own, new MetaLevel());
                Connection client = database.connect(new Properties());
                Statement statement = client.createStatement()) {
            client.setAutoCommit(false);
            for (int i = 0; i < CHANGES; i++) {
                if (i % 100 == 0) {
                    read.add(catalogueRead(statement));
                }
                statement.execute("CREATE TABLE t" + i + " (id int GENERATED ALWAYS AS IDENTITY PRIMARY KEY, name text"
                        + (i == 0 ? ")" : ", before int REFERENCES t" + (i - 1) + ")"));
                if (i % 3 == 0) {
                    statement.execute("CREATE TRIGGER same BEFORE UPDATE ON t" + i
                            + " FOR EACH ROW EXECUTE FUNCTION suppress_redundant_updates_trigger()");
                }
            }
            long end = catalogueRead(statement);
            client.rollback();
            assertThat(end - read.get(read.size() - 1))
                    .as("rows of the catalogue for the last hundred, of %s", read)
                    .isLessThan(2 * (read.get(1) - read.get(0)));
        }
    }

    private static long catalogueRead(Statement statement) throws SQLException {
        try (ResultSet row =
                statement.executeQuery("SELECT sum(seq_tup_read + idx_tup_fetch) FROM pg_stat_xact_sys_tables")) {
            row.next();
            return row.getLong(1);
        }
    }

    private DatabaseConfiguration configuration(String location) {
        return new DatabaseConfiguration(
                location, Map.of("user", "postgres"), Duration.ofMillis(200), 64 << 20, directory.resolve("spool"));
    }

    private static void write(Replica replica) throws SQLException {
        try (Connection client = replica.connect(new Properties());
                Statement statement = client.createStatement()) {
            statement.execute("INSERT INTO item (name) VALUES ('a')");
            client.setAutoCommit(false);
            statement.execute("INSERT INTO item (name) VALUES ('taken back')");
            client.rollback();
            statement.execute("INSERT INTO item (name) SELECT nextval('s7')");
            client.commit();
            assertThat(last(statement, "item_id_seq")).isEqualTo(3);
            assertThat(last(statement, "s7")).isEqualTo(2);
        }
    }
}
