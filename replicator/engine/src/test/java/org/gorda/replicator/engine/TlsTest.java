package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.net.SocketException;
import java.net.SocketTimeoutException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.cert.X509Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import javax.net.ssl.SSLSocket;
import org.awaitility.Awaitility;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberCertificate;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Real replicas that speak TLS to each other, with certificates made by {@link Authority}, and who is not one of them. */
@Order(1)
class TlsTest {

    private static final List<String> HERE = List.of("127.0.0.1");
    private static final Duration LONG = Duration.ofSeconds(30);

    @TempDir
    private Path directory;

    @Test
    void theKeyOfAnAuthorityIsNeverReplaced() throws Exception {
        Authority authority = authority(directory, "replica");
        byte[] key = Files.readAllBytes(authority.key("authority"));
        for (String name : List.of("authority", "Authority", "authority-key", "replica-key")) {
            assertThatThrownBy(() -> authority.issue(name, HERE, 30))
                    .hasMessageContaining("is no name for a certificate");
        }
        Files.delete(authority.certificate());
        assertThatThrownBy(() -> Authority.in(directory)).hasMessageContaining("authority-key.pem is there without");
        assertThat(authority.key("authority")).hasBinaryContent(key);
    }

    private static Authority authority(Path directory, String... names) {
        Authority authority = Authority.in(directory);
        for (String name : names) {
            authority.issue(name, HERE, 30);
        }
        return authority;
    }

    /** What a process of its own does. */
    static final class Issuing {

        private Issuing() {}

        /** With the directory of the authority, and a name. */
        public static void main(String[] arguments) {
            authority(Path.of(arguments[0]), arguments[1]);
        }
    }

    @Test
    void whoBeginTogetherHaveOneAuthority() throws Exception {
        Path java = Path.of(System.getProperty("java.home"), "bin", "java");
        String classes = System.getProperty("java.class.path");
        List<String> names = List.of("db1", "db2", "db3");
        List<Process> processes = new ArrayList<>();
        for (String name : names) {
            processes.add(new ProcessBuilder(
                            java.toString(), "-cp", classes, Issuing.class.getName(), directory.toString(), name)
                    .inheritIO()
                    .start());
        }
        List<Authority> within = names.parallelStream()
                .map(name -> authority(directory, "thread-" + name))
                .toList();
        for (Process process : processes) {
            assertThat(process.waitFor()).isZero();
        }
        for (String name : names) {
            new Tls(within.get(0).place(name)).requireServer("127.0.0.1");
            new Tls(within.get(0).place("thread-" + name)).requireServer("127.0.0.1");
        }
    }

    @Test
    void hostsAreNamedAsTheyStandInMembers() {
        Authority authority = authority(directory);
        authority.issue("replica", List.of("[::1]", "db1.example.com"), 30);
        new Tls(authority.place("replica")).requireServer("[::1]");
        for (String host : List.of("[db1]", "[::1", "[]")) {
            assertThatThrownBy(() -> authority.issue("replica", List.of(host), 30))
                    .hasMessageContaining("'" + host + "' is no host");
        }
    }

    @Test
    void membersReplicateAndOthersStayOutside() throws Exception {
        Authority ours = authority(directory.resolve("ours"), "replica", "elsewhere");
        ours.issue("elsewhere", List.of("db9.example.com", "10.1.2.3"), 30);
        ours.issue("operator", List.of(), 30);
        Authority theirs = authority(directory.resolve("theirs"), "replica");
        Tls tls = new Tls(ours.place("replica"));
        try (Cluster cluster = new Cluster(directory, 3, builder -> builder.tls(tls))) {
            cluster.execute("CREATE TABLE T (K INT PRIMARY KEY, V VARCHAR(10))");
            cluster.execute("INSERT INTO T VALUES (1, 'one')");
            InetSocketAddress member = address(cluster.id(cluster.primary()).port());

            assertThat(isLetIn(member, tls)).isTrue();
            assertThat(isLetIn(member, new Tls(ours.place("elsewhere")))).isFalse();
            assertThat(isLetIn(member, new Tls(ours.place("operator")))).isFalse();
            assertThat(isLetIn(member, new Tls(theirs.place("replica")))).isFalse();
            assertThat(isLetIn(member, new Tls(new Tls.Place(ours.certificate(), null, null))))
                    .isFalse();
            assertThat(answersPlain(member)).isFalse();

            List<Socket> silent = new ArrayList<>();
            for (int i = 0; i < 100; i++) { // more than may show their certificates at once
                silent.add(new Socket(InetAddress.getLoopbackAddress(), member.getPort()));
            }
            int away = cluster.backup();
            cluster.replica(away).close();
            cluster.execute("INSERT INTO T VALUES (2, 'two')");
            cluster.start(away);
            for (Socket socket : silent) {
                assertThat(socket.getInputStream().read()).isEqualTo(-1);
                socket.close();
            }
            cluster.awaitOnline();
            cluster.awaitEverywhere();
            cluster.assertIdentical();
        }
    }

