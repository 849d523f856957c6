package org.gorda.bench.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;

class StockTest {

    private static final int TRANSACTIONS = 300;

    private final Stock stock = new Stock(Dialect.DERBY, random -> Isolation.READ_COMMITTED);
    private final List<Recorded> history = new ArrayList<>();

    /** By the engine alone. */
    private void load(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String line : stock.schema()) {
                statement.execute(line);
            }
            connection.commit();
        }
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < TRANSACTIONS; i++) {
            Operation operation = stock.next(random);
            String state = null;
            try {
                operation.run(connection);
                connection.commit();
            } catch (SQLException e) {
                state = e.getSQLState();
                connection.rollback();
            }
            history.add(
                    new Recorded(stock.name(), operation, 0, i, i, state == null ? Outcome.OK : Outcome.FAILED, state));
        }
    }

    private Stream<String> found(Connection connection) throws SQLException {
        Findings findings = new Findings();
        stock.check(history, connection, findings);
        return findings.counts().keySet().stream();
    }

    /** What it is told of a database after something was changed there, which is taken back then. */
    private Stream<String> foundAfter(Connection connection, String change) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(change);
            return found(connection);
        } finally {
            connection.rollback();
        }
    }

    @Test
    void findsNothingButWhatIsNotAsItWasTold() throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:derby:memory:stock;create=true")) {
            connection.setAutoCommit(false);
            load(connection);
            assertThat(history).extracting(Recorded::outcome).contains(Outcome.OK, Outcome.FAILED);
            assertThat(history).filteredOn(one -> one.outcome() == Outcome.OK).hasSizeGreaterThan(TRANSACTIONS / 3);
            assertThat(history)
                    .filteredOn(one -> one.outcome() == Outcome.FAILED)
                    .extracting(Recorded::state)
                    .as("only constraints end what nobody disturbs")
                    .allMatch(state -> state.matches("23...|XJ208"));

            assertThat(found(connection)).isEmpty();
            assertThat(foundAfter(connection, "DELETE FROM MARKS")).containsExactly(Findings.LOST);
            assertThat(foundAfter(connection, "INSERT INTO MARKS VALUES (0)")).containsExactly("from nowhere");
            assertThat(foundAfter(connection, "DELETE FROM MOVES")).containsExactly("in part");
            int failed = 1 + history.stream().map(Recorded::outcome).toList().indexOf(Outcome.FAILED);
            assertThat(foundAfter(connection, "INSERT INTO MARKS VALUES (" + failed + ")"))
                    .containsExactly("resurrected");
            connection.rollback();
        }
    }
}
