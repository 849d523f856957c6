package org.gorda.replicator.engine;

import static java.util.Objects.requireNonNull;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.DataOutputStream;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Random;
import java.util.stream.Stream;
import org.awaitility.Awaitility;
import org.gorda.gapi.FileTree;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.raft.transport.TcpTransport;
import org.gorda.jgcs.raft.transport.Transport;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Files that decayed and messages that nobody of the group has sent: a replica goes on or says what to do, and loses nothing. */
@Timeout(120)
class DamageTest {

    @TempDir
    Path directory;

    private static void fill(Cluster cluster) throws SQLException {
        cluster.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A VARCHAR(1000))");
        for (int i = 0; i < 30; i++) {
            cluster.execute("INSERT INTO T VALUES (" + i + ", '" + "x".repeat(900) + "')");
        }
        cluster.assertIdentical();
    }

    private static void flip(Path file, long at) throws IOException {
        try (RandomAccessFile bytes = new RandomAccessFile(file.toFile(), "rw")) {
            bytes.seek(at);
            int before = bytes.read();
            bytes.seek(at);
            bytes.write(before ^ 0x10);
        }
    }

    private Path segment(int replica) throws IOException {
        try (Stream<Path> files = Files.list(directory.resolve("replica" + replica + ".gorda/log"))) {
            return files.filter(file -> file.toString().endsWith(".log"))
                    .findFirst()
                    .orElseThrow();
        }
    }

    @Test
    void aReplicaWhoseLogIsCutOrHasAFlippedBitGetsItFromTheOthers() throws Exception {
        try (Cluster cluster = new Cluster(directory, 3, builder -> {})) {
            fill(cluster);
            for (int round = 0; round < 3; round++) {
                int harmed = cluster.backup();
                cluster.replica(harmed).close();
                Path segment = segment(harmed);
                long size = Files.size(segment);
                if (round == 2) {
                    try (RandomAccessFile file = new RandomAccessFile(segment.toFile(), "rw")) {
                        file.setLength(size / 2);
                    }
                } else {
                    flip(segment, round == 0 ? size / 2 : 5);
                }
                cluster.start(harmed);
                cluster.awaitOnline();
                cluster.execute("INSERT INTO T VALUES (" + (100 + round) + ", 'on and on')");
                assertThat(cluster.assertIdentical().get(0).rows()).isEqualTo(31 + round);
            }
        }
    }

    private Path indexFile(Cluster cluster, int replica, String name) throws SQLException {
        try (Connection connection = cluster.connect(replica);
                Statement statement = connection.createStatement();
                ResultSet number = statement.executeQuery(
                        "SELECT CONGLOMERATENUMBER FROM SYS.SYSCONGLOMERATES WHERE CONGLOMERATENAME = '" + name
                                + "'")) {
            number.next();
            return directory.resolve("replica" + replica + "/seg0/c" + Long.toHexString(number.getLong(1)) + ".dat");
        }
    }

    @Test
    void anIndexThatDoesNotFitItsRowsIsFoundByTheVerification() throws Exception {
        try (Cluster cluster = new Cluster(directory, 3, builder -> {})) {
            fill(cluster);
            cluster.execute("CREATE INDEX I ON T (A)");
            cluster.assertIdentical();
            int harmed = cluster.backup();
            Path index = indexFile(cluster, harmed, "I");
            cluster.replica(harmed).close();
            byte[] old = Files.readAllBytes(index);
            cluster.start(harmed);
            cluster.awaitOnline();
            cluster.execute("INSERT INTO T VALUES (100, 'a')", "DELETE FROM T WHERE ID = 7");
            cluster.assertIdentical();
            cluster.replica(harmed).close();
            Files.write(index, old);
            cluster.start(harmed);
            cluster.awaitOnline();
            assertThat(cluster.count(harmed, "T")).isEqualTo(30);
            assertThatThrownBy(cluster::assertIdentical)
                    .isInstanceOf(AssertionError.class)
                    .hasMessageContaining("replicas differ")
                    .hasMessageContaining("damage=Inconsistency found between table 'APP.T' and index 'I'");
        }
    }

    @Test
    void aReplicaWhoseOtherFilesAreDamagedSaysWhichAndWhatToDo() throws Exception {
        try (Cluster cluster = new Cluster(directory, 3, builder -> {})) {
            fill(cluster);
            int harmed = cluster.backup();
            Path own = directory.resolve("replica" + harmed + ".gorda");
            Awaitility.await("a checkpoint")
                    .atMost(Duration.ofSeconds(30))
                    .until(() -> Files.exists(own.resolve("checkpoint")));
            cluster.replica(harmed).close();
            for (String name : List.of("checkpoint", "log/identity", "log/state")) {
                byte[] whole = Files.readAllBytes(own.resolve(name));
                if (name.equals("log/state")) {
                    // It holds the same twice: one of the two would do.
                    flip(own.resolve(name), 12);
                    flip(own.resolve(name), 512 + 12);
                } else {
                    String text = new String(whole, StandardCharsets.ISO_8859_1);
                    flip(own.resolve(name), Math.max(20, text.indexOf("admission=") + 12));
                }
                assertThatThrownBy(() -> cluster.start(harmed))
                        .as(name)
                        .isInstanceOf(ReplicaException.class)
                        .hasMessageContaining(Path.of(name).getFileName() + " ")
                        .hasMessageContaining("damaged")
                        .hasMessageContaining(name.equals("checkpoint") ? "move the" : "delete the");
                Files.write(own.resolve(name), whole);
            }
            flip(own.resolve("checkpoint"), 50);
            // What it was told to do.
            FileTree.delete(own);
            FileTree.delete(directory.resolve("replica" + harmed));
            cluster.start(harmed);
            cluster.awaitOnline();
            assertThat(cluster.assertIdentical().get(0).rows()).isEqualTo(30);
        }
    }

    @Test
    void whoIsAloneAndHasADamagedCheckpointIsToldHowToKeepWhatItHolds() throws Exception {
        Path own = directory.resolve("replica0.gorda");
        String database = directory.resolve("replica0").toString();
        try (Cluster cluster = new Cluster(directory, 1, builder -> {})) {
            fill(cluster);
            Awaitility.await("a checkpoint")
                    .atMost(Duration.ofSeconds(30))
                    .until(() -> Files.exists(own.resolve("checkpoint")));
            cluster.replica(0).close();
            flip(own.resolve("checkpoint"), 50);
            assertThatThrownBy(() -> cluster.start(0))
                    .isInstanceOf(ReplicaException.class)
                    .hasMessageContaining(
                            "checkpoint is damaged: no other replica has what the database at " + database)
                    .hasMessageContaining("'gorda recover' with --new-group");
            try (ReplicaRecovery recovery = ReplicaRecovery.open("derby", database, Map.of(), null)) {
                ReplicaRecovery.Remains remains = recovery.remains();
                assertThat(requireNonNull(remains.stored()).index()).isPositive();
                assertThat(requireNonNull(remains.log()).lastIndex()).isPositive();
                assertThat(remains.obstacle()).contains("checkpoint is damaged");
                assertThatThrownBy(recovery::goOnAlone).hasMessageContaining("checkpoint is damaged");
                assertThatThrownBy(recovery::beginNewGroup).hasMessageContaining("move the directory away");
            }
            // What it was told to do.
            Files.move(own, directory.resolve("away"));
            try (ReplicaRecovery recovery = ReplicaRecovery.open("derby", database, Map.of(), null)) {
                // which may have had another directory
                assertThatThrownBy(recovery::beginNewGroup)
                        .hasMessageContaining("there is no " + own)
                        .hasMessageContaining("--directory");
                assertThat(recovery.remains().stored()).isNotNull();
            }
            try (ReplicaRecovery recovery = ReplicaRecovery.open("derby", database, Map.of(), own)) {
                recovery.beginNewGroup();
            }
            cluster.start(0);
            cluster.awaitOnline();
            assertThat(cluster.count(0, "T")).isEqualTo(30);
        }
    }

    @Test
    void whatAGroupCannotUseIsToldOfAndHarmsNothing() throws Exception {
        try (Cluster cluster = new Cluster(directory, 3, builder -> {})) {
            fill(cluster);
            int left = cluster.primary();
            int impersonated = (left + 1) % 3;
            int absent = (left + 2) % 3;
            cluster.replica(impersonated).close();
            cluster.replica(absent).close();

            sendRubbish(cluster.id(left));
            try (Transport other = new TcpTransport(
                    GroupConfiguration.builder("test", cluster.id(impersonated), directory.resolve("nowhere"))
                            .messageBytesMax(64 << 20)
                            .build())) {
                other.start(new Deaf());
                other.connectTo(List.of(cluster.id(left)));
                byte[] name = cluster.id(impersonated).name().getBytes(StandardCharsets.UTF_8);
                byte[] newer = new byte[200];
                ByteBuffer.wrap(newer)
                        .put((byte) 'G')
                        .put((byte) 6)
                        .put((byte) 3)
                        .put((byte) name.length)
                        .position(52)
                        .put(name);
                awaitIgnored(
                        cluster,
                        left,
                        other,
                        newer,
                        "a frame of " + cluster.id(impersonated)
                                + " in protocol version 6, this member speaks version 5: run the same release on all members");
                byte[] noise = new byte[5000];
                new Random(3).nextBytes(noise);
                awaitIgnored(cluster, left, other, noise, "not a frame of this protocol");
                noise[0] = 'G';
                noise[1] = 5;
                awaitIgnored(cluster, left, other, noise, "checksum does not match");
                // Larger than any message: the connection is closed before anything is allocated for it.
                other.send(cluster.id(left), new byte[40 << 20]);
            }
            assertThat(cluster.replica(left).failure()).isEmpty();

            cluster.start(impersonated);
            cluster.start(absent);
            cluster.awaitOnline();
            cluster.execute("INSERT INTO T VALUES (100, 'on and on')");
            assertThat(cluster.assertIdentical().get(0).rows()).isEqualTo(31);
        }
    }

    @Test
    void aReplicaOfAnotherGroupIsNotTakenInAndSaysWhy() throws Exception {
        try (Cluster cluster = new Cluster(directory, 3, builder -> {})) {
            fill(cluster);
            int wrong = cluster.backup();
            cluster.replica(wrong).close();
            try (Replica replica = Replica.builder()
                    .database("derby", directory.resolve("other").toString())
                    .group("other")
                    .self(cluster.id(wrong).name())
                    .members(
                            cluster.id(0).name(),
                            cluster.id(1).name(),
                            cluster.id(2).name())
                    .start()) {
                Awaitility.await("it says why")
                        .atMost(Duration.ofSeconds(30))
                        .until(() -> replica.status()
                                .explanation()
                                .contains("whose group has another name: set group to the same on all members"));
                assertThat(replica.status().working()).isFalse();
            }
            cluster.start(wrong);
            cluster.awaitOnline();
            assertThat(cluster.assertIdentical().get(0).rows()).isEqualTo(30);
        }
    }

    private static void awaitIgnored(Cluster cluster, int left, Transport from, byte[] frame, String why) {
        Awaitility.await(why).atMost(Duration.ofSeconds(30)).until(() -> {
            from.send(cluster.id(left), frame);
            return cluster.replica(left).status().explanation().contains(why);
        });
    }

    /** By whoever finds the port. */
    private static void sendRubbish(MemberId to) throws IOException {
        byte[] noise = new byte[100_000];
        new Random(5).nextBytes(noise);
        for (byte[] start :
                List.of("GET / HTTP/1.1\r\nHost: x\r\n\r\n".getBytes(StandardCharsets.US_ASCII), noise, new byte[] {
                    127, -1, -1, -1
                })) {
            try (Socket socket = new Socket(to.host(), to.port());
                    DataOutputStream out = new DataOutputStream(socket.getOutputStream())) {
                out.write(start);
            } catch (java.net.SocketException e) {
                assertThat(e).as("the other side may have closed it already").hasMessageMatching(".*(reset|pipe).*");
            }
        }
    }

    private static final class Deaf implements Transport.Listener {
        @Override
        public void onFrame(byte[] frame) {}

        @Override
        public void onDisconnected(MemberId member) {}

        @Override
        public void onFailure(Throwable cause) {
            throw new AssertionError("a thread has ended", cause);
        }
    }
}
