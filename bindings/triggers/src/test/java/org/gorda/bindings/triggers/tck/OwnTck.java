package org.gorda.bindings.triggers.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.io.InputStream;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.ArrayList;
import java.util.List;
import java.util.Random;
import java.util.concurrent.Future;
import java.util.concurrent.TimeUnit;
import org.gorda.gapi.TransactionContext;
import org.gorda.gapi.tck.BindingTck;
import org.junit.jupiter.api.Test;

/** What databases behind triggers have in a way of their own, and all alike. */
public abstract class OwnTck extends BindingTck {

    @Override
    protected abstract TriggeredUnderTest tested();

    /** A statement, one of many kinds, that changes the tables of {@link #transactionsOfSeveralClientsAtRandom}. */
    protected abstract String change(Random random, int row, int other);

    /** A column ID whose values the database gives, and which is the key. */
    protected String generatedKey() {
        return "ID BIGINT GENERATED ALWAYS AS IDENTITY PRIMARY KEY";
    }

    /** Whether a transaction that ended so may be run again. */
    protected boolean isRefusal(String sqlState) {
        return sqlState.startsWith("40");
    }

    protected final void makeTable() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)");
    }

    protected final void assertRefusedEach(String... statements) {
        for (String sql : statements) {
            assertRefused("0A000", () -> execute(sql));
        }
    }

    protected final Connection past(String database) throws SQLException {
        return tested().past(configuration(database));
    }

    @Test
    void theDatabasesOwnConnectionIsNotGiven() throws SQLException {
        makeTable();
        Class<? extends Connection> own;
        try (Connection past = past("origin")) {
            own = past.getClass();
        }
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT * FROM T")) {
            assertRefused("0A000", () -> connection.unwrap(own));
            assertThat(statement.getConnection()).isSameAs(connection);
            assertThat(rows.getStatement()).isSameAs(statement);
            assertThat(connection.getMetaData().getConnection()).isSameAs(connection);
            assertThat(connection.isWrapperFor(own)).isFalse();
        }
    }

    /** As tools ask that execute scripts, also where the driver was not given the statement. */
    @Test
    void whatAStatementHasGivenIsToldAlsoOfSchemaChangesAndCommits() throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            for (String sql : List.of(
                    "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER)",
                    "INSERT INTO T VALUES (1, 1), (2, 2)",
                    "ALTER TABLE T ADD COLUMN B INTEGER",
                    "UPDATE T SET B = 1",
                    "COMMIT")) {
                assertThat(statement.execute(sql)).as(sql).isFalse();
                int changed = sql.startsWith("INSERT") || sql.startsWith("UPDATE") ? 2 : 0;
                assertThat(statement.getUpdateCount()).as(sql).isEqualTo(changed);
                assertThat(statement.getResultSet()).as(sql).isNull();
                assertThat(statement.getMoreResults()).as(sql).isFalse();
                assertThat(statement.getUpdateCount()).as(sql).isEqualTo(-1);
            }
        }
        assertEqual();
    }

    @Test
    void severalStatementsInOneAreRefused() throws SQLException {
        makeTable();
        for (String sql : List.of(
                "INSERT INTO T VALUES (1, 1); COMMIT",
                "SELECT 1 FROM T; CREATE TABLE U (ID INTEGER PRIMARY KEY)",
                "INSERT INTO T VALUES (1, 1); INSERT INTO T VALUES (2, 2)")) {
            assertThatThrownBy(() -> execute(sql)).as(sql).isInstanceOf(SQLException.class);
        }
        assertThat(count(origin, "T")).isZero();
        execute("INSERT INTO T VALUES (1, 1);");
        assertEqual();
    }

    /** Also if what it gives comes from elsewhere, and does not come. */
    @Test
    @SuppressWarnings("InputStreamSlowMultibyteRead") // it has one byte
    void whoIsAbortedWhileItGivesAValueIsInNobodysWay() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A " + tested().bytes() + ")");
        try (Connection connection = connect();
                Statement statement = connection.createStatement();
                PreparedStatement next = connection.prepareStatement("INSERT INTO T VALUES (2, ?)")) {
            statement.executeUpdate("INSERT INTO T VALUES (1, NULL)");
            TransactionContext running = meta.lastBegun();
            InputStream slow = new InputStream() {
                private boolean isRead;

                @Override
                public int read() throws IOException {
                    if (isRead) {
                        return -1;
                    }
                    isRead = true;
                    try {
                        clients.submit(() -> {
                                    running.abort(conflict("another one has come first"));
                                    execute("INSERT INTO T VALUES (3, NULL)");
                                    return null;
                                })
                                .get(20, TimeUnit.SECONDS);
                    } catch (Exception e) {
                        throw new IOException(e);
                    }
                    return 7;
                }
            };
            assertRefused("40001", () -> next.setBinaryStream(1, slow, 1));
            statement.executeUpdate("INSERT INTO T VALUES (4, NULL)");
            connection.commit();
        }
        assertEqual();
        assertThat(query(replica, "SELECT ID FROM T ORDER BY ID")).containsExactly("3", "4");
    }

    /** Applications use what they have given again. */
    @Test
    void aBatchHasTheValuesThatWereGivenWhenItsRowsWereAdded() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A " + tested().bytes() + ", B TIMESTAMP)");
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?, ?)")) {
            byte[] bytes = new byte[1];
            Timestamp time = new Timestamp(0);
            for (int i = 1; i <= 2; i++) {
                bytes[0] = (byte) i;
                time.setTime(i * 86_400_000L);
                insert.setInt(1, i);
                insert.setBytes(2, bytes);
                insert.setTimestamp(3, time);
                insert.addBatch();
            }
            assertThat(insert.executeBatch()).containsExactly(1, 1);
            connection.commit();
        }
        assertEqual();
        for (String column : List.of("A", "B")) {
            assertThat(query(replica, "SELECT COUNT(DISTINCT " + column + ") FROM T"))
                    .as(column)
                    .containsExactly("2");
        }
    }

    /** Whatever clients do to the same rows at the same time, some of it failing, the replica becomes the same. */
    @Test
    void transactionsOfSeveralClientsAtRandom() throws Exception {
        execute(
                "CREATE TABLE P (ID INTEGER NOT NULL PRIMARY KEY)",
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, U INTEGER UNIQUE, A INTEGER,"
                        + " P INTEGER REFERENCES P ON DELETE CASCADE ON UPDATE CASCADE)",
                "CREATE TABLE L (" + generatedKey() + ", A INTEGER)",
                "INSERT INTO P SELECT X FROM " + tested().numbers(0, 9),
                "INSERT INTO T SELECT X, X, 0, MOD(X, 10) FROM " + tested().numbers(0, 39));
        List<Future<?>> all = new ArrayList<>();
        for (int client = 0; client < 4; client++) {
            long seed = client;
            all.add(clients.submit(() -> work(new Random(seed))));
        }
        for (Future<?> client : all) {
            client.get(60, TimeUnit.SECONDS);
        }
        assertThat(meta.begun()).isGreaterThan(100);
        assertEqual();
    }

    private Void work(Random random) throws SQLException {
        try (Connection connection = connect();
                Statement statement = connection.createStatement()) {
            for (int transaction = 0; transaction < 100; transaction++) {
                try {
                    for (int i = random.nextInt(4); i >= 0; i--) {
                        change(connection, statement, random);
                    }
                    if (random.nextInt(10) == 0) {
                        connection.rollback();
                    }
                    connection.commit();
                } catch (SQLException e) {
                    connection.rollback();
                    if (!isRefusal(String.valueOf(e.getSQLState()))) {
                        throw e;
                    }
                }
            }
        }
        return null;
    }

    private void change(Connection connection, Statement statement, Random random) throws SQLException {
        Savepoint savepoint = connection.setSavepoint();
        try {
            statement.execute(change(random, random.nextInt(60), random.nextInt(60)));
            if (random.nextInt(5) == 0) {
                connection.rollback(savepoint);
            }
        } catch (SQLException e) {
            if (!e.getSQLState().startsWith("23")) {
                throw e;
            }
        }
    }
}
