package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.File;
import java.net.URI;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.IntStream;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberId;
import org.gorda.replicator.node.NodeClient;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What users and machines do wrong to replica processes: each gets one clear line, and nothing is lost. */
final class BadInputTest {

    private static final Duration WAIT = Duration.ofSeconds(90);

    @TempDir
    private Path directory;

    private static void awaitOnline(ReplicaGroup group) {
        group.awaitOnline(WAIT, line -> {});
    }

    private static void execute(String url, String... statements) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            for (String sql : statements) {
                statement.execute(sql);
            }
        }
    }

    private static Set<Integer> ids(String url) throws SQLException {
        Set<Integer> ids = new TreeSet<>();
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery("SELECT ID FROM T")) {
            while (rows.next()) {
                ids.add(rows.getInt(1));
            }
        }
        return ids;
    }

    /** Addresses of this machine with nobody there, nor at the two ports behind, which are a replica's unless told otherwise. */
    private static String address() {
        return "127.0.0.1:" + LoopbackPorts.free(3).get(0);
    }

    /** Starts a replica that must end by itself, with one line. */
    private void refused(String expected, String... settings) throws Exception {
        String[] arguments = new String[settings.length + 1];
        arguments[0] = "node";
        System.arraycopy(settings, 0, arguments, 1, settings.length);
        GordaRun run = GordaRun.in(directory, arguments);
        assertThat(run.status()).as(run.out() + run.err()).isEqualTo(1);
        assertThat(run.err()).contains(expected).doesNotContain("\tat ");
        assertThat(run.err().lines().filter(line -> line.startsWith("gorda: ")))
                .as(run.err())
                .hasSize(1);
    }

    @Test
    void aReplicaThatWouldGetInTheWayOfAnotherSaysWhoseAndWhatToDo() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(1, directory, Map.of("group", "mine"))) {
            ReplicaProcess running = group.replicas().get(0);
            group.start();
            awaitOnline(group);
            execute(group.url(), "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
            String self = group.status(running).orElseThrow().self();
            String clients = URI.create(
                            group.status(running).orElseThrow().clients().substring("jdbc:".length()))
                    .getAuthority();
            String database = running.directory().resolve("bank").toString();
            String[] elsewhere = IntStream.range(0, 3)
                    .mapToObj(i -> directory.resolve("elsewhere" + i).toString())
                    .toArray(String[]::new);

            refused(
                    "the service address " + running.service() + " cannot be used",
                    "--database",
                    elsewhere[0],
                    "--self",
                    address(),
                    "--services",
                    running.service(),
                    "--clients",
                    address());
            refused(
                    "cannot listen on " + self,
                    "--database",
                    elsewhere[1],
                    "--self",
                    self,
                    "--services",
                    address(),
                    "--clients",
                    address());
            refused(
                    "cannot listen on " + clients,
                    "--database",
                    elsewhere[2],
                    "--self",
                    address(),
                    "--services",
                    address(),
                    "--clients",
                    clients);
            String[] own = {"--self", self, "--services", address(), "--clients", address(), "--group", "mine"};
            refused("in use by another process", with(own, "--database", database));
            refused(
                    "has it open, or give each replica a database of its own",
                    "--database",
                    database,
                    "--directory",
                    directory.resolve("another").toString(),
                    "--self",
                    address(),
                    "--services",
                    address(),
                    "--clients",
                    address());

            running.stop();
            refused("belongs to member " + self, "--database", database, "--self", address(), "--group", "mine");
            refused(
                    "belongs to group 'mine', not to 'yours'",
                    "--database",
                    database,
                    "--self",
                    self,
                    "--group",
                    "yours");
            refused(
                    "Give a path that does not exist yet",
                    with(own, "--database", running.directory().toString()));
            Path identity = Path.of(database + ".gorda", "log", "identity");
            String format = Files.readString(identity);
            assertThat(format).containsPattern("format=\\d+\\R");
            Files.writeString(identity, format.replaceFirst("format=\\d+", "format=99"));
            refused("start this replica with the release that wrote it", with(own, "--database", database));
            Files.writeString(identity, format);

            running.start();
            awaitOnline(group);
            assertThat(ids(group.url())).containsExactly(1);
        }
    }

    /** Its service has begun by then, and would keep the process. */
    @Test
    void aReplicaWhoseClassesCannotBeLoadedEnds() throws Exception {
        Path services = Files.createDirectories(directory.resolve("broken/META-INF/services"));
        Files.writeString(services.resolve("org.gorda.gapi.DatabaseBinding"), "org.example.NoSuchBinding");
        GordaRun run = GordaRun.in(
                directory,
                directory.resolve("broken") + File.pathSeparator + System.getProperty("java.class.path"),
                Map.of(),
                List.of("node", "--database", "bank", "--self", address(), "--engine", "nosuch"));
        assertThat(run.status()).isEqualTo(1);
        assertThat(run.err()).contains("org.example.NoSuchBinding");
    }

    private static String[] with(String[] settings, String... more) {
        return java.util.stream.Stream.of(settings, more)
                .flatMap(java.util.Arrays::stream)
                .toArray(String[]::new);
    }

    @Test
    void aVeryFirstStartThatIsKilledAnywhereIsMadeGoodByTheNext() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(1, directory, Map.of())) {
            ReplicaProcess replica = group.replicas().get(0);
            Path database = replica.directory().resolve("bank");
            for (Path made : List.of(
                    database,
                    database.resolve("log"),
                    database.resolve("seg0"),
                    database.resolve("seg0").resolve("c300.dat"),
                    database.resolve("service.properties"))) {
                replica.start();
                Awaitility.await(made + " is there")
                        .pollDelay(Duration.ZERO)
                        .pollInterval(Duration.ofMillis(1))
                        .atMost(WAIT)
                        .until(() -> Files.exists(made));
                replica.kill();
            }
            group.start();
            awaitOnline(group);
            execute(group.url(), "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
            assertThat(ids(group.url())).containsExactly(1);
            assertThat(replica.directory().resolve("bank.interrupted-1")).isDirectory();
            assertThat(replica.output()).contains("had been interrupted before anything was in it");
        }
    }

    @Test
    void anAddressAtWhichAReplicaListensForOthersThanMembersIsNotTakenIn() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(1, directory, Map.of())) {
            ReplicaProcess running = group.replicas().get(0);
            group.start();
            awaitOnline(group);
            String self = group.status(running).orElseThrow().self();
            GordaRun added = GordaRun.in(directory, "member", "add", running.service(), "--at", running.service());
            assertThat(added.status()).as(added.out() + added.err()).isEqualTo(1);
            assertThat(added.err())
                    .contains(running.service() + " is where replica " + self + " has its service")
                    .doesNotContain("\tat ");
            assertThat(group.status(running).orElseThrow().members()).containsExactly(self);
        }
    }

    /** Of one replica whose service is where others look for that of one that was added. */
    private ReplicaGroup strangers() {
        return Stream.generate(() -> ReplicaGroup.of(1, directory.resolve("strangers"), Map.of()))
                .limit(100)
                .filter(group -> new MemberId(group.members().get(0)).port() + 1
                        == new MemberId(group.replicas().get(0).service()).port())
                .findFirst()
                .orElseThrow();
    }

    @Test
    void aReplicaOfAnotherGroupIsNotTakenInAndIsToldWhereItWas() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(1, directory.resolve("group"), Map.of());
                ReplicaGroup strangers = strangers()) {
            group.start();
            strangers.start();
            awaitOnline(group);
            awaitOnline(strangers);
            String service = group.replicas().get(0).service();
            String stranger = strangers.members().get(0);
            GordaRun added = GordaRun.in(directory, "member", "add", stranger, "--at", service);
            assertThat(added.status()).as(added.out() + added.err()).isEqualTo(1);
            assertThat(added.err())
                    .contains(stranger + " belongs to another group")
                    .contains("move its database and its directory away")
                    .doesNotContain("\tat ");
            String alias = group.members().get(0).replace("127.0.0.1", "localhost");
            GordaRun renamed = GordaRun.in(directory, "member", "add", alias, "--at", service);
            assertThat(renamed.status()).as(renamed.out() + renamed.err()).isEqualTo(1);
            assertThat(renamed.err())
                    .contains("the replica at " + alias + " calls itself "
                            + group.members().get(0));
            GordaRun status = GordaRun.in(directory, "status", "--at", service);
            assertThat(status.status()).as(status.out()).isZero();

            new NodeClient().change(service, "add", stranger); // as of one that has formed a group meanwhile
            GordaRun told = GordaRun.in(directory, "status", "--at", service);
            assertThat(told.status()).as(told.out()).isEqualTo(1);
            assertThat(told.out().lines().filter(line -> line.startsWith(stranger)))
                    .singleElement()
                    .asString()
                    .contains("belongs to another group");
        }
    }

    @Test
    void aVeryFirstStartOnAFullDiskSaysSoAndIsMadeGoodByTheNext() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(1, directory, Map.of())) {
            ReplicaProcess only = group.replicas().get(0);
            for (long bytes : List.of(8L << 10, 64L << 10)) {
                only.startWithFilesUpTo(bytes);
                Awaitility.await("with " + bytes).atMost(WAIT).until(() -> !only.isAlive());
                assertThat(only.output()).containsIgnoringCase("make room").doesNotContain("\tat ");
                Files.delete(only.directory().resolve("node.log"));
            }
            group.start();
            awaitOnline(group);
            execute(group.url(), "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
            assertThat(ids(group.url())).containsExactly(1);
        }
    }

    @Test
    void whoDoesNotKnowThePasswordIsToldSoAtOnceOnBothFormsOfUrl() throws Exception {
        Path made = directory.resolve("made");
        GordaRun user = GordaRun.in(
                directory,
                "sql",
                "--url",
                "jdbc:derby:" + made + ";create=true;user=app",
                "CALL SYSCS_UTIL.SYSCS_CREATE_USER('app', 'secret')");
        assertThat(user.status()).as(user.err()).isZero();
        String[] node = {"--database", made.toString(), "--self", address()};
        refused("Give the user and the password", node);
        refused("Give the user and the password", with(node, "--user", "app", "--password", "guess"));

        try (ReplicaGroup group = ReplicaGroup.of(1, directory, Map.of("user", "app", "password", "secret"))) {
            ReplicaProcess replica = group.replicas().get(0);
            Files.createDirectories(replica.directory());
            Files.move(made, replica.directory().resolve("bank"));
            group.start();
            awaitOnline(group);
            for (String credentials : List.of("", ";user=app", ";user=app;password=guess")) {
                long begin = System.nanoTime();
                assertThatThrownBy(() -> DriverManager.getConnection(group.url() + credentials))
                        .isInstanceOfSatisfying(
                                SQLException.class,
                                e -> assertThat(e.getSQLState()).isEqualTo("08004"))
                        .hasMessageContaining("authentication");
                assertThat(Duration.ofNanos(System.nanoTime() - begin)).isLessThan(Duration.ofSeconds(20));
            }
            String known = group.url() + ";user=app;password=secret";
            execute(known, "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)", "INSERT INTO T VALUES (1)");
            assertThat(ids(known)).containsExactly(1);
            assertThat(group.verify(WAIT).identical()).isTrue();
            String self = group.status(replica).orElseThrow().self();
            replica.stop();

            String embedded = "jdbc:gorda:derby:" + replica.directory().resolve("bank") + ";self=" + self;
            for (String credentials : List.of("", ";user=app;password=guess")) {
                GordaRun run = GordaRun.in(directory, "sql", "--url", embedded + credentials, "SELECT ID FROM T");
                assertThat(run.status()).isEqualTo(1);
                assertThat(run.err()).contains("SQLSTATE 08004").hasLineCount(1);
            }
            GordaRun run =
                    GordaRun.in(directory, "sql", "--url", embedded + ";user=app;password=secret", "SELECT ID FROM T");
            assertThat(run.status()).as(run.err()).isZero();
        }
    }

    /** Derby writes kilobytes for each. */
    @Test
    void loginsThatAreRefusedDoNotFillTheDisk() throws Exception {
        int bytes = 20_000;
        List<String> options = List.of(
                "-Dderby.stream.error.rollingFile.limit=" + bytes,
                "-Dderby.stream.error.rollingFile.count=2",
                "-Dderby.connection.requireAuthentication=true",
                "-Dderby.user.app=secret");
        Map<String, String> user = Map.of("user", "app", "password", "secret");
        try (ReplicaGroup group = ReplicaGroup.of(1, directory, user, "768m", options)) {
            group.start();
            awaitOnline(group);
            ReplicaProcess replica = group.replicas().get(0);
            String url = group.status(replica).orElseThrow().clients() + ";user=app;password=guess";
            for (int i = 0; i < 30; i++) {
                assertThatThrownBy(() -> DriverManager.getConnection(url)).isInstanceOf(SQLException.class);
            }
            try (Stream<Path> files = Files.list(replica.directory())) {
                assertThat(files.filter(file -> file.getFileName().toString().startsWith("derby"))
                                .mapToLong(file -> file.toFile().length())
                                .sum())
                        .isLessThan(4L * bytes);
            }
            assertThat(replica.directory().resolve("derby-0.log")).isNotEmptyFile();
        }
    }

    @Test
    void replicasWhoseDisksAreFullStopAndNothingAcknowledgedIsLost() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of("commit-timeout", "5s"))) {
            group.start();
            awaitOnline(group);
            execute(group.url(), "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A BLOB)");
            ReplicaProcess first = group.primary().orElseThrow();
            ReplicaProcess second = group.backup().orElseThrow();
            group.replicas().forEach(ReplicaProcess::stop);
            first.startWithFilesUpTo(4 << 20);
            second.startWithFilesUpTo(8 << 20);
            group.replicas().stream().filter(replica -> !replica.isAlive()).forEach(ReplicaProcess::start);
            awaitOnline(group);

            Set<Integer> acknowledged = new TreeSet<>();
            byte[] row = new byte[200_000];
            for (int id = 0; second.isAlive() && id < 200; id++) {
                insert(group.url() + ";connect-timeout=5s", id, row, acknowledged);
            }
            assertThat(first.isAlive()).as("the one with less room").isFalse();
            assertThat(second.isAlive()).as("the one with more").isFalse();
            assertThat(acknowledged).hasSizeGreaterThan(10);
            for (ReplicaProcess full : List.of(first, second)) {
                assertThat(full.output()).containsIgnoringCase("make room").doesNotContain("\tat ");
            }

            first.start();
            second.start();
            awaitOnline(group);
            assertThat(group.verify(WAIT).identical()).isTrue();
            for (ReplicaProcess replica : group.replicas()) {
                assertThat(ids(group.status(replica).orElseThrow().clients())).containsAll(acknowledged);
            }
        }
    }

    @Test
    void aPrimaryWhoseDiskIsFullStopsAndHasEverythingWhenThereIsRoomAgain() throws Exception {
        try (ReplicaGroup group = ReplicaGroup.of(1, directory, Map.of())) {
            ReplicaProcess only = group.replicas().get(0);
            only.startWithFilesUpTo(4 << 20);
            awaitOnline(group);
            execute(group.url(), "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A BLOB)");
            Set<Integer> acknowledged = new TreeSet<>();
            byte[] row = new byte[200_000];
            for (int id = 0; only.isAlive() && id < 100; id++) {
                insert(group.url() + ";connect-timeout=2s", id, row, acknowledged);
            }
            assertThat(only.isAlive()).isFalse();
            assertThat(acknowledged).hasSizeGreaterThan(5);
            assertThat(only.output()).containsIgnoringCase("make room").doesNotContain("\tat ");
            only.start();
            awaitOnline(group);
            assertThat(ids(group.url())).containsAll(acknowledged);
        }
    }

    private static void insert(String url, int id, byte[] row, Set<Integer> acknowledged) {
        try (Connection connection = DriverManager.getConnection(url);
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
            insert.setInt(1, id);
            insert.setBytes(2, row);
            insert.executeUpdate();
            acknowledged.add(id);
        } catch (SQLException e) {
            assertThat(e.getSQLState()).as(e.toString()).matches("40001|08...|57P01");
        }
    }
}
