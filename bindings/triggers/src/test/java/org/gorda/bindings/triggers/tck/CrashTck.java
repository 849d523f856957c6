package org.gorda.bindings.triggers.tck;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.HashSet;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.Durability;
import org.gorda.replicator.engine.Replica;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A replica in a process of its own that is killed again and again while several clients change the same rows. */
public abstract class CrashTck {

    private static final int KILLS = 5;
    private static final int WRITERS = 4;
    private static final int ACCOUNTS = 20;
    private static final Duration PATIENCE = Duration.ofSeconds(60);

    @TempDir
    Path directory;

    protected abstract TriggeredUnderTest tested();

    private Replica replica(String member) {
        return replica(tested().binding().name(), directory, member);
    }

    private static Replica replica(String binding, Path directory, String member) {
        Replica replica = Replica.builder()
                .database(binding, directory.resolve("database").toString())
                .self(member)
                .members(member)
                .protocol(ReplicationProtocol.PRIMARY_BACKUP)
                .durability(Durability.GROUP_DISK)
                .start();
        replica.awaitPrimary(PATIENCE);
        return replica;
    }

    @Test
    void whatWasAcknowledgedIsThereAfterEachAndNothingInPart() throws Exception {
        String member = "127.0.0.1:" + LoopbackPorts.free(1).get(0);
        try (Replica replica = replica(member);
                Connection connection = replica.connect(new Properties());
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE item (id BIGINT PRIMARY KEY, body " + tested().text() + ")");
            statement.execute("CREATE TABLE account (id INTEGER PRIMARY KEY, balance BIGINT, items BIGINT)");
            statement.execute("INSERT INTO account SELECT x, 100, 0 FROM " + tested().numbers(1, ACCOUNTS));
        }
        Set<Long> acknowledged = new HashSet<>();
        for (int kill = 0; kill < KILLS; kill++) {
            int before = acknowledged.size();
            runAndKill(member, kill, acknowledged);
            assertThat(acknowledged.size()).as("it did something").isGreaterThan(before);
            try (Replica replica = replica(member);
                    Connection connection = replica.connect(new Properties())) {
                assertThat(ids(connection)).containsAll(acknowledged);
                assertThat(number(connection, "SELECT SUM(balance) FROM account"))
                        .isEqualTo(100L * ACCOUNTS);
                assertThat(number(connection, "SELECT SUM(items) FROM account"))
                        .as("each transaction as a whole")
                        .isEqualTo(number(connection, "SELECT COUNT(*) FROM item"));
                assertThat(number(connection, "SELECT COUNT(*) FROM item WHERE LENGTH(body) <> 1000 + MOD(id, 9000)"))
                        .isZero();
            }
        }
    }

    private void runAndKill(String member, int run, Set<Long> acknowledged) throws Exception {
        Process process = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-ea",
                        "-Xmx256m",
                        "-cp",
                        System.getProperty("java.class.path"),
                        CrashTck.class.getName(),
                        tested().binding().name(),
                        directory.toString(),
                        member,
                        String.valueOf(run))
                .redirectError(directory.resolve("process.log").toFile())
                .start();
        try (BufferedReader out = process.inputReader(StandardCharsets.UTF_8)) {
            Thread killer = new Thread(() -> killLater(process));
            for (String line = out.readLine(); line != null; line = out.readLine()) {
                if (line.startsWith("committed ")) {
                    acknowledged.add(Long.parseLong(line.substring("committed ".length())));
                    if (killer.getState() == Thread.State.NEW) {
                        killer.start();
                    }
                }
            }
        } catch (IOException e) {
            // It was killed in the middle of a line.
        } finally {
            process.destroyForcibly();
            process.waitFor();
        }
    }

    private static void killLater(Process process) {
        try {
            TimeUnit.MILLISECONDS.sleep(ThreadLocalRandom.current().nextInt(500, 2500));
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        process.destroyForcibly();
    }

    private static Set<Long> ids(Connection connection) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT id FROM item")) {
            Set<Long> ids = new HashSet<>();
            while (rows.next()) {
                ids.add(rows.getLong(1));
            }
            return ids;
        }
    }

    private static long number(Connection connection, String query) throws SQLException {
        try (Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery(query)) {
            row.next();
            return row.getLong(1);
        }
    }

    // ----------------------------------------------------------------------------------------------- its own process

    /** The process that is killed: binding, directory, member, and which one it is. Tells what was acknowledged. */
    public static void main(String[] arguments) {
        PrintStream out = System.out;
        System.setOut(System.err);
        Replica replica = replica(arguments[0], Path.of(arguments[1]), arguments[2]);
        for (int i = 0; i < WRITERS; i++) {
            long from = (Long.parseLong(arguments[3]) * WRITERS + i) * 1_000_000;
            new Thread(() -> write(replica, from, out)).start();
        }
    }

    private static void write(Replica replica, long from, PrintStream out) {
        for (long id = from; ; id++) {
            try (Connection connection = replica.connect(new Properties());
                    PreparedStatement insert = connection.prepareStatement("INSERT INTO item VALUES (?, ?)");
                    PreparedStatement move = connection.prepareStatement(
                            "UPDATE account SET balance = balance + ?, items = items + ? WHERE id = ?")) {
                connection.setAutoCommit(false);
                insert.setLong(1, id);
                insert.setString(2, "x".repeat((int) (1000 + id % 9000)));
                insert.executeUpdate();
                for (int side = 0; side < 2; side++) {
                    move.setLong(1, side == 0 ? 7 : -7);
                    move.setInt(2, side);
                    move.setInt(3, (int) ((id + 3L * side) % ACCOUNTS) + 1);
                    move.executeUpdate();
                }
                connection.commit();
                out.println("committed " + id);
            } catch (SQLException e) {
                if (!"40001".equals(e.getSQLState())) {
                    e.printStackTrace();
                }
            }
        }
    }
}
