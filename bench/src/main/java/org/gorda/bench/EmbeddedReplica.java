package org.gorda.bench;

import com.google.gson.Gson;
import com.google.gson.JsonSyntaxException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.UncheckedIOException;
import java.io.Writer;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Properties;
import java.util.SplittableRandom;
import org.gorda.bench.workload.TpcB;
import org.gorda.bench.workload.Workload;
import org.gorda.jgcs.MemberId;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.node.Node;
import org.gorda.replicator.node.NodeConfiguration;
import org.jspecify.annotations.Nullable;

/**
 * A replica's process with its clients in it, as an application has them that embeds the replica: for engines that let nobody in from elsewhere. There is a client
 * for each connection to the clients' address, and it does what it is told to by lines of JSON, one after the other: what has left this process as an
 * answer is what the application knew when it was killed. It runs whole transactions, or call by call what somebody elsewhere decides. Confined to one thread, but for its clients.
 */
final class EmbeddedReplica {

    private static final Gson JSON = new Gson();
    private static final int WAITING_MAX = 100;
    private static final String READ_ONLY = "25006";

    /** What a client is to do. */
    enum Task {
        /** To make the bank if it is not there. */
        LOAD,
        /** To run a transaction. */
        RUN,
        /** To tell the names of transactions in the history, a line each and an empty one behind them, before the answer. */
        HISTORY,
        /** To read the sums. */
        SUM,
        /** To be a connection: from the next line on all are {@link JdbcCall}s. */
        SESSION,
        /** The same at the replica that takes writes; others refuse it. */
        WRITING_SESSION
    }

    /**
     * Immutable.
     *
     * @param scale of the bank
     * @param drawn what the transaction's choices come from
     * @param name of the transaction
     */
    record Order(Task task, int scale, int client, long drawn, String name) {

        static Order session(boolean isWriting) {
            return new Order(isWriting ? Task.WRITING_SESSION : Task.SESSION, 0, 0, 0, "");
        }

        private boolean isSession() {
            return task == Task.SESSION || task == Task.WRITING_SESSION;
        }
    }

    /**
     * What became of it. Immutable.
     *
     * @param state the SQLSTATE by which it failed; null if it has not
     */
    record Answer(@Nullable String state, @Nullable String message, TpcB.@Nullable Sums sums) {}

    private EmbeddedReplica() {}

    /** The process. Its arguments are a replica process's settings: each key with {@code --} before it, and its value. */
    public static void main(String[] arguments) throws IOException {
        Map<String, String> settings = new LinkedHashMap<>();
        for (int i = 0; i < arguments.length; i += 2) {
            settings.put(arguments[i].substring(2), arguments[i + 1]);
        }
        NodeConfiguration configuration = NodeConfiguration.of(settings);
        MemberId address = configuration.clients();
        try (Node node = Node.startEmbedded(configuration);
                ServerSocket clients =
                        new ServerSocket(address.port(), WAITING_MAX, InetAddress.getByName(address.host()))) {
            Runtime.getRuntime().addShutdownHook(new Thread(node::close, "end-of-replica"));
            Thread accepting = new Thread(() -> accept(clients, node.replica()), "clients");
            accepting.setDaemon(true);
            accepting.start();
            node.awaitStopped();
        }
    }

    private static void accept(ServerSocket clients, Replica replica) {
        try {
            while (true) {
                Socket socket = clients.accept();
                Thread thread = new Thread(() -> serve(socket, replica), "client");
                thread.setDaemon(true);
                thread.start();
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e); // the process is ending
        }
    }

    private static void serve(Socket accepted, Replica replica) {
        try (Socket socket = accepted;
                Client client = new Client(replica);
                BufferedReader in =
                        new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
                Writer out = new OutputStreamWriter(socket.getOutputStream(), StandardCharsets.UTF_8)) {
            socket.setTcpNoDelay(true);
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                Order order = JSON.fromJson(line, Order.class);
                if (order.isSession()) {
                    session(replica, order.task() == Task.WRITING_SESSION, in, out);
                    return;
                }
                send(client.answer(order, out), out);
            }
        } catch (IOException | JsonSyntaxException e) {
            // Who ordered it is gone, or is not who it should be.
        }
    }

    private static void send(Object answer, Writer out) throws IOException {
        out.write(JSON.toJson(answer) + "\n");
        out.flush();
    }

    /** Until the line ends, or the connection. */
    private static void session(Replica replica, boolean isWriting, BufferedReader in, Writer out) throws IOException {
        if (isWriting && !replica.status().executesHere()) {
            send(new Answer(READ_ONLY, "this replica takes no writes", null), out);
            return;
        }
        try (JdbcSession session = new JdbcSession(replica.connect(new Properties()))) {
            send(new Answer(null, null, null), out);
            for (String line = in.readLine(); line != null; line = in.readLine()) {
                send(session.answer(JSON.fromJson(line, JdbcCall.class)), out);
                if (session.isOver()) {
                    return;
                }
            }
        } catch (SQLException e) {
            send(Client.failed(e), out);
        }
    }

    /** A client with a connection of its own, which it has until that fails. Confined to one thread. */
    private static final class Client implements AutoCloseable {

        private final Replica replica;
        private @Nullable Connection connection;

        Client(Replica replica) {
            this.replica = replica;
        }

        Answer answer(Order order, Writer out) throws IOException {
            try {
                Connection used = connection();
                try {
                    TpcB.Sums sums = execute(order, used, out);
                    used.rollback();
                    return new Answer(null, null, sums);
                } catch (SQLException e) {
                    giveUp(used);
                    return failed(e);
                }
            } catch (SQLException e) {
                return failed(e);
            }
        }

        private static Answer failed(SQLException e) {
            return new Answer(String.valueOf(e.getSQLState()), e.getMessage(), null);
        }

        private Connection connection() throws SQLException {
            Connection open = connection;
            if (open == null || open.isClosed()) {
                open = replica.connect(new Properties());
                open.setAutoCommit(false);
                connection = open;
            }
            return open;
        }

        private void giveUp(Connection failed) {
            try {
                failed.rollback();
            } catch (SQLException e) {
                connection = null;
            }
        }

        private static TpcB.@Nullable Sums execute(Order order, Connection connection, Writer out)
                throws SQLException, IOException {
            TpcB bank = TpcB.of(order.scale());
            switch (order.task()) {
                case LOAD -> bank.load(connection, (rows, ofAll) -> {});
                case RUN ->
                    bank.run(
                            connection,
                            new Workload.Choices(order.client(), new SplittableRandom(order.drawn()), order.name()));
                case HISTORY -> history(connection, out);
                case SUM -> {
                    return TpcB.sums(connection);
                }
                case SESSION, WRITING_SESSION -> throw new IllegalArgumentException("no order of a client's: " + order);
            }
            return null;
        }

        private static void history(Connection connection, Writer out) throws SQLException, IOException {
            try (Statement statement = connection.createStatement();
                    ResultSet names = statement.executeQuery("SELECT filler FROM history")) {
                while (names.next()) {
                    out.write(names.getString(1) + "\n");
                }
            } finally {
                out.write("\n");
            }
        }

        @Override
        public void close() {
            Connection open = connection;
            if (open != null) {
                try {
                    open.close();
                } catch (SQLException e) {
                    // It is not used any more.
                }
            }
        }
    }
}
