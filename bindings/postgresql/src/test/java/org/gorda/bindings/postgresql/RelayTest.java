package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayOutputStream;
import java.io.DataInputStream;
import java.io.IOException;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.BooleanSupplier;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.SuspendedCommit;
import org.gorda.gapi.tck.MetaLevel;
import org.gorda.gapi.tck.SocketTimers;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** The relay as clients meet it that use the protocol in other ways than the driver does: message by message. */
@Timeout(60)
class RelayTest {

    private final MetaLevel meta = new MetaLevel();
    private ReflectedDatabase database;
    private String name;
    private InetSocketAddress address;

    @TempDir
    private Path directory;

    @BeforeEach
    void open() throws Exception {
        TestServer.dropOthers(directory);
        var configuration = TestServer.configuration(directory, "db");
        name = configuration.location().substring(configuration.location().lastIndexOf('/') + 1);
        TestServer.execute("CREATE DATABASE " + name);
        database = new PostgresBinding().open(configuration, meta);
        String url = database.listen(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), null);
        address = new InetSocketAddress(
                InetAddress.getLoopbackAddress(),
                Integer.parseInt(url.substring(url.lastIndexOf(':') + 1, url.lastIndexOf('/'))));
        try (Client client = new Client()) {
            client.query("CREATE TABLE t (id int PRIMARY KEY)");
            assertThat(client.send()).containsExactly("C CREATE TABLE", "Z I");
        }
        meta.takeWriteSets();
    }

    @AfterEach
    void close() {
        database.close();
        assertThat(meta.ended()).as("each that began has ended").isEqualTo(meta.begun());
    }

    private List<String> ids() throws SQLException {
        List<String> ids = new ArrayList<>();
        try (Connection connection = TestServer.connect(name);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT id FROM t ORDER BY id")) {
            while (rows.next()) {
                ids.add(rows.getString(1));
            }
        }
        return ids;
    }

    private static void await(String what, BooleanSupplier condition) {
        long end = System.nanoTime() + TimeUnit.SECONDS.toNanos(30);
        while (!condition.getAsBoolean()) {
            assertThat(System.nanoTime()).as(what).isLessThan(end);
            Thread.onSpinWait();
        }
    }

    /** Gathers messages, sends them at once, and reads what comes back. */
    private final class Client implements AutoCloseable {

        private final Socket socket = new Socket();
        private final DataInputStream in;
        private final OutputStream out;
        private final ByteArrayOutputStream gathered = new ByteArrayOutputStream();
        private int awaited;

        Client() throws IOException {
            socket.connect(address);
            socket.setSoTimeout(20_000);
            in = new DataInputStream(socket.getInputStream());
            out = socket.getOutputStream();
            out.write(ByteBuffer.allocate(8).putInt(8).putInt(80877103).array());
            assertThat(in.read()).as("no encryption").isEqualTo('N');
            byte[] startup = ("user\0postgres\0database\0" + name + "\0\0").getBytes(StandardCharsets.UTF_8);
            out.write(ByteBuffer.allocate(8 + startup.length)
                    .putInt(8 + startup.length)
                    .putInt(196608)
                    .put(startup)
                    .array());
            awaited = 1;
            send();
        }

        private Client put(char type, byte[] content) {
            gathered.write(type);
            gathered.writeBytes(
                    ByteBuffer.allocate(4).putInt(4 + content.length).array());
            gathered.writeBytes(content);
            return this;
        }

        private Client text(char type, String content) {
            return put(type, content.getBytes(StandardCharsets.UTF_8));
        }

        Client query(String sql) {
            awaited++;
            return text('Q', sql + "\0");
        }

        Client parse(String statement, String sql) {
            return text('P', statement + "\0" + sql + "\0\0\0");
        }

        Client execute(String statement) {
            return text('B', "\0" + statement + "\0\0\0\0\0\0\0").text('E', "\0\0\0\0\0");
        }

        Client run(String sql) {
            return parse("", sql).execute("");
        }

        Client sync() {
            awaited++;
            return text('S', "");
        }

        /** Up to as many messages ReadyForQuery as were asked for; or what there is after {@code flush}. */
        List<String> send() throws IOException {
            out.write(gathered.toByteArray());
            gathered.reset();
            List<String> answers = new ArrayList<>();
            while (awaited > 0) {
                answers.addAll(read());
            }
            return answers;
        }

        /** A message, if it is one that says what became of something. */
        private List<String> read() throws IOException {
            char type = (char) in.readUnsignedByte();
            byte[] content = in.readNBytes(in.readInt() - 4);
            String text = new String(content, StandardCharsets.UTF_8);
            return switch (type) {
                case 'Z' -> {
                    awaited--;
                    yield List.of("Z " + text);
                }
                case 'C' -> List.of("C " + text.substring(0, text.length() - 1));
                case 'E' -> List.of("E " + field(text, 'C'));
                case 'D' -> List.of("D");
                default -> List.of();
            };
        }

        private String field(String text, char code) {
            for (String field : text.split("\0", -1)) {
                if (!field.isEmpty() && field.charAt(0) == code) {
                    return field.substring(1);
                }
            }
            return "";
        }

        @Override
        public void close() throws IOException {
            socket.close();
        }
    }

    @Test
    void whoeverVanishesIsMissedWithinAMinute() throws Exception {
        try (Client client = new Client()) {
            int port = client.socket.getLocalPort();
            await("asked soon", () -> SocketTimers.secondsUntilAsked(address.getPort(), port) < 60);
        }
    }

    @Test
    void eachOfPipelinedSyncsEndsATransaction() throws Exception {
        try (Client client = new Client()) {
            client.run("INSERT INTO t VALUES (1)")
                    .sync()
                    .run("INSERT INTO t VALUES (2)")
                    .sync();
            client.run("INSERT INTO t VALUES (1)")
                    .run("INSERT INTO t VALUES (9)")
                    .sync();
            client.run("INSERT INTO t VALUES (3)")
                    .run("INSERT INTO t VALUES (4)")
                    .sync();
            assertThat(client.send())
                    .containsExactly(
                            "C INSERT 0 1",
                            "Z I",
                            "C INSERT 0 1",
                            "Z I",
                            "E 23505",
                            "Z I",
                            "C INSERT 0 1",
                            "C INSERT 0 1",
                            "Z I");
        }
        assertThat(meta.takeWriteSets()).hasSize(3);
        assertThat(ids()).containsExactly("1", "2", "3", "4");
    }

    @Test
    void transactionsEndWithinOneCycle() throws Exception {
        try (Client client = new Client()) {
            client.run("BEGIN").run("INSERT INTO t VALUES (1)").run("COMMIT");
            client.run("INSERT INTO t VALUES (2)").run("ROLLBACK");
            client.run("BEGIN").run("INSERT INTO t VALUES (3)").run("COMMIT AND CHAIN");
            client.run("INSERT INTO t VALUES (4)").run("END").run("INSERT INTO t VALUES (5)");
            client.sync();
            assertThat(client.send())
                    .containsExactly(
                            "C BEGIN",
                            "C INSERT 0 1",
                            "C COMMIT",
                            "C INSERT 0 1",
                            "C ROLLBACK",
                            "C BEGIN",
                            "C INSERT 0 1",
                            "C COMMIT",
                            "C INSERT 0 1",
                            "C COMMIT",
                            "C INSERT 0 1",
                            "Z I");
            client.run("BEGIN").run("INSERT INTO t VALUES (1)").run("COMMIT").sync();
            assertThat(client.send()).as("as without us").containsExactly("C BEGIN", "E 23505", "Z E");
            assertThat(client.run("COMMIT").sync().send()).containsExactly("C ROLLBACK", "Z I");
        }
        assertThat(meta.takeWriteSets()).hasSize(4);
        assertThat(ids()).containsExactly("1", "3", "4", "5");
    }

    /** As the server passes over it, the client is in no block. */
    @Test
    void aBeginBehindWhatFailsBeginsNothing() throws Exception {
        try (Client client = new Client()) {
            for (String end : List.of("SELECT 1", "COMMIT", "ROLLBACK", "BEGIN")) {
                client.run("INSERT INTO t VALUES (1)").run("INSERT INTO t VALUES (1)");
                client.run("BEGIN").run("INSERT INTO t VALUES (2)").run(end).sync();
                assertThat(client.send()).as(end).containsExactly("C INSERT 0 1", "E 23505", "Z I");
            }
            client.run("INSERT INTO t VALUES (3)")
                    .run("BEGIN")
                    .run("INSERT INTO t VALUES (3)")
                    .sync();
            assertThat(client.send())
                    .as("it has begun before that")
                    .containsExactly("C INSERT 0 1", "C BEGIN", "E 23505", "Z E");
            client.run("ROLLBACK").sync().run("INSERT INTO t VALUES (4)").sync();
            assertThat(client.send()).containsExactly("C ROLLBACK", "Z I", "C INSERT 0 1", "Z I");
        }
        assertThat(meta.takeWriteSets()).hasSize(1);
        assertThat(ids()).containsExactly("4");
    }

    @Test
    void preparedStatementsOfTheClientAreLeftAlone() throws Exception {
        try (Client client = new Client()) {
            client.parse("", "INSERT INTO t VALUES ((SELECT count(*) FROM t))").sync();
            client.execute("").sync().execute("").sync();
            assertThat(client.send()).containsExactly("Z I", "C INSERT 0 1", "Z I", "C INSERT 0 1", "Z I");
            client.parse("c", "COMMIT")
                    .parse("b", "BEGIN")
                    .parse("s", "SELECT id FROM t")
                    .sync();
            client.execute("b").execute("s").execute("c").sync();
            assertThat(client.send()).containsExactly("Z I", "C BEGIN", "D", "D", "C SELECT 2", "C COMMIT", "Z I");
            client.parse("s", "COMMIT").sync().execute("s").sync();
            assertThat(client.send())
                    .as("the old one is kept, as the server keeps it")
                    .containsExactly("E 42P05", "Z I", "D", "D", "C SELECT 2", "Z I");
            assertThat(client.query("EXECUTE c").send()).containsExactly("E 0A000", "Z I");
        }
        assertThat(meta.takeWriteSets()).hasSize(2);
    }

    /** The server reads no more while its answers are not taken. */
    @Test
    void whatWaitsForACommitIsSentWhileItsAnswersAreTaken() throws Exception {
        meta.answer(commit ->
                CompletableFuture.delayedExecutor(500, TimeUnit.MILLISECONDS).execute(() -> meta.succeed(commit)));
        int selects = 10_000;
        try (Client client = new Client()) {
            client.run("INSERT INTO t VALUES (1)").sync().parse("s", "SELECT repeat('x', 1000)");
            for (int i = 0; i < selects; i++) {
                client.execute("s");
            }
            byte[] parameter = "x".repeat(4 << 20).getBytes(StandardCharsets.UTF_8);
            client.parse("l", "SELECT length($1)")
                    .put(
                            'B',
                            ByteBuffer.allocate(parameter.length + 13)
                                    .put("\0l\0\0\0\0\1".getBytes(StandardCharsets.UTF_8))
                                    .putInt(parameter.length)
                                    .put(parameter)
                                    .array())
                    .text('E', "\0\0\0\0\0")
                    .sync();
            byte[] all = client.gathered.toByteArray();
            client.gathered.reset();
            CompletableFuture<Void> written = CompletableFuture.runAsync(() -> {
                try {
                    client.out.write(all);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            });
            assertThat(client.send()).hasSize(2 * selects + 5).endsWith("D", "C SELECT 1", "Z I");
            written.get(10, TimeUnit.SECONDS);
            assertThat(client.query("INSERT INTO t VALUES (2)").send()).containsExactly("C INSERT 0 1", "Z I");
        }
        assertThat(ids()).containsExactly("1", "2");
    }

    @Test
    void whatTheClientDeallocatesIsForgotten() throws Exception {
        try (Client client = new Client()) {
            for (String dropping :
                    List.of("DEALLOCATE c", "DEALLOCATE PREPARE \"c\"", "DEALLOCATE ALL", "DISCARD ALL")) {
                client.parse("c", "COMMIT").sync().query(dropping).query("EXECUTE c");
                assertThat(client.send()).as(dropping).contains("E 26000").doesNotContain("E 0A000");
                client.parse("c", "COMMIT").run(dropping).sync().query("EXECUTE c");
                assertThat(client.send()).as(dropping).contains("E 26000").doesNotContain("E 0A000");
            }
            client.parse("c", "COMMIT").sync().query("DEALLOCATE d").query("DISCARD PLANS");
            assertThat(client.query("EXECUTE c").send()).as("kept").endsWith("E 0A000", "Z I");
        }
    }

    @Test
    void aPortalThatIsClosedLeavesTheStatementWithoutAName() throws Exception {
        try (Client client = new Client()) {
            client.parse("", "BEGIN").text('C', "P\0").sync().send();
            client.execute("").sync();
            assertThat(client.send()).containsExactly("C BEGIN", "Z T");
            client.query("INSERT INTO t VALUES (1)").query("ROLLBACK");
            assertThat(client.send()).containsExactly("C INSERT 0 1", "Z T", "C ROLLBACK", "Z I");
        }
        assertThat(ids()).isEmpty();
    }

    @Test
    void aBlockThatARollbackHealsIsCommittedInTheSameCycle() throws Exception {
        try (Client client = new Client()) {
            client.run("BEGIN")
                    .run("INSERT INTO t VALUES (1)")
                    .run("SAVEPOINT s")
                    .sync();
            client.run("INSERT INTO t VALUES (1)").sync();
            client.run("ROLLBACK TO s").run("COMMIT").sync();
            assertThat(client.send())
                    .containsExactly(
                            "C BEGIN",
                            "C INSERT 0 1",
                            "C SAVEPOINT",
                            "Z T",
                            "E 23505",
                            "Z E",
                            "C ROLLBACK",
                            "C COMMIT",
                            "Z I");
            client.run("BEGIN").run("INSERT INTO t VALUES (2)").sync();
            client.run("INSERT INTO t VALUES (2)").sync();
            client.run("ROLLBACK TO s").run("COMMIT").sync().run("COMMIT").sync();
            assertThat(client.send())
                    .containsExactly(
                            "C BEGIN", "C INSERT 0 1", "Z T", "E 23505", "Z E", "E 3B001", "Z E", "C ROLLBACK", "Z I");
        }
        assertThat(ids()).containsExactly("1");
        assertThat(meta.takeWriteSets()).hasSize(1);
    }

    /** As the server passes over it, and answers the Sync behind it. */
    @Test
    void aQueryAmidACycleThatHasFailedIsPassedOver() throws Exception {
        try (Client client = new Client()) {
            for (String failing : List.of("SELECT 1/0", "SELECT lo_create(0)", "INSERT INTO t SELECT 1/0")) {
                client.run(failing).query("INSERT INTO t VALUES (1)").sync();
                client.awaited--;
                List<String> answers = client.send();
                assertThat(answers).as(failing).hasSize(2).endsWith("Z I");
                assertThat(answers.get(0)).as(failing).startsWith("E ");
            }
            client.run("BEGIN").query("INSERT INTO t VALUES (2)").sync();
            client.run("SELECT 1/0").query("COMMIT").sync().query("COMMIT");
            client.awaited--;
            assertThat(client.send())
                    .containsExactly("C BEGIN", "C INSERT 0 1", "Z T", "Z T", "E 22012", "Z E", "C ROLLBACK", "Z I");
            client.run("INSERT INTO t VALUES (3)")
                    .query("INSERT INTO t VALUES (4)")
                    .sync();
            client.run("SELECT 1").query("BEGIN").sync().query("ROLLBACK");
            assertThat(client.send())
                    .containsExactly(
                            "C INSERT 0 1",
                            "C INSERT 0 1",
                            "Z I",
                            "Z I",
                            "D",
                            "C SELECT 1",
                            "C BEGIN",
                            "Z T",
                            "Z T",
                            "C ROLLBACK",
                            "Z I");
        }
        assertThat(ids()).containsExactly("3", "4");
    }

    /** By which the triggers tell of what it changes. */
    @Test
    void whatFetchesFromAChangingPortalChanges() throws Exception {
        try (Client client = new Client()) {
            client.run("BEGIN").parse("i", "INSERT INTO t SELECT 1 RETURNING id");
            client.text('B', "p\0i\0\0\0\0\0\0\0")
                    .sync()
                    .query("FETCH ALL FROM p")
                    .query("COMMIT");
            assertThat(client.send()).containsExactly("C BEGIN", "Z T", "D", "C FETCH 1", "Z T", "C COMMIT", "Z I");
            client.query("PREPARE s AS INSERT INTO t VALUES (2)").query("EXPLAIN ANALYZE EXECUTE s");
            assertThat(client.send()).contains("C PREPARE", "C EXPLAIN", "Z I").doesNotContain("E GW002");
        }
        assertThat(ids()).containsExactly("1", "2");
        assertThat(meta.takeWriteSets()).hasSize(2);
    }

    @Test
    void refusalsComeInTheirPlaceAndTheClientGoesOn() throws Exception {
        try (Client client = new Client()) {
            client.run("SELECT 1")
                    .run("PREPARE TRANSACTION 'x'")
                    .run("INSERT INTO t VALUES (1)")
                    .sync();
            assertThat(client.send()).containsExactly("D", "C SELECT 1", "E 0A000", "Z I");
            client.put('F', new byte[] {0, 0, 0, 1, 0, 0, 0, 0, 0, 0}).query("SELECT 1");
            client.awaited++;
            assertThat(client.send()).containsExactly("E 0A000", "Z I", "D", "C SELECT 1", "Z I");
            meta.refuseChanges(new Refusal(Refusal.Cause.BACKUP, "writes belong to the primary"));
            client.run("INSERT INTO t VALUES (1)").sync().query("INSERT INTO t VALUES (1)");
            assertThat(client.send()).containsExactly("E 25006", "Z I", "E 25006", "Z I");
            client.query("BEGIN").query("INSERT INTO t VALUES (1)").query("COMMIT");
            assertThat(client.send()).containsExactly("C BEGIN", "Z T", "E 25006", "Z E", "C ROLLBACK", "Z I");
        }
        assertThat(ids()).isEmpty();
    }

    @Test
    void commitOfAClientThatIsGoneIsDecidedByTheGroup() throws Exception {
        for (boolean commits : new boolean[] {true, false}) {
            AtomicReference<SuspendedCommit> suspended = new AtomicReference<>();
            int ended;
            meta.answer(suspended::set);
            try (Client client = new Client()) {
                client.query("INSERT INTO t VALUES (" + (commits ? 1 : 2) + ")");
                client.out.write(client.gathered.toByteArray());
                await("it is suspended", () -> suspended.get() != null);
                ended = meta.ended();
            }
            if (commits) {
                assertThat(suspended.get().commit(meta.nextPosition(), false)).isTrue();
                suspended.get().release();
            } else {
                suspended.get().abort(new Refusal(Refusal.Cause.CONFLICT, "they came first"));
            }
            int before = ended;
            await("it has ended", () -> meta.ended() > before);
            meta.answer(meta::succeed);
            assertThat(ids()).hasSize(1);
        }
    }

    @Test
    void whatAClientHasSentBeforeItLeavesIsExecuted() throws Exception {
        List<String> sent = new ArrayList<>();
        for (int i = 10; i < 30; i++) {
            sent.add(String.valueOf(i));
            try (Client client = new Client()) {
                if (i % 2 == 0) {
                    client.query("INSERT INTO t VALUES (" + i + ")");
                } else {
                    client.query("BEGIN")
                            .run("INSERT INTO t VALUES (" + i + ")")
                            .sync()
                            .query("COMMIT");
                }
                if (i % 3 == 0) {
                    client.text('X', "");
                }
                client.out.write(client.gathered.toByteArray());
            }
        }
        await("all are executed", () -> idsNow().size() == sent.size());
        assertThat(ids()).isEqualTo(sent);
        try (Client client = new Client()) {
            client.query("INSERT INTO t VALUES (1)").query("BEGIN").query("INSERT INTO t VALUES (2)");
            client.out.write(client.gathered.toByteArray());
            client.gathered.reset();
            client.socket.shutdownOutput();
            assertThat(client.send()).containsExactly("C INSERT 0 1", "Z I", "C BEGIN", "Z T", "C INSERT 0 1", "Z T");
            assertThat(client.in.read()).as("the end").isEqualTo(-1);
        }
        await("it has ended", () -> meta.ended() == meta.begun());
        assertThat(ids()).contains("1").doesNotContain("2");
    }

    private List<String> idsNow() {
        try {
            return ids();
        } catch (SQLException e) {
            throw new AssertionError(e);
        }
    }

    /** Who neither reads nor says anything any more holds nobody up. */
    @Test
    void whatAClientHasSentBeforeItLeavesIsGivenUpIfItTakesLong() throws Exception {
        try (Client holder = new Client();
                Client gone = new Client()) {
            holder.query("BEGIN").query("LOCK TABLE t").send();
            gone.query("INSERT INTO t VALUES (1)").query("INSERT INTO t VALUES (2)");
            gone.out.write(gone.gathered.toByteArray());
            gone.socket.shutdownOutput();
            assertThat(gone.in.readAllBytes()).as("nothing is answered").isEmpty();
            holder.query("COMMIT").send();
        }
        await("all have ended", () -> meta.ended() == meta.begun());
        assertThat(ids()).isEmpty();
    }

    @Test
    void openTransactionOfAClientThatIsGoneIsRolledBack() throws Exception {
        int begun;
        try (Client client = new Client()) {
            client.query("BEGIN").query("INSERT INTO t VALUES (1)").send();
            begun = meta.begun();
        }
        await("it has ended", () -> meta.ended() == begun);
        assertThat(ids()).isEmpty();
        try (Client client = new Client()) {
            client.query("SET lock_timeout TO '10s'; INSERT INTO t VALUES (1)");
            assertThat(client.send()).contains("C INSERT 0 1", "Z I");
        }
    }
}
