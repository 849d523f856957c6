package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.WriteSet;
import org.junit.jupiter.api.Test;

/** Changes of others are applied together with their position, and win. */
public abstract class ApplyTck extends BindingTck {

    @Test
    void applierWinsAgainstLocalTransactions() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1), (2, 2)");
        replicate();
        execute("UPDATE T SET A = 100");
        try (Connection local = replica.connect(new Properties());
                Statement statement = local.createStatement()) {
            local.setAutoCommit(false);
            statement.executeUpdate("UPDATE T SET A = 5 WHERE ID = 1");
            replicate();
            assertThatThrownBy(local::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
        }
        assertEqual();
    }

    @Test
    void applierWinsAgainstReadersAfterTheirGraceTime() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1), (2, 2)");
        replicate();
        execute("UPDATE T SET A = 100");
        try (Connection local = replica.connect(new Properties());
                Statement statement = local.createStatement()) {
            local.setAutoCommit(false);
            local.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            try (ResultSet rows = statement.executeQuery("SELECT * FROM T")) {
                rows.next();
            }
            replicate();
            assertThatThrownBy(() -> {
                        try (ResultSet rows = statement.executeQuery("SELECT * FROM T")) {
                            rows.next();
                        }
                    })
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
        }
        assertEqual();
    }

    @Test
    void severalWriteSetsBecomeVisibleTogether() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)");
        replicate();
        for (int i = 0; i < 10; i++) {
            execute("INSERT INTO T VALUES (" + i + ", 0)", "UPDATE T SET A = A + 1");
        }
        for (WriteSet writeSet : meta.takeWriteSets()) {
            applier.apply(writeSet);
        }
        applied = 30;
        applier.commit(position(applied), false);
        assertThat(replica.storedPosition().orElseThrow().index()).isEqualTo(30);
        assertEqual();
    }

    @Test
    void rolledBackApplyLeavesNothingAndCanBeRepeated() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, A INTEGER)");
        replicate();
        execute("INSERT INTO T (A) VALUES (1), (2)", "UPDATE T SET A = 7");
        List<WriteSet> writeSets = meta.takeWriteSets();
        writeSets.forEach(applier::apply);
        applier.rollback();
        assertThat(count(replica, "T")).isZero();
        writeSets.forEach(applier::apply);
        applier.commit(position(++applied), true);
        assertEqual();
    }

    @Test
    void divergenceIsNoticedAndNamed() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1), (2, 2)");
        replicate();
        execute("UPDATE T SET A = 5 WHERE ID = 2", "DELETE FROM T WHERE ID = 2");
        try (Connection local = replica.connect(new Properties());
                Statement statement = local.createStatement()) {
            statement.executeUpdate("DELETE FROM T WHERE ID = 2");
        }
        assertThatThrownBy(this::replicate)
                .isInstanceOf(DivergenceException.class)
                .hasMessageContaining("(2)")
                .hasMessageContaining("T");
        applier.rollback();
    }

    @Test
    void tableOfAnotherShapeIsNoticed() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)");
        meta.takeWriteSets();
        try (Connection local = replica.connect(new Properties());
                Statement statement = local.createStatement()) {
            statement.executeUpdate("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A BIGINT)");
        }
        execute("INSERT INTO T VALUES (1, 1)");
        assertThatThrownBy(this::replicate)
                .isInstanceOf(DivergenceException.class)
                .hasMessageContaining("T");
        applier.rollback();
    }

    @Test
    void positionIsStoredWithTheRowsOfItsTransaction() throws SQLException {
        assertThat(replica.storedPosition()).isEmpty();
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        execute("INSERT INTO T VALUES (1)");
        assertThat(origin.storedPosition().orElseThrow()).isEqualTo(position(2));
        replicate();
        assertThat(replica.storedPosition().orElseThrow()).isEqualTo(position(2));
        assertThat(replica.flush().orElseThrow()).isEqualTo(position(2));
    }

    @Test
    void restartedDatabaseContinuesFromItsStoredPosition() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)");
        for (int i = 0; i < 20; i++) {
            execute("INSERT INTO T VALUES (" + i + ", " + i + ")");
        }
        List<WriteSet> all = meta.takeWriteSets();
        for (WriteSet writeSet : all.subList(0, 10)) {
            applier.apply(writeSet);
            applier.commit(position(++applied), false);
        }
        replica = tested().kill(replica, configuration("replica"), replicaMeta);
        applier = replica.applier();
        int from = (int) replica.storedPosition().orElseThrow().index();
        assertThat(from).isLessThanOrEqualTo(10);
        applied = from;
        for (WriteSet writeSet : all.subList(from, all.size())) {
            applier.apply(writeSet);
            applier.commit(position(++applied), false);
        }
        assertEqual();
    }

    @Test
    void forgottenPositionLeavesTheRowsForAnotherGroup() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1)");
        replicate();
        assertThat(replica.storedPosition()).isPresent();
        replica.forget();
        assertThat(replica.storedPosition()).isEmpty();
        replica = tested().kill(replica, configuration("replica"), replicaMeta);
        assertThat(replica.storedPosition()).isEmpty();
        applier = replica.applier();
        applied = 0;
        execute("INSERT INTO T VALUES (2, 2)");
        replicate();
        assertThat(replica.storedPosition().orElseThrow()).isEqualTo(position(1));
        assertEqual();
    }

    @Test
    void positionThatIsHeldAlreadyHasNoEffect() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1), (2, 2)");
        execute("UPDATE T SET A = 10 WHERE ID = 1");
        List<WriteSet> writeSets = meta.takeWriteSets();
        writeSets.forEach(this::apply);
        execute("UPDATE T SET A = 20 WHERE ID = 1");
        replicate();
        for (long held : new long[] {applied - 1, applied}) {
            applier.apply(writeSets.get(writeSets.size() - 1));
            assertThatThrownBy(() -> applier.commit(position(held), false))
                    .isInstanceOf(IllegalArgumentException.class)
                    .hasMessageContaining(position(held).toString())
                    .hasMessageContaining(position(applied).toString());
            applier.rollback();
        }
        assertThat(replica.storedPosition()).contains(position(applied));
        assertEqual();
        execute("UPDATE T SET A = 30 WHERE ID = 1");
        assertEqual();
    }

    @Test
    void whatWasForcedToDiskOutlivesTheDatabase() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)");
        List<WriteSet> all = new ArrayList<>(meta.takeWriteSets());
        for (int round = 0; round < 3; round++) {
            for (int i = 0; i < 10; i++) {
                execute("INSERT INTO T VALUES (" + (10 * round + i) + ", 0)", "UPDATE T SET A = A + 1");
            }
            all.addAll(meta.takeWriteSets());
            while (applied < all.size() - 5) {
                apply(all.get((int) applied));
            }
            long durable = replica.flush().orElseThrow().index();
            assertThat(durable).isEqualTo(applied);
            while (applied < all.size()) {
                apply(all.get((int) applied));
            }
            replica = tested().kill(replica, configuration("replica"), replicaMeta);
            applier = replica.applier();
            applied = replica.storedPosition().orElseThrow().index();
            assertThat(applied).isBetween(durable, (long) all.size());
            assertThat(count(replica, "T"))
                    .as("rows and position are of one moment")
                    .isEqualTo((int) applied - 1);
            while (applied < all.size()) {
                apply(all.get((int) applied));
            }
        }
        assertEqual();
    }

    @Test
    void durableCommitOutlivesTheDatabase() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        meta.answer(commit -> {
            assertThat(commit.commit(meta.nextPosition(), true)).isTrue();
            commit.release();
        });
        execute("INSERT INTO T VALUES (1)");
        List<WriteSet> all = meta.takeWriteSets();
        origin = tested().kill(origin, configuration("origin"), meta);
        assertThat(origin.storedPosition()).contains(position(2));
        assertThat(count(origin, "T")).isEqualTo(1);
        for (WriteSet writeSet : all) {
            applier.apply(writeSet);
            applier.commit(position(++applied), true);
        }
        replica = tested().kill(replica, configuration("replica"), replicaMeta);
        applier = replica.applier();
        assertThat(replica.storedPosition()).contains(position(2));
        assertEqual();
    }

    @Test
    void restartUnderALivingReplicatorAmongSchemaChangesAndKeys() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL GENERATED ALWAYS AS IDENTITY PRIMARY KEY, A INTEGER)",
                "CREATE SEQUENCE S");
        execute("INSERT INTO T (A) VALUES (NEXT VALUE FOR S)", "INSERT INTO T (A) VALUES (NEXT VALUE FOR S)");
        execute("ALTER TABLE T ADD COLUMN B INTEGER DEFAULT 5", "CREATE UNIQUE INDEX I ON T (A)");
        execute("INSERT INTO T (A) VALUES (NEXT VALUE FOR S)", "UPDATE T SET B = 6 WHERE ID = 1");
        execute("ALTER TABLE T DROP COLUMN B", "INSERT INTO T (A) VALUES (NEXT VALUE FOR S)");
        List<WriteSet> all = meta.takeWriteSets();
        int killed = 0;
        while (applied < all.size()) {
            apply(all.get((int) applied));
            if (killed < all.size()) {
                killed++;
                replica = tested().kill(replica, configuration("replica"), replicaMeta);
                applier = replica.applier();
                applied = replica.storedPosition().map(StoredPosition::index).orElse(0L);
            }
        }
        assertEqual();
        replica.takeOver();
        try (Connection connection = connect(replica, new Properties());
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T (A) VALUES (NEXT VALUE FOR S)");
            connection.commit();
        }
        assertThat(count(replica, "T")).isEqualTo(5);
    }

    @Test
    void applierWinsAgainstTableLocksAndSchemaChanges() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1), (2, 2)");
        replicate();
        for (String local : List.of(
                "LOCK TABLE T IN EXCLUSIVE MODE",
                "LOCK TABLE T IN SHARE MODE",
                "ALTER TABLE T ADD COLUMN X INTEGER",
                "CREATE INDEX I ON T (A)",
                "DROP TABLE T",
                "TRUNCATE TABLE T")) {
            try (Connection connection = connect(replica, new Properties());
                    Statement statement = connection.createStatement()) {
                statement.execute(local);
                execute("UPDATE T SET A = A + 1");
                replicate();
                assertRefused("40001", connection::commit);
                connection.rollback();
            }
        }
        assertEqual();
    }

    @Test
    void schemaChangesWinAgainstLocalTransactions() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)",
                "INSERT INTO T VALUES (1, 1), (2, 2)");
        replicate();
        for (String change : List.of(
                "ALTER TABLE T ADD COLUMN B INTEGER DEFAULT 7",
                "CREATE INDEX I ON T (A)",
                "DROP INDEX I",
                "ALTER TABLE T DROP COLUMN B",
                "RENAME TABLE U TO V",
                "DROP TABLE V")) {
            try (Connection writer = connect(replica, new Properties());
                    Connection reader = connect(replica, new Properties());
                    Statement write = writer.createStatement();
                    Statement read = reader.createStatement()) {
                reader.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
                write.executeUpdate("UPDATE T SET A = 5 WHERE ID = 1");
                try (ResultSet rows = read.executeQuery("SELECT * FROM T WHERE ID = 2")) {
                    assertThat(rows.next()).isTrue();
                }
                execute(change, "UPDATE T SET A = A + 1");
                replicate();
                assertRefused("40001", writer::commit);
                assertRefused("40001", reader::commit);
            }
        }
        assertEqual();
    }

    @Test
    void schemaChangesWhoseTurnItIsWinWhereTheyAreMade() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)",
                "INSERT INTO T VALUES (1, 1), (2, 2)");
        meta.letSchemaChangesWin();
        try (Connection writer = connect();
                Connection reader = connect();
                Connection other = connect();
                Statement write = writer.createStatement();
                Statement read = reader.createStatement();
                Statement elsewhere = other.createStatement()) {
            reader.setTransactionIsolation(Connection.TRANSACTION_SERIALIZABLE);
            write.executeUpdate("UPDATE T SET A = 5 WHERE ID = 1");
            elsewhere.executeUpdate("INSERT INTO U VALUES (1)");
            try (ResultSet rows = read.executeQuery("SELECT * FROM T WHERE ID = 2")) {
                assertThat(rows.next()).isTrue();
            }
            execute("ALTER TABLE T ADD COLUMN B INTEGER DEFAULT 7", "CREATE INDEX I ON T (B)");
            assertRefused("40001", writer::commit);
            assertRefused("40001", reader::commit);
            other.commit();
        }
        execute("UPDATE T SET A = A + B");
        assertEqual();
        assertThat(count(replica, "U")).isEqualTo(1);
    }

    @Test
    void applierWinsAgainstLoad() throws Exception {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "INSERT INTO T VALUES (1, 0), (2, 0), (3, 0)");
        replicate();
        replicaMeta.answer(commit -> commit.abort(conflict("not the primary")));
        AtomicBoolean goesOn = new AtomicBoolean(true);
        List<Future<?>> load = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            int mine = i;
            load.add(clients.submit(() -> disturb(mine, goesOn)));
        }
        try {
            for (int i = 0; i < 60; i++) {
                execute("UPDATE T SET A = A + 1", "INSERT INTO T VALUES (" + (10 + i) + ", 0)");
                replicate();
            }
        } finally {
            goesOn.set(false);
        }
        for (Future<?> client : load) {
            client.get(30, TimeUnit.SECONDS);
        }
        assertEqual();
    }

    private Void disturb(int mine, AtomicBoolean goesOn) throws SQLException {
        try (Connection connection = connect(replica, new Properties());
                Statement statement = connection.createStatement()) {
            connection.setTransactionIsolation(
                    mine == 0 ? Connection.TRANSACTION_SERIALIZABLE : Connection.TRANSACTION_READ_COMMITTED);
            while (goesOn.get()) {
                try {
                    statement.executeUpdate("UPDATE T SET A = -1 WHERE ID = " + (mine + 1));
                    try (ResultSet rows = statement.executeQuery("SELECT SUM(A) FROM T")) {
                        rows.next();
                    }
                    connection.commit();
                    throw new AssertionError("a commit that must be refused was not");
                } catch (SQLException e) {
                    if (!e.getSQLState().startsWith("40")) {
                        // Rolled back between two calls: its rows are closed, and the next call that needs the
                        // transaction says why.
                        assertRefused("40001", connection::commit);
                    }
                    connection.rollback();
                }
            }
        }
        return null;
    }
}
