package org.gorda.bench;

import java.io.IOException;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.gorda.bench.workload.BenchException;
import org.gorda.bench.workload.TpcB;

/**
 * The clients in the processes of {@link EmbeddedReplica}s, told what to do from here. A transaction counts as acknowledged when its line has arrived; if the process
 * ends before that, nobody knows. Thread-safe.
 */
final class EmbeddedClients implements LoadTest.Elsewhere, AutoCloseable {

    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final String NO_CONNECTION = "08001";
    private static final String OUTCOME_UNKNOWN = "08007";
    private static final String READ_ONLY = "25006";

    /** No primary yet, or another one. */
    private static final Set<String> NOT_NOW = Set.of(READ_ONLY, "40001", "08006", NO_CONNECTION);

    private final List<ReplicaProcess> replicas;
    private final int scale;
    private final Map<Integer, Within> clients = new ConcurrentHashMap<>();

    /** By client, to how many replicas it has gone until now. */
    private final Map<Integer, Integer> gone = new ConcurrentHashMap<>();

    EmbeddedClients(ReplicaGroup group, int scale) {
        this.replicas = group.replicas();
        this.scale = scale;
    }

    private EmbeddedReplica.Order order(EmbeddedReplica.Task task) {
        return new EmbeddedReplica.Order(task, scale, 0, 0, "");
    }

    /** Makes the bank at whoever takes writes. */
    void load() {
        long end = System.nanoTime() + PATIENCE.toNanos();
        for (int i = 0; ; i = (i + 1) % replicas.size()) {
            try (Within client = new Within(replicas.get(i))) {
                client.ask(order(EmbeddedReplica.Task.LOAD));
                return;
            } catch (SQLException e) {
                if (!NOT_NOW.contains(e.getSQLState()) || System.nanoTime() > end) {
                    throw new BenchException("the bank cannot be made: " + e.getMessage(), e);
                }
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    /** At whichever replica takes writes: one that does not has refused it before it began. */
    @Override
    public void run(int client, long drawn, String name) throws SQLException {
        EmbeddedReplica.Order order = new EmbeddedReplica.Order(EmbeddedReplica.Task.RUN, scale, client, drawn, name);
        long end = System.nanoTime() + PATIENCE.toNanos();
        for (int tries = 0; ; tries++) {
            Within within = null;
            try {
                within = within(client);
                within.ask(order);
                return;
            } catch (SQLException e) {
                String state = String.valueOf(e.getSQLState());
                if (within == null || !within.isOpen() || !state.equals("40001")) {
                    close(client);
                }
                boolean isElsewhere = state.equals(READ_ONLY) || state.equals(NO_CONNECTION);
                if (!isElsewhere || System.nanoTime() > end) {
                    throw e;
                }
            }
            if (tries % replicas.size() == replicas.size() - 1) {
                LockSupport.parkNanos(POLL_NANOS);
            }
        }
    }

    /** Reads what a replica holds: its history, and the sums. */
    TpcB.Sums read(ReplicaProcess replica, Acknowledged.Lookup lookup) {
        try (Within client = new Within(replica)) {
            client.names(order(EmbeddedReplica.Task.HISTORY), lookup);
            return Objects.requireNonNull(
                    client.ask(order(EmbeddedReplica.Task.SUM)).sums());
        } catch (SQLException e) {
            throw new BenchException(replica.name() + " cannot be read: " + e.getMessage(), e);
        }
    }

    /** The client's, in the replica where it was last, or in the next one. */
    private Within within(int client) throws SQLException {
        Within open = clients.get(client);
        if (open == null) {
            int at = gone.merge(client, 1, Integer::sum) % replicas.size();
            open = new Within(replicas.get(at));
            clients.put(client, open);
        }
        return open;
    }

    private void close(int client) {
        Optional.ofNullable(clients.remove(client)).ifPresent(Within::close);
    }

    @Override
    public void close() {
        clients.keySet().forEach(this::close);
    }

    /** One client in a replica's process. Confined to one thread. */
    private static final class Within implements AutoCloseable {

        private final String replica;
        private final Line line;

        Within(ReplicaProcess process) throws SQLException {
            replica = process.name();
            try {
                line = new Line(process.clients());
            } catch (IOException e) {
                throw new SQLException(replica + " lets nobody in: " + e.getMessage(), NO_CONNECTION, e);
            }
        }

        boolean isOpen() {
            return line.isOpen();
        }

        EmbeddedReplica.Answer ask(EmbeddedReplica.Order order) throws SQLException {
            try {
                return succeeded(line.ask(order, EmbeddedReplica.Answer.class));
            } catch (IOException e) {
                throw ended(e);
            }
        }

        void names(EmbeddedReplica.Order order, Acknowledged.Lookup lookup) throws SQLException {
            try {
                line.send(order);
                for (String name = line.readLine(); !name.isEmpty(); name = line.readLine()) {
                    lookup.found(name);
                }
                succeeded(line.answer(EmbeddedReplica.Answer.class));
            } catch (IOException e) {
                throw ended(e);
            }
        }

        private EmbeddedReplica.Answer succeeded(EmbeddedReplica.Answer answer) throws SQLException {
            if (answer.state() != null) {
                throw new SQLException(replica + ": " + answer.message(), answer.state());
            }
            return answer;
        }

        private SQLException ended(IOException cause) {
            close();
            return new SQLException(
                    replica + " has ended before it could tell what became of the transaction", OUTCOME_UNKNOWN, cause);
        }

        @Override
        public void close() {
            line.close();
        }
    }
}