    /** Whether a member goes on to listen to who shows this certificate, which it says after that only by not closing. */
    private static boolean isLetIn(InetSocketAddress member, Tls tls) throws IOException {
        try (SSLSocket socket = (SSLSocket) tls.context().getSocketFactory().createSocket()) {
            socket.connect(member);
            socket.setSoTimeout(700); // less than a member waits for a name
            socket.startHandshake();
            return socket.getInputStream().read() >= 0;
        } catch (SocketTimeoutException e) {
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    /** Whether who says something without a handshake is told more than an alert (7 bytes) before the end. */
    private static boolean answersPlain(InetSocketAddress member) throws IOException {
        try (Socket socket = new Socket()) {
            socket.connect(member);
            socket.getOutputStream().write(new byte[64]);
            return socket.getInputStream().readAllBytes().length > 7;
        } catch (SocketException e) {
            return false;
        }
    }

    private static InetSocketAddress address(int port) {
        return new InetSocketAddress(InetAddress.getLoopbackAddress(), port);
    }

    /** One that shows a certificate of another authority neither joins nor learns anything; the others go on. */
    @Test
    void whoHasAnotherAuthorityDoesNotTakePart() throws Exception {
        Tls ours = new Tls(authority(directory.resolve("ours"), "replica").place("replica"));
        Tls theirs = new Tls(authority(directory.resolve("theirs"), "replica").place("replica"));
        try (Cluster cluster = new Cluster(directory, 3, builder -> builder.tls(ours))) {
            cluster.execute("CREATE TABLE T (K INT PRIMARY KEY, V VARCHAR(10))");
            int stranger = cluster.backup();
            cluster.awaitEverywhere();
            cluster.replica(stranger).close();
            cluster.execute("INSERT INTO T VALUES (1, 'one')");
            cluster.start(stranger, builder -> builder.tls(theirs));
            assertThatThrownBy(() -> cluster.replica(stranger).awaitPrimary(Duration.ofSeconds(5)))
                    .isInstanceOf(ReplicaException.class);
            cluster.execute("INSERT INTO T VALUES (2, 'two')");

            cluster.replica(stranger).close();
            cluster.start(stranger);
            cluster.awaitOnline();
            cluster.awaitEverywhere();
            cluster.assertIdentical();
            assertThat(cluster.count(stranger, "T")).isEqualTo(2);
        }
    }

    /** New certificates by a new authority, file by file, while the group works: nobody is started again. */
    @Test
    void certificatesAreReplacedWhileTheGroupWorks() throws Exception {
        Authority before = authority(directory.resolve("before"), "replica");
        Authority after = authority(directory.resolve("after"), "replica");
        List<Tls.Place> places = new ArrayList<>();
        for (int i = 0; i < 3; i++) {
            Path own = Files.createDirectories(directory.resolve("tls" + i));
            Tls.Place place = new Tls.Place(own.resolve("ca.pem"), own.resolve("own.pem"), own.resolve("own-key.pem"));
            copy(before.place("replica"), place);
            places.add(place);
        }
        int[] next = {0};
        try (Cluster cluster = new Cluster(directory, 3, builder -> builder.tls(new Tls(places.get(next[0]++ % 3))))) {
            cluster.execute("CREATE TABLE T (K INT PRIMARY KEY, V VARCHAR(10))");
            Tls old = new Tls(before.place("replica")); // goes on with its sessions
            assertThat(isLetIn(address(cluster.id(cluster.primary()).port()), old))
                    .isTrue();
            byte[] both = (Files.readString(before.certificate()) + Files.readString(after.certificate()))
                    .getBytes(StandardCharsets.UTF_8);
            for (Tls.Place place : places) {
                Files.write(place.authority(), both);
            }
            for (Tls.Place place : places) {
                replace(after, "replica", place);
            }
            for (Tls.Place place : places) {
                Files.copy(after.certificate(), place.authority(), StandardCopyOption.REPLACE_EXISTING);
            }
            InetSocketAddress member = address(cluster.id(cluster.primary()).port());
            Awaitility.await()
                    .atMost(LONG)
                    .untilAsserted(() -> assertThat(isLetIn(member, old)).isFalse());
            after.issue("elsewhere", List.of("db9.example.com"), 30);
            for (Tls.Place place : places) { // by mistake
                replace(after, "elsewhere", place);
            }
            Awaitility.await()
                    .during(Duration.ofSeconds(3))
                    .atMost(LONG)
                    .until(() -> MemberCertificate.isFor(shown(member, after), "127.0.0.1"));
            for (Tls.Place place : places) {
                replace(after, "replica", place);
            }
            int back = cluster.backup();
            cluster.replica(back).close();
            cluster.execute("INSERT INTO T VALUES (1, 'one')");
            next[0] = back;
            cluster.start(back);
            cluster.awaitOnline();
            cluster.awaitEverywhere();
            assertThat(cluster.count(back, "T")).isEqualTo(1);
        }
    }

    private static void replace(Authority by, String name, Tls.Place place) throws IOException {
        Files.copy(by.key(name), place.key(), StandardCopyOption.REPLACE_EXISTING);
        Files.copy(by.certificate(name), place.certificate(), StandardCopyOption.REPLACE_EXISTING);
    }

    private static X509Certificate shown(InetSocketAddress member, Authority trusted) throws IOException {
        Tls tls = new Tls(trusted.place("replica")); // which has no session to resume
        try (SSLSocket socket = (SSLSocket) tls.context().getSocketFactory().createSocket()) {
            socket.connect(member);
            socket.startHandshake();
            return (X509Certificate) socket.getSession().getPeerCertificates()[0];
        }
    }

    private static void copy(Tls.Place from, Tls.Place to) throws IOException {
        Files.copy(from.authority(), to.authority());
        Files.copy(from.certificate(), to.certificate());
        Files.copy(from.key(), to.key(), StandardCopyOption.COPY_ATTRIBUTES);
    }

    @Test
    void whatCannotBeUsedIsSaid() throws Exception {
        Authority ours = authority(directory.resolve("ours"), "replica", "other");
        Authority theirs = authority(directory.resolve("theirs"));
        Path certificate = ours.certificate("replica");
        Path key = ours.key("replica");

        assertThatThrownBy(() -> new Tls(new Tls.Place(directory.resolve("none.pem"), null, null)))
                .hasMessageContaining("tls-authority is ")
                .hasMessageContaining("none.pem, and it is not there");
        assertThatThrownBy(() -> new Tls(new Tls.Place(key, null, null)))
                .hasMessageContaining("tls-authority is ")
                .hasMessageContaining("certificate");
        Path old = ours.key("old");
        Files.copy(key, old, StandardCopyOption.COPY_ATTRIBUTES);
        Files.writeString(old, Files.readString(key).replace("PRIVATE KEY", "EC PRIVATE KEY"));
        assertThatThrownBy(() -> new Tls(new Tls.Place(ours.certificate(), certificate, old)))
                .hasMessageContaining("openssl pkcs8 -topk8 -nocrypt");
        assertThatThrownBy(() -> new Tls(new Tls.Place(ours.certificate(), certificate, ours.key("other"))))
                .hasMessageContaining("it is not the key of the certificate");
        assertThatThrownBy(() -> new Tls(new Tls.Place(theirs.certificate(), certificate, key)))
                .hasMessageContaining("does not vouch for it");
        Files.setPosixFilePermissions(key, PosixFilePermissions.fromString("rw-r--r--"));
        assertThatThrownBy(() -> new Tls(ours.place("replica"))).hasMessageContaining("chmod 600");
        assertThatThrownBy(() -> ours.issue("../x", HERE, 1)).hasMessageContaining("is no name for a certificate");
        assertThatThrownBy(() -> ours.issue("x", List.of("a,eku=b"), 1)).hasMessageContaining("is no host");

        int port = LoopbackPorts.free(1).get(0);
        assertThatThrownBy(() -> Replica.builder()
                        .database("derby", directory.resolve("db").toString())
                        .self("127.0.0.1:" + port)
                        .tls(new Tls(new Tls.Place(ours.certificate(), null, null)))
                        .start())
                .hasMessageContaining("a replica has to show who it is");
        ours.issue("elsewhere", List.of("db9.example.com", "10.1.2.3"), 30);
        assertThatThrownBy(() -> Replica.builder()
                        .database("derby", directory.resolve("db").toString())
                        .self("127.0.0.1:" + port)
                        .tls(new Tls(ours.place("elsewhere")))
                        .start())
                .hasMessageContaining("tls-certificate is " + ours.certificate("elsewhere"))
                .hasMessageContaining(
                        "names [db9.example.com, 10.1.2.3] and not 127.0.0.1, this replica's host in members");
        assertThatThrownBy(() -> Replica.builder()
                        .database("derby", directory.resolve("db").toString())
                        .self("192.0.2.1:" + port)
                        .members("192.0.2.1:" + port)
                        .start())
                .hasMessageContaining("set tls-authority, tls-certificate and tls-key, or insecure=true");
    }
}
