package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Properties;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.gorda.gapi.Applier;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.SuspendedCommit;
import org.junit.jupiter.api.Test;

/** Commits wait for their answer, and do what it says. */
public abstract class CommitAnswersTck extends BindingTck {

    @Test
    void refusedCommitIsRolledBackAndTheConnectionGoesOn() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        meta.answer(commit -> commit.abort(conflict("row (1) of T was taken by another")));
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            assertThatThrownBy(connection::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"))
                    .hasMessageContaining("row (1) of T was taken by another");
            meta.answer(meta::succeed);
            meta.takeWriteSets();
            statement.executeUpdate("INSERT INTO T VALUES (2)");
            connection.commit();
        }
        assertThat(meta.rolledBack()).isEqualTo(1);
        assertThat(count(origin, "T")).isEqualTo(1);
    }

    @Test
    void refusedAutocommitIsRolledBackAndTheConnectionGoesOn() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        try (Connection connection = origin.connect(new Properties());
                Statement statement = connection.createStatement()) {
            meta.answer(commit -> commit.abort(conflict("no")));
            assertThatThrownBy(() -> statement.executeUpdate("INSERT INTO T VALUES (1)"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
            meta.answer(meta::succeed);
            statement.executeUpdate("INSERT INTO T VALUES (2)");
        }
        assertThat(count(origin, "T")).isEqualTo(1);
    }

    @Test
    void commitWaitsForAnAnswerFromAnotherThreadAndIsInvisibleUntilThen() throws Exception {
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
            assertThat(origin.suspended()).hasSize(1);
            assertThat(client.isDone()).isFalse();
            assertThat(suspended.get().commit(meta.nextPosition(), false)).isTrue();
            assertThat(count(origin, "T"))
                    .as("visible before the client is told")
                    .isEqualTo(1);
            assertThat(client.isDone()).isFalse();
            suspended.get().release();
            client.get(10, TimeUnit.SECONDS);
            assertThat(suspended.get().abort(conflict("too late"))).isFalse();
            assertThat(origin.suspended()).isEmpty();
        }
    }

    @Test
    void interruptDoesNotEndASuspendedCommit() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        AtomicReference<Thread> thread = new AtomicReference<>();
        meta.answer(suspended::set);
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            Future<Boolean> client = clients.submit(() -> {
                thread.set(Thread.currentThread());
                connection.commit();
                return Thread.interrupted();
            });
            await("the commit is suspended", () -> suspended.get() != null);
            thread.get().interrupt();
            meta.succeed(suspended.get());
            assertThat(client.get(10, TimeUnit.SECONDS))
                    .as("the interrupt is kept")
                    .isTrue();
        }
        assertThat(count(origin, "T")).isEqualTo(1);
    }

    @Test
    void overdueCommitIsAnsweredByTheListener() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        meta.answer(commit -> {});
        meta.overdue(
                Duration.ofMillis(50),
                commit -> commit.abort(new Refusal(Refusal.Cause.OVERDUE, "not ordered in time")));
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            assertThatThrownBy(connection::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("40001"));
        }
        assertThat(count(origin, "T")).isZero();
    }

    @Test
    void unknownOutcomeEndsTheSessionAndItsDecisionIsAppliedLater() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        replicate();
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        meta.answer(suspended::set);
        meta.overdue(
                Duration.ofMillis(50),
                commit -> commit.leaveUnknown(new Refusal(
                        Refusal.Cause.UNKNOWN_OUTCOME,
                        "ask for " + commit.transaction().id())));
        Connection connection = connect();
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            assertThatThrownBy(connection::commit)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("08007"))
                    .hasMessageContaining(suspended.get().transaction().id().toString());
        }
        assertThat(connection.isClosed()).isTrue();
        assertThat(suspended.get().commit(meta.nextPosition(), false))
                .as("the transaction is gone and must be applied instead")
                .isFalse();
        try (Applier own = origin.applier()) {
            own.apply(suspended.get().writeSet());
            own.commit(meta.nextPosition(), false);
        }
        assertEqual();
        assertThat(count(origin, "T")).isEqualTo(1);
    }

    @Test
    void unknownOutcomeThatIsDecidedAgainstLeavesNothing() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        meta.answer(suspended::set);
        meta.overdue(
                Duration.ofMillis(50),
                commit -> commit.leaveUnknown(new Refusal(Refusal.Cause.UNKNOWN_OUTCOME, "ask")));
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (1)");
            assertRefused("08007", connection::commit);
        }
        assertThat(suspended.get().abort(conflict("decided against"))).isFalse();
        meta.answer(meta::succeed);
        execute("INSERT INTO T VALUES (1)");
        assertThat(count(origin, "T")).isEqualTo(1);
    }

    @Test
    void answerThatComesWithTheDeadlineIsTheOneThatCounts() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        meta.overdue(
                Duration.ofMillis(2), commit -> commit.leaveUnknown(new Refusal(Refusal.Cause.UNKNOWN_OUTCOME, "ask")));
        int committed = 0;
        for (int i = 0; i < 40; i++) {
            AtomicReference<Future<Boolean>> deciding = new AtomicReference<>();
            meta.answer(commit -> deciding.set(clients.submit(() -> {
                long until = System.nanoTime() + 2_000_000;
                while (System.nanoTime() < until) {
                    Thread.onSpinWait();
                }
                boolean done = commit.commit(meta.nextPosition(), false);
                commit.release();
                return done;
            })));
            boolean told = false;
            try {
                execute("INSERT INTO T VALUES (" + i + ")");
                told = true;
            } catch (SQLException e) {
                assertThat(e.getSQLState()).isEqualTo("08007");
            }
            boolean did = deciding.get().get(20, TimeUnit.SECONDS);
            committed += did ? 1 : 0;
            assertThat(did || !told).as("what is told as committed is").isTrue();
        }
        assertThat(count(origin, "T")).isEqualTo(committed);
    }

    @Test
    void clientThatCancelsOrAbortsDoesNotEndASuspendedCommit() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
        meta.answer(suspended::set);
        Connection connection = connect();
        Statement statement = connection.createStatement();
        statement.executeUpdate("INSERT INTO T VALUES (1)");
        Future<?> client = clients.submit(() -> {
            connection.commit();
            return null;
        });
        await("the commit is suspended", () -> suspended.get() != null);
        Future<?> gone = clients.submit(() -> {
            connection.abort(Runnable::run);
            return null;
        });
        Future<?> cancelled = clients.submit(() -> {
            statement.cancel();
            return null;
        });
        assertThat(suspended.get().commit(meta.nextPosition(), false)).isTrue();
        suspended.get().release();
        client.get(20, TimeUnit.SECONDS);
        gone.get(20, TimeUnit.SECONDS);
        try {
            cancelled.get(20, TimeUnit.SECONDS);
        } catch (java.util.concurrent.ExecutionException e) {
            assertThat(e.getCause()).isInstanceOf(SQLException.class);
        }
        assertThat(connection.isClosed()).isTrue();
        assertThat(count(origin, "T")).isEqualTo(1);
        assertThat(meta.rolledBack()).isZero();
    }
}
