package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.net.URI;
import java.net.http.HttpClient;
import java.net.http.HttpRequest;
import java.net.http.HttpResponse;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import org.gorda.bench.LoadTest;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.gorda.bench.workload.TpcB;
import org.gorda.replicator.engine.Tls;
import org.junit.jupiter.api.Assertions;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Groups of processes with TLS everywhere, with certificates that {@code gorda certificate} has issued; and who has none. */
final class EncryptedGroupTest {

    private static final Duration WAIT = Duration.ofMinutes(1);

    @TempDir
    private Path directory;

    private Tls.Place issue(String... name) throws Exception {
        String[] command = new String[name.length + 1];
        command[0] = "certificate";
        System.arraycopy(name, 0, command, 1, name.length);
        GordaRun run = GordaRun.in(directory, command);
        assertThat(run.status()).as(run.err()).isZero();
        Path certificates = directory.resolve("certificates");
        return new Tls.Place(
                certificates.resolve("authority.pem"),
                certificates.resolve(name[0] + ".pem"),
                certificates.resolve(name[0] + "-key.pem"));
    }

    private static Map<String, String> settings(Tls.Place place, String protocol) {
        return Map.of(
                "protocol",
                protocol,
                "tls-authority",
                String.valueOf(place.authority()),
                "tls-certificate",
                String.valueOf(place.certificate()),
                "tls-key",
                String.valueOf(place.key()));
    }

    /** A load, in which one replica is frozen for some seconds and the primary is killed. */
    private static void withstand(ReplicaGroup group) throws Exception {
        LoadTest load = LoadTest.of(TpcB.of(4, 1_000))
                .target(group.url())
                .clients(4)
                .duration(WAIT)
                .progress(System.out::println);
        BackgroundLoad running = new BackgroundLoad(load);
        running.awaitMore(100);
        ReplicaProcess frozen = group.backup().orElseThrow();
        frozen.freeze();
        TimeUnit.SECONDS.sleep(5); // longer than its connections are kept
        running.awaitMore(100);
        frozen.thaw();
        group.awaitOnline(WAIT, line -> {});
        ReplicaProcess primary = group.primary().orElseThrow();
        primary.kill();
        running.awaitMore(100);
        primary.start();
        group.awaitOnline(WAIT, line -> {});
        running.awaitMore(100);
        running.end().requireConsistent();
        assertThat(group.verify(WAIT).identical()).isTrue();
    }

    /** Nor is it left there: the thread that looks for the primary ends its connection. */
    @ParameterizedTest
    @ValueSource(booleans = {false, true})
    void whoStandsInAWriteToAFrozenPrimaryKeepsNoOtherFromTheNextOne(boolean postgresql) throws Exception {
        Map<String, String> settings = settings(issue("replica", "127.0.0.1"), "primary-backup");
        Path place = directory.resolve("group");
        try (ReplicaGroup group = postgresql
                ? ReplicaGroup.of(3, place, settings, new PostgresEngine())
                : ReplicaGroup.of(3, place, settings)) {
            group.start();
            group.awaitOnline(WAIT, line -> {});
            ReplicaProcess frozen = group.primary().orElseThrow();
            try (Connection stuck = DriverManager.getConnection(group.url())) {
                try (Statement statement = stuck.createStatement()) {
                    statement.execute("CREATE TABLE big (b " + (postgresql ? "bytea" : "BLOB") + ")");
                }
                PreparedStatement put = stuck.prepareStatement("INSERT INTO big VALUES (?)");
                put.setBytes(1, new byte[50 << 20]);
                frozen.freeze();
                CompletableFuture<SQLException> failure = CompletableFuture.supplyAsync(
                        () -> Assertions.assertThrows(SQLException.class, put::executeUpdate));
                for (int i = 0; i < 2; i++) {
                    try (Connection next = DriverManager.getConnection(group.url())) {
                        assertThat(next.toString()).doesNotContain(" " + frozen.service() + " ");
                    }
                    TimeUnit.SECONDS.sleep(2); // until what the driver knows of the primary is too old
                }
                assertThat(failure.get(30, TimeUnit.SECONDS).getSQLState()).isEqualTo("08006");
            } finally {
                frozen.thaw();
            }
        }
    }

    @Test
    void derbyWithstandsFaultsAndLetsOthersNeitherReadNorOperate() throws Exception {
        Tls.Place replica = issue("replica", "127.0.0.1");
        Tls.Place operator = issue("operator");
        try (ReplicaGroup group = ReplicaGroup.of(3, directory.resolve("group"), settings(replica, "primary-backup"))) {
            group.start();
            group.awaitOnline(WAIT, line -> {});
            withstand(group);

            String at = group.primary().orElseThrow().service();
            String authority = "--tls-authority=" + replica.authority();
            GordaRun status = GordaRun.in(directory, "status", "--at", at, authority);
            assertThat(status.status()).as(status.err()).isZero();
            assertThat(status.out()).contains("ONLINE");
            GordaRun verify = GordaRun.in(
                    directory,
                    "verify",
                    "--at",
                    at,
                    authority,
                    "--tls-certificate=" + operator.certificate(),
                    "--tls-key=" + operator.key());
            assertThat(verify.status()).as(verify.out() + verify.err()).isZero();
            for (String[] what : new String[][] {
                {"verify"},
                {"conflicts"},
                {"probes"},
                {"protocol", "certification"},
                {"member", "remove", "127.0.0.1:1"}
            }) {
                String[] command = java.util.Arrays.copyOf(what, what.length + 3);
                command[what.length] = "--at";
                command[what.length + 1] = at;
                command[what.length + 2] = authority;
                GordaRun refused = GordaRun.in(directory, command);
                assertThat(refused.status()).isNotZero();
                assertThat(refused.out() + refused.err())
                        .contains("is for who shows a certificate of the group's authority");
            }
            GordaRun plain = GordaRun.in(directory, "status", "--at", at);
            assertThat(plain.status()).isNotZero();
            assertThat(plain.err()).contains("--tls-authority");
            assertThatThrownBy(() -> HttpClient.newHttpClient()
                            .send(
                                    HttpRequest.newBuilder(URI.create("http://" + at + "/status"))
                                            .build(),
                                    HttpResponse.BodyHandlers.ofString()))
                    .isInstanceOf(java.io.IOException.class);
            assertThatThrownBy(() -> DriverManager.getConnection("jdbc:gorda://" + at + "/bank;connect-timeout=3s"))
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("tls-authority");
        }
    }

    @Test
    void postgresqlWithstandsFaultsWhereEveryReplicaTakesWrites() throws Exception {
        Tls.Place replica = issue("replica", "127.0.0.1");
        try (ReplicaGroup group = ReplicaGroup.of(
                3, directory.resolve("group"), settings(replica, "certification"), new PostgresEngine())) {
            group.start();
            group.awaitOnline(WAIT, line -> {});
            withstand(group);
            String clients = group.status(group.primary().orElseThrow())
                    .orElseThrow()
                    .clients()
                    .replace("sslmode=verify-full", "sslmode=disable");
            assertThatThrownBy(() -> {
                        try (Connection connection = DriverManager.getConnection(clients + "&user=postgres")) {
                            connection.isValid(1);
                        }
                    })
                    .isInstanceOf(SQLException.class)
                    .hasMessageContaining("TLS");
        }
    }
}
