package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Properties;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionContext;
import org.gorda.gapi.WriteSet;
import org.junit.jupiter.api.Test;

/** Transactions are rolled back from other threads, whatever they are doing, and never once they are decided. */
public abstract class AbortsTck extends BindingTck {

    @Test
    void abortOfAnIdleTransaction() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            int before = meta.rolledBack();
            meta.lastBegun().abort(conflict("idle"));
            await("it is rolled back", () -> meta.rolledBack() > before);
            assertThatThrownBy(() -> statement.executeQuery("SELECT * FROM T").next())
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"))
                    .hasMessageContaining("idle");
            statement.executeUpdate("INSERT INTO T VALUES (2)");
            connection.commit();
        }
        assertThat(count(origin, "T")).isEqualTo(1);
    }

    @Test
    void abortOfAnIdleTransactionMeetsItsCommit() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            meta.lastBegun().abort(conflict("idle"));
            assertThatThrownBy(connection::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
        }
        assertThat(count(origin, "T")).isZero();
    }

    @Test
    void abortOfATransactionThatWaitsForALock() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1), (2, 2)");
        try (Connection holder = connect();
                Connection waiter = connect();
                Statement hold = holder.createStatement();
                Statement wait = waiter.createStatement()) {
            hold.executeUpdate("UPDATE T SET A = 10 WHERE ID = 1");
            wait.executeUpdate("UPDATE T SET A = 20 WHERE ID = 2");
            var waiting = meta.lastBegun();
            CountDownLatch started = new CountDownLatch(1);
            Future<?> client = clients.submit(() -> {
                started.countDown();
                return wait.executeUpdate("UPDATE T SET A = 11 WHERE ID = 1");
            });
            started.await();
            waiting.abort(conflict("waiting"));
            assertThatThrownBy(() -> client.get(20, TimeUnit.SECONDS))
                    .cause()
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            assertThat(waiter.isClosed()).isFalse();
            wait.executeUpdate("UPDATE T SET A = 22 WHERE ID = 2");
            waiter.commit();
            holder.commit();
        }
        assertEqual();
    }

    @Test
    void abortOfASuspendedCommit() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        CountDownLatch suspended = new CountDownLatch(1);
        meta.answerUnsent(commit -> suspended.countDown());
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            Future<?> client = clients.submit(() -> {
                connection.commit();
                return null;
            });
            suspended.await();
            meta.lastBegun().abort(conflict("suspended"));
            assertThatThrownBy(() -> client.get(20, TimeUnit.SECONDS))
                    .cause()
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
        }
        assertThat(count(origin, "T")).isZero();
    }

    @Test
    void abortOfAnIdleTransactionEndsItsOpenCursor() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1), (2), (3)");
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                Statement other = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (4)");
            ResultSet rows = other.executeQuery("SELECT ID FROM T");
            assertThat(rows.next()).isTrue();
            int before = meta.rolledBack();
            meta.lastBegun().abort(conflict("idle"));
            await("it is rolled back", () -> meta.rolledBack() > before);
            assertThatThrownBy(() -> {
                        while (rows.next()) {
                            rows.getInt(1);
                        }
                    })
                    .as("what is left of the rows is not taken for all")
                    .isInstanceOf(SQLException.class);
            try {
                connection.commit();
            } catch (SQLException e) {
                assertThat(e.getSQLState()).isEqualTo("40001");
            }
            statement.executeUpdate("INSERT INTO T VALUES (5)");
            connection.commit();
        }
        assertThat(count(origin, "T")).isEqualTo(4);
    }

    @Test
    void abortOfARunningStatement() throws Exception {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                "CREATE TABLE N (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO N VALUES (?)")) {
            for (int i = 0; i < 400; i++) {
                insert.setInt(1, i);
                insert.addBatch();
            }
            insert.executeBatch();
            connection.commit();
        }
        for (String running : List.of(
                "INSERT INTO T SELECT A.ID * 160000 + B.ID * 400 + C.ID, 0 FROM N A, N B, N C",
                "UPDATE T SET A = (SELECT COUNT(*) FROM N A, N B, N C WHERE A.ID + B.ID + C.ID > 5)")) {
            try (Connection connection = connect();
                    Statement statement = connection.createStatement()) {
                statement.executeUpdate("INSERT INTO T VALUES (-1, 0)");
                TransactionContext transaction = meta.lastBegun();
                CountDownLatch started = new CountDownLatch(1);
                Future<?> client = clients.submit(() -> {
                    started.countDown();
                    return statement.executeUpdate(running);
                });
                started.await();
                Thread.sleep(50);
                transaction.abort(conflict("running"));
                assertThatThrownBy(() -> client.get(20, TimeUnit.SECONDS))
                        .cause()
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("40001"));
                assertThat(connection.isClosed()).isFalse();
                statement.executeUpdate("DELETE FROM N WHERE ID = -1");
                connection.commit();
            }
        }
        assertThat(count(origin, "T")).isZero();
    }

    @Test
    void abortOfATransactionThatWaitsToRead() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1), (2, 2)");
        for (int isolation : new int[] {Connection.TRANSACTION_READ_COMMITTED, Connection.TRANSACTION_SERIALIZABLE}) {
            try (Connection holder = connect();
                    Connection waiter = connect();
                    Statement hold = holder.createStatement();
                    Statement wait = waiter.createStatement()) {
                waiter.setTransactionIsolation(isolation);
                hold.executeUpdate("UPDATE T SET A = 10 WHERE ID = 1");
                wait.executeUpdate("INSERT INTO T VALUES (3, 3)");
                TransactionContext waiting = meta.lastBegun();
                CountDownLatch started = new CountDownLatch(1);
                Future<?> client = clients.submit(() -> {
                    started.countDown();
                    try (ResultSet rows = wait.executeQuery("SELECT SUM(A) FROM T")) {
                        return rows.next();
                    }
                });
                started.await();
                Thread.sleep(50);
                waiting.abort(conflict("waits to read"));
                assertThatThrownBy(() -> client.get(20, TimeUnit.SECONDS))
                        .cause()
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("40001"));
                assertThat(waiter.isClosed()).isFalse();
                holder.rollback();
                wait.executeUpdate("UPDATE T SET A = A + 1 WHERE ID = 2");
                waiter.commit();
            }
        }
        assertEqual();
    }

    @Test
    void locksOfAnAbortedTransactionAreFree() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 1)");
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        meta.answerUnsent(suspended::set);
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("UPDATE T SET A = 2");
            Future<?> client = clients.submit(() -> {
                connection.commit();
                return null;
            });
            await("the commit is suspended", () -> suspended.get() != null);
            meta.lastBegun().abort(conflict("suspended"));
            assertThatThrownBy(() -> client.get(20, TimeUnit.SECONDS)).hasStackTraceContaining("suspended");
            meta.answer(meta::succeed);
            execute("UPDATE T SET A = A + 10");
            statement.executeUpdate("UPDATE T SET A = A + 100");
            connection.commit();
        }
        assertThat(query(origin, "SELECT A FROM T")).containsExactly("111");
    }

    @Test
    void whatIsHandedOverIsAbortedByItsAnswerAlone() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        meta.answer(suspended::set);
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            Future<?> client = clients.submit(() -> {
                connection.commit();
                return null;
            });
            await("the commit is suspended", () -> suspended.get() != null);
            meta.lastBegun().abort(conflict("too late"));
            origin.abortAll(conflict("too late, too"));
            assertThat(suspended.get().commit(meta.nextPosition(), false)).isTrue();
            suspended.get().release();
            client.get(20, TimeUnit.SECONDS);
        }
        assertThat(count(origin, "T")).isEqualTo(1);
    }

    @Test
    void abortThatMeetsACommitEitherComesFirstOrHasNoEffect() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        meta.answer(commit -> {
            if (commit.commit(meta.nextPosition(), false)) {
                commit.release();
            }
        });
        int committed = 0;
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?)")) {
            for (int i = 0; i < 200; i++) {
                insert.setInt(1, i);
                insert.executeUpdate();
                TransactionContext transaction = meta.lastBegun();
                int pause = i;
                Future<?> aborting = clients.submit(() -> {
                    for (int spin = 0; spin < pause * 20; spin++) {
                        Thread.onSpinWait();
                    }
                    transaction.abort(conflict("meets it"));
                });
                boolean told = false;
                try {
                    connection.commit();
                    told = true;
                    committed++;
                } catch (SQLException e) {
                    assertThat(e.getSQLState()).as(e.toString()).isEqualTo("40001");
                }
                aborting.get(20, TimeUnit.SECONDS);
                connection.rollback();
                assertThat(query(origin, "SELECT ID FROM T WHERE ID = " + i)).hasSize(told ? 1 : 0);
            }
        }
        assertThat(count(origin, "T")).isEqualTo(committed);
    }

    /** What became of a client whose suspended commit stood in the way of a change that was ordered before it. */
    private Future<?> clientInTheWayOfTheApplier(AtomicReference<SuspendedCommit> suspended, Connection local)
            throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)", "INSERT INTO T VALUES (1, 0)");
        replicate();
        execute("UPDATE T SET A = A + 10");
        List<WriteSet> theirs = meta.takeWriteSets();
        replicaMeta.answer(suspended::set);
        try (Statement statement = local.createStatement()) {
            statement.executeUpdate("UPDATE T SET A = A + 1");
        }
        Future<?> client = clients.submit(() -> {
            local.commit();
            return null;
        });
        await("the commit is suspended", () -> suspended.get() != null);
        theirs.forEach(applier::apply);
        applier.commit(position(++applied), false);
        assertThat(client.isDone()).as("its answer is not there yet").isFalse();
        assertThat(query(replica, "SELECT A FROM T")).containsExactly("10");
        assertThat(suspended.get().commit(position(applied + 1), false))
                .as("its changes are still there")
                .isFalse();
        return client;
    }

    @Test
    void tablesAreListedForTheApplierWithoutWaitingForOnesThatAreNotCommitted() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        replicate();
        try (Connection local = connect(replica, new Properties());
                Statement statement = local.createStatement()) {
            statement.execute("CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY)");
            Future<List<TableShape>> listing = clients.submit(applier::tables);
            assertThat(listing.get(10, TimeUnit.SECONDS)).hasSize(1).isEqualTo(origin.tables());
            applier.rollback();
            assertThatThrownBy(local::commit)
                    .isInstanceOf(SQLException.class)
                    .hasFieldOrPropertyWithValue("SQLState", "40001");
        }
        assertThat(count(replica, "T")).isZero();
    }

    @Test
    void suspendedCommitInTheWayOfTheApplierIsReplayedAndItsClientSucceeds() throws Exception {
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        try (Connection local = connect(replica, new Properties())) {
            Future<?> client = clientInTheWayOfTheApplier(suspended, local);
            applier.apply(suspended.get().writeSet());
            applier.commit(position(++applied), false);
            suspended.get().release();
            client.get(20, TimeUnit.SECONDS);
            assertThat(replicaMeta.rolledBack()).isZero();
            // The changed row as it was changed here.
            assertThat(query(replica, "SELECT A FROM T")).containsExactly("1");
            try (Statement statement = local.createStatement()) {
                replicaMeta.answer(commit -> {
                    assertThat(commit.commit(position(++applied), false)).isTrue();
                    commit.release();
                });
                statement.executeUpdate("UPDATE T SET A = 5");
                local.commit();
            }
            assertThat(query(replica, "SELECT A FROM T")).containsExactly("5");
        }
    }

    @Test
    void suspendedCommitInTheWayOfTheApplierIsToldWhenItLosesForGood() throws Exception {
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        try (Connection local = connect(replica, new Properties())) {
            Future<?> client = clientInTheWayOfTheApplier(suspended, local);
            assertThat(suspended.get().abort(conflict("they came first"))).isTrue();
            assertThatThrownBy(() -> client.get(20, TimeUnit.SECONDS)).hasStackTraceContaining("they came first");
            assertThat(query(replica, "SELECT A FROM T")).containsExactly("10");
        }
    }
}
