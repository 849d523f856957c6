package org.gorda.bench;

import com.google.gson.Gson;
import com.google.gson.JsonSyntaxException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
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
import org.gorda.jgcs.MemberId;
import org.jspecify.annotations.Nullable;

/**
 * The clients in the processes of {@link EmbeddedReplica}s, told what to do from here. A transaction counts as acknowledged when its line has arrived; if the process
 * ends before that, nobody knows. Thread-safe.
 */
final class EmbeddedClients implements LoadTest.Elsewhere, AutoCloseable {

    private static final Gson JSON = new Gson();
    private static final Duration PATIENCE = Duration.ofSeconds(60);
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(20);
    private static final String NO_CONNECTION = "08001";
    private static final String OUTCOME_UNKNOWN = "08007";
    private static final String READ_ONLY = "25006";

    /** No primary yet, or another one. */
    private static final Set<String> NOT_NOW = Set.of(READ_ONLY, "40001", "08006", NO_CONNECTION);

    private final List<ReplicaProcess> replicas;
    private final int scale;
    private final Map<Integer, Line> lines = new ConcurrentHashMap<>();

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
            try (Line line = new Line(replicas.get(i))) {
                line.ask(order(EmbeddedReplica.Task.LOAD));
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
            Line line = null;
            try {
                line = line(client);
                line.ask(order);
                return;
            } catch (SQLException e) {
                String state = String.valueOf(e.getSQLState());
                if (line == null || !line.isOpen() || !state.equals("40001")) {
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
        try (Line line = new Line(replica)) {
            line.names(order(EmbeddedReplica.Task.HISTORY), lookup);
            return Objects.requireNonNull(
                    line.ask(order(EmbeddedReplica.Task.SUM)).sums());
        } catch (SQLException e) {
            throw new BenchException(replica.name() + " cannot be read: " + e.getMessage(), e);
        }
    }

    /** The client's, to the replica where it was last, or to the next one. */
    private Line line(int client) throws SQLException {
        Line open = lines.get(client);
        if (open == null) {
            int at = gone.merge(client, 1, Integer::sum) % replicas.size();
            open = new Line(replicas.get(at));
            lines.put(client, open);
        }
        return open;
    }

    private void close(int client) {
        Optional.ofNullable(lines.remove(client)).ifPresent(Line::close);
    }

    @Override
    public void close() {
        lines.keySet().forEach(this::close);
    }

    /** To one client in a replica's process. Confined to one thread. */
    private static final class Line implements AutoCloseable {

        private final String replica;
        private final Socket socket;
        private final BufferedReader answers;
        private final Writer orders;

        Line(ReplicaProcess process) throws SQLException {
            replica = process.name();
            MemberId address = new MemberId(process.clients());
            try {
                socket = new Socket(address.host(), address.port());
                socket.setTcpNoDelay(true);
                answers = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
                orders = new OutputStreamWriter(socket.getOutputStream(), StandardCharsets.UTF_8);
            } catch (IOException e) {
                throw new SQLException(replica + " lets nobody in: " + e.getMessage(), NO_CONNECTION, e);
            }
        }

        boolean isOpen() {
            return !socket.isClosed();
        }

        EmbeddedReplica.Answer ask(EmbeddedReplica.Order order) throws SQLException {
            send(order);
            return answer();
        }

        void names(EmbeddedReplica.Order order, Acknowledged.Lookup lookup) throws SQLException {
            send(order);
            for (String name = readLine(); !name.isEmpty(); name = readLine()) {
                lookup.found(name);
            }
            answer();
        }

        private void send(EmbeddedReplica.Order order) throws SQLException {
            try {
                orders.write(JSON.toJson(order) + "\n");
                orders.flush();
            } catch (IOException e) {
                throw ended(e); // it may have arrived all the same
            }
        }

        private EmbeddedReplica.Answer answer() throws SQLException {
            EmbeddedReplica.Answer answer;
            try {
                answer = JSON.fromJson(readLine(), EmbeddedReplica.Answer.class);
            } catch (JsonSyntaxException e) {
                throw ended(e);
            }
            if (answer.state() != null) {
                throw new SQLException(replica + ": " + answer.message(), answer.state());
            }
            return answer;
        }

        private String readLine() throws SQLException {
            try {
                String line = answers.readLine();
                if (line == null) {
                    throw ended(null);
                }
                return line;
            } catch (IOException e) {
                throw ended(e);
            }
        }

        private SQLException ended(@Nullable Exception cause) {
            close();
            return new SQLException(
                    replica + " has ended before it could tell what became of the transaction", OUTCOME_UNKNOWN, cause);
        }

        @Override
        public void close() {
            try {
                socket.close();
            } catch (IOException e) {
                // Nobody uses it any more.
            }
        }
    }
}
