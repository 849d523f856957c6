package org.gorda.bench.torture;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.SplittableRandom;
import java.util.function.Predicate;
import java.util.stream.Stream;
import org.jspecify.annotations.Nullable;

/** One client's transactions of a workload on a database in memory without any replication, and what its check says of them. */
final class EngineAlone implements AutoCloseable {

    private final Workload workload;
    private final SplittableRandom random = new SplittableRandom(1);
    private final List<Recorded> history = new ArrayList<>();
    private final Connection connection;

    EngineAlone(Workload workload) throws SQLException {
        this.workload = workload;
        connection = DriverManager.getConnection("jdbc:derby:memory:alone-" + workload.name() + ";create=true");
        connection.setAutoCommit(false);
        execute(workload.schema().toArray(String[]::new));
        connection.commit();
    }

    private void execute(String... lines) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            for (String line : lines) {
                statement.execute(line);
            }
        }
    }

    void run(int transactions) throws SQLException {
        for (int i = 0; i < transactions; i++) {
            Operation operation = workload.next(random);
            String state = null;
            try {
                operation.run(connection);
                connection.commit();
            } catch (SQLException e) {
                state = e.getSQLState();
                connection.rollback();
            }
            history.add(recorded(operation, state == null ? Outcome.OK : Outcome.FAILED, state));
        }
    }

    private Recorded recorded(Operation operation, Outcome outcome, @Nullable String state) {
        long now = history.size();
        return new Recorded(workload.name(), operation, 0, now, now, outcome, state);
    }

    List<Recorded> history() {
        return history;
    }

    /** The last one with an outcome of which something holds. */
    Recorded last(Outcome outcome, Predicate<Operation> condition) {
        return history.stream()
                .filter(one -> one.outcome() == outcome && condition.test(one.operation()))
                .max(Comparator.comparingLong(Recorded::begunNanos))
                .orElseThrow();
    }

    Stream<String> found() throws SQLException {
        Findings findings = new Findings();
        workload.check(history, connection, findings);
        return findings.counts().keySet().stream();
    }

    /** What is found after something was changed, which is taken back then. */
    Stream<String> foundAfter(String... changes) throws SQLException {
        try {
            execute(changes);
            return found();
        } finally {
            connection.rollback();
        }
    }

    /** What is found if a client was told another outcome. */
    Stream<String> foundIfTold(Recorded one, Outcome outcome, String... changes) throws SQLException {
        history.set(
                (int) one.begunNanos(),
                new Recorded(workload.name(), one.operation(), 0, one.begunNanos(), one.begunNanos(), outcome, null));
        try {
            return foundAfter(changes);
        } finally {
            history.set((int) one.begunNanos(), one);
        }
    }

    /** What is found if a client has executed and committed one more after something was changed, which is taken back before. */
    Stream<String> foundOfOneMore(Predicate<Operation> condition, String... changes) throws SQLException {
        Operation operation = Stream.generate(() -> workload.next(random))
                .filter(condition)
                .findFirst()
                .orElseThrow();
        execute(changes);
        operation.run(connection);
        connection.rollback();
        history.add(recorded(operation, Outcome.OK, null));
        try {
            return found();
        } finally {
            history.remove(history.size() - 1);
        }
    }

    @Override
    public void close() throws SQLException {
        connection.rollback();
        connection.close();
    }
}
