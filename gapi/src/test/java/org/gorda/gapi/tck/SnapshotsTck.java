package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.stream.Stream;
import org.gorda.gapi.Applier;
import org.gorda.gapi.FrozenRows;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSet;
import org.junit.jupiter.api.Test;

/** A copy that is made while clients write, and the database that is made of it. */
public abstract class SnapshotsTck extends BindingTck {

    private ReflectedDatabase load(Path snapshot, MetaLevel above) {
        tested().binding().load(snapshot, configuration("copy"));
        return tested().binding().open(configuration("copy"), above);
    }

    @Test
    void snapshotUnderLoadAndWhatFollowsItsPositionAreTheDatabase() throws Exception {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, A INTEGER, B BLOB(1M))",
                "CREATE SEQUENCE S",
                "CREATE TABLE SUMS (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)",
                "INSERT INTO SUMS VALUES (1, 0)");
        AtomicBoolean goesOn = new AtomicBoolean(true);
        AtomicInteger written = new AtomicInteger();
        Future<?> load = clients.submit(() -> write(
                goesOn,
                written,
                "INSERT INTO T (A, B) VALUES (NEXT VALUE FOR S, CAST(X'" + "00FF".repeat(250) + "' AS BLOB))"));
        await("there is something to copy", () -> written.get() >= 50);
        Path snapshot = directory.resolve("snapshot");
        origin.snapshot(snapshot);
        int copied = written.get();
        await("the load goes on", () -> written.get() >= copied + 20);
        goesOn.set(false);
        load.get(30, TimeUnit.SECONDS);

        List<WriteSet> all = meta.takeWriteSets();
        MetaLevel aboveCopy = new MetaLevel();
        try (ReflectedDatabase copy = load(snapshot, aboveCopy)) {
            int held = (int) copy.storedPosition().orElseThrow().index();
            assertThat(held).isBetween(50, all.size() - 19);
            try (Applier applierOfCopy = copy.applier()) {
                for (int next = held + 1; next <= all.size(); next++) {
                    applierOfCopy.apply(all.get(next - 1));
                    applierOfCopy.commit(position(next), false);
                }
                assertEqual(copy);
                copy.takeOver();
                aboveCopy.continueAfter(all.size());
                try (Connection connection = connect(copy, new Properties());
                        Statement statement = connection.createStatement()) {
                    statement.executeUpdate("INSERT INTO T (A) VALUES (NEXT VALUE FOR S)");
                    connection.commit();
                }
                assertThat(count(copy, "T")).isEqualTo(count(origin, "T") + 1);
                assertThat(query(copy, "SELECT A FROM T GROUP BY A HAVING COUNT(*) > 1"))
                        .isEmpty();
            }
        }
    }

    private Void write(AtomicBoolean goesOn, AtomicInteger written, String insert) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            while (goesOn.get()) {
                statement.executeUpdate(insert);
                statement.executeUpdate("UPDATE SUMS SET N = N + 1");
                statement.executeUpdate("DELETE FROM T WHERE ID = " + (written.get() / 2));
                connection.commit();
                written.incrementAndGet();
            }
        }
        return null;
    }

    @Test
    void frozenRowsAreThoseOfOneMomentWhileTheLoadGoesOn() throws Exception {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY (START WITH 1), A INTEGER, PRIMARY KEY (ID))",
                "CREATE SEQUENCE S AS BIGINT START WITH 1",
                "CREATE TABLE SUMS (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)",
                "INSERT INTO SUMS VALUES (1, 0)");
        long before = origin.storedPosition().orElseThrow().index();
        AtomicBoolean goesOn = new AtomicBoolean(true);
        AtomicInteger written = new AtomicInteger();
        Future<?> load = clients.submit(() -> write(goesOn, written, "INSERT INTO T (A) VALUES (NEXT VALUE FOR S)"));
        await("there is something to read", () -> written.get() >= 50);
        Path scratch = directory.resolve("scratch");
        try (FrozenRows frozen = origin.freeze(scratch)) {
            int read = written.get();
            await("the load goes on", () -> written.get() >= read + 20);
            assertThat(frozen.tables()).isEqualTo(origin.tables());
            long commits = frozen.position().orElseThrow().index() - before;
            assertThat(commits).isBetween(50L, (long) written.get() - 19);
            try (Statement statement = frozen.connection().createStatement()) {
                assertThat(number(statement, "SELECT N FROM " + table(frozen, "SUMS")))
                        .as("as of its position")
                        .isEqualTo(commits);
                assertThat(number(statement, "SELECT COUNT(*) FROM " + table(frozen, "T")))
                        .isEqualTo(commits - (commits - 1) / 2);
            }
            TableShape t = frozen.tables().stream()
                    .filter(shape -> shape.name().equalsIgnoreCase("T"))
                    .findFirst()
                    .orElseThrow();
            assertThat(frozen.generated().get(tested().identityColumn(t))).isGreaterThanOrEqualTo(commits);
            assertThat(frozen.generated().get(tested().sequence(t.schema(), "S")))
                    .isGreaterThanOrEqualTo(commits);
        } finally {
            goesOn.set(false);
        }
        load.get(30, TimeUnit.SECONDS);
        assertEqual();
    }

    private static String table(FrozenRows frozen, String name) {
        return frozen.tables().stream()
                .filter(shape -> shape.name().equalsIgnoreCase(name))
                .findFirst()
                .orElseThrow()
                .toString();
    }

    private static long number(Statement statement, String query) throws SQLException {
        try (ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getLong(1);
        }
    }

    @Test
    void snapshotThatCannotBeMadeOrLoadedHarmsNothing() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
        Path there = Files.createDirectory(directory.resolve("there"));
        assertThatThrownBy(() -> origin.snapshot(there))
                .isInstanceOf(ReflectionException.class)
                .hasMessageContaining(there + ", which exists");
        Path file = Files.createFile(directory.resolve("file"));
        assertThatThrownBy(() -> origin.snapshot(file.resolve("snapshot")))
                .isInstanceOf(ReflectionException.class)
                .hasMessageContaining(file.toString());
        assertThatThrownBy(() -> tested().binding().load(there, configuration("copy")))
                .isInstanceOf(ReflectionException.class)
                .hasMessageContaining("is no snapshot");

        Path snapshot = directory.resolve("snapshot");
        origin.snapshot(snapshot);
        assertThatThrownBy(() -> tested().binding().load(snapshot, configuration("origin")))
                .isInstanceOf(ReflectionException.class)
                .hasMessageContaining("exists");
        Path another = directory.resolve("another");
        origin.snapshot(another);
        execute("INSERT INTO T VALUES (2)");
        load(snapshot, new MetaLevel()).close();
        tested().binding().drop(configuration("copy"));
        tested().binding().drop(configuration("copy"));
        for (Path next : List.of(another, snapshot)) {
            if (Files.exists(next)) { // it may have become the database
                try (ReflectedDatabase copy = load(next, new MetaLevel())) {
                    assertThat(count(copy, "T")).as("dropped, and loaded again").isEqualTo(1);
                }
                tested().binding().drop(configuration("copy"));
            }
        }
        assertThat(count(origin, "T")).isEqualTo(2);
        assertEqual();
        assertThat(unfinished()).isEmpty();
    }

    /** As happens where a database is replaced by one that was received. */
    @Test
    void whoConnectsToAClosedDatabaseDoesNotOpenItAnew() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
        Path snapshot = directory.resolve("snapshot");
        origin.snapshot(snapshot);
        ReflectedDatabase copy = load(snapshot, new MetaLevel());
        AtomicBoolean goesOn = new AtomicBoolean(true);
        AtomicInteger connected = new AtomicInteger();
        Future<?> comesAndGoes = clients.submit(() -> {
            while (goesOn.get() && !Thread.currentThread().isInterrupted()) {
                try {
                    copy.connect(new Properties()).close();
                    connected.incrementAndGet();
                } catch (SQLException ignored) {
                    // It is closed.
                }
            }
        });
        await("somebody connects", () -> connected.get() >= 10);
        copy.close();
        assertThatThrownBy(() -> copy.connect(new Properties())).isInstanceOf(SQLException.class);
        execute("INSERT INTO T VALUES (2)");
        Path newer = directory.resolve("newer");
        origin.snapshot(newer);
        tested().binding().drop(configuration("copy"));
        try (ReflectedDatabase replaced = load(newer, new MetaLevel())) {
            assertThat(count(replaced, "T")).isEqualTo(2);
        } finally {
            goesOn.set(false);
        }
        comesAndGoes.get(30, TimeUnit.SECONDS);
    }

    private List<Path> unfinished() throws IOException {
        try (Stream<Path> files = Files.list(directory)) {
            return files.filter(file -> file.toString().endsWith(".unfinished")).toList();
        }
    }
}
