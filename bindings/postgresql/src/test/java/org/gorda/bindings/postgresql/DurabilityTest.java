package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import org.gorda.gapi.Applier;
import org.gorda.gapi.Content;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.WriteSetWriter;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A server that is killed comes back with what it had promised, and rows and position are of one moment. */
class DurabilityTest {

    @TempDir
    Path directory;

    private PostgresDatabase database;

    private EmbeddedPostgres start() throws IOException {
        Files.deleteIfExists(directory.resolve("data").resolve("epg-lock"));
        EmbeddedPostgres server = EmbeddedPostgres.builder()
                .setDataDirectory(directory.resolve("data"))
                .setCleanDataDirectory(false)
                .setServerConfig("fsync", "on")
                .setServerConfig("wal_writer_delay", "10s") // what nobody forces stays in memory
                .start();
        DatabaseConfiguration configuration = new DatabaseConfiguration(
                "//localhost:" + server.getPort() + "/durable",
                Map.of("user", "postgres"),
                Duration.ofMillis(200),
                1 << 20,
                directory.resolve("spool"));
        database = (PostgresDatabase) new PostgresBinding().open(configuration, new MetaLevel());
        return server;
    }

    private void killServer() throws Exception {
        String pid = Files.readAllLines(directory.resolve("data").resolve("postmaster.pid"))
                .get(0);
        ProcessHandle postmaster = ProcessHandle.of(Long.parseLong(pid)).orElseThrow();
        List<ProcessHandle> all = postmaster.descendants().toList();
        postmaster.destroyForcibly();
        all.forEach(ProcessHandle::destroyForcibly);
        for (ProcessHandle process : all) {
            process.onExit().get(20, TimeUnit.SECONDS);
        }
        database.close();
        Files.deleteIfExists(directory.resolve("data").resolve("postmaster.pid"));
    }

    private static StoredPosition position(int index) {
        return new StoredPosition(1, 2, 3, index);
    }

    /** A row for each position up to the last. */
    private void apply(int from, int to, boolean durable) throws SQLException {
        try (Applier applier = database.applier()) {
            for (int i = from; i <= to; i++) {
                applier.apply(row(i));
                applier.commit(position(i), durable && i == to);
            }
        }
    }

    private WriteSet row(int id) {
        WriteSetWriter writer = database.newWriter();
        writer.insert(database.tables().get(0), 1);
        writer.putInteger(SqlType.INTEGER, id);
        return WriteSet.decode(writer.finish().bytes(), Content.EMPTY);
    }

    private int held() throws SQLException {
        int held = (int) database.storedPosition().orElseThrow().index();
        try (Connection connection = database.server().connect("")) {
            assertThat(SqlSession.of(connection)
                            .query("SELECT count(*), coalesce(max(id), 0) FROM public.t")
                            .get(0))
                    .as("rows and position are of one moment")
                    .containsExactly(String.valueOf(held), String.valueOf(held));
        }
        return held;
    }

    @Test
    @Timeout(120)
    void whatWasForcedOrCommittedDurablyOutlivesTheServer() throws Exception {
        start();
        try (Connection connection = database.server().connect(" -c gorda.known=t")) {
            SqlSession session = SqlSession.of(connection);
            session.query("CREATE TABLE public.t (id integer PRIMARY KEY)");
            database.captureNewTables(session);
        }
        apply(1, 10, false);
        assertThat(database.flush()).contains(position(10));
        apply(11, 20, false);
        killServer();
        start();
        int held = held();
        assertThat(held).isBetween(10, 20);
        apply(held + 1, 30, true);
        apply(31, 40, false);
        killServer();
        EmbeddedPostgres last = start();
        assertThat(held()).isBetween(30, 40);
        database.close();
        last.close();
    }
}
