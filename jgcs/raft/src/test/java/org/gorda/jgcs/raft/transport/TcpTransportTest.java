package org.gorda.jgcs.raft.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.Inet4Address;
import java.net.InetAddress;
import java.net.NetworkInterface;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.security.KeyStore;
import java.security.Security;
import java.security.cert.Certificate;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Queue;
import java.util.concurrent.ConcurrentLinkedQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.UnaryOperator;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import org.awaitility.Awaitility;
import org.gorda.jgcs.Encryption;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberId;
import org.jgroups.util.DefaultSocketFactory;
import org.jgroups.util.SocketFactory;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** On real connections. */
@Timeout(120)
class TcpTransportTest {

    private static final Duration WAIT = Duration.ofSeconds(30);
    private static final String PASSWORD = "of no use";

    private final List<Side> open = new ArrayList<>();

    @AfterEach
    void closeAll() {
        open.forEach(Side::close);
        assertThat(open).allSatisfy(side -> assertThat(side.failed).isEmpty());
    }

    /** A member, what it has received, and whom it has lost. */
    private static class Side implements Transport.Listener {
        final MemberId self;
        final Queue<byte[]> received = new ConcurrentLinkedQueue<>();
        final Queue<MemberId> lost = new ConcurrentLinkedQueue<>();
        final Queue<Throwable> failed = new ConcurrentLinkedQueue<>();
        private final TcpTransport transport;

        Side(MemberId self, List<MemberId> all, Duration electionTimeout) {
            this(self, all, electionTimeout, sockets -> sockets);
        }

        Side(MemberId self, List<MemberId> all, Duration electionTimeout, UnaryOperator<SocketFactory> around) {
            this(configuration(self, all, electionTimeout).build(), around);
        }

        Side(GroupConfiguration configuration, UnaryOperator<SocketFactory> around) {
            self = configuration.self();
            transport = new TcpTransport(configuration, around);
            transport.start(this);
            transport.connectTo(configuration.members());
        }

        @Override
        public void onFrame(byte[] frame) {
            received.add(frame);
        }

        @Override
        public void onDisconnected(MemberId member) {
            lost.add(member);
        }

        @Override
        public void onFailure(Throwable cause) {
            failed.add(cause);
        }

        void send(Side to, byte[] frame) {
            transport.send(to.self, frame);
        }

        boolean has(String text) {
            return received.stream().anyMatch(frame -> text.equals(new String(frame, StandardCharsets.UTF_8)));
        }

        /** Sends until it has arrived: a connection may be about to be made. */
        void sendSurely(Side to, String text) {
            Awaitility.await("'" + text + "' from " + self + " to " + to.self)
                    .atMost(WAIT)
                    .pollInterval(Duration.ofMillis(50))
                    .until(() -> {
                        send(to, text.getBytes(StandardCharsets.UTF_8));
                        return to.has(text);
                    });
        }

        void close() {
            transport.close();
        }
    }

    /** As where there is no memory for the next connection. */
    private static SocketFactory failing() {
        return new DefaultSocketFactory() {
            @Override
            public ServerSocket createServerSocket(String service) throws IOException {
                return new ServerSocket() {
                    @Override
                    public Socket accept() throws IOException {
                        super.accept().close();
                        throw new OutOfMemoryError("no connection can be made");
                    }
                };
            }
        };
    }

    /** Otherwise nobody whose name is smaller comes to it any more, and it does not know. */
    @Test
    void tellsThatItAcceptsNobodyAnyMore() throws IOException {
        MemberId self = new MemberId("127.0.0.1:" + LoopbackPorts.free(1).get(0));
        Side side = new Side(self, List.of(self), Duration.ofSeconds(1), sockets -> failing());
        try (Socket other = new Socket(InetAddress.getByName(self.host()), self.port())) {
            Awaitility.await(other + " was not accepted").atMost(WAIT).until(() -> !side.failed.isEmpty());
            assertThat(side.failed.remove()).isInstanceOf(OutOfMemoryError.class);
        } finally {
            side.close();
        }
    }

    private static GroupConfiguration.Builder configuration(
            MemberId self, List<MemberId> all, Duration electionTimeout) {
        return GroupConfiguration.builder("test", self, Path.of("none"))
                .members(all)
                .electionTimeout(electionTimeout);
    }

    /** The keys and certificates of all in one, each for the host of its name. */
    private static KeyStore certificates(Path directory, List<MemberId> members) throws Exception {
        Path file = directory.resolve("keys");
        for (MemberId member : members) {
            Process keytool = new ProcessBuilder(
                            Path.of(System.getProperty("java.home"), "bin", "keytool")
                                    .toString(),
                            "-genkeypair",
                            "-keyalg",
                            "EC",
                            "-alias",
                            member.host(),
                            "-dname",
                            "CN=" + member.host(),
                            "-ext",
                            "san=ip:" + member.host(),
                            "-keystore",
                            file.toString(),
                            "-storepass",
                            PASSWORD)
                    .inheritIO()
                    .start();
            assertThat(keytool.waitFor()).isZero();
        }
        return KeyStore.getInstance(file.toFile(), PASSWORD.toCharArray());
    }

    private static Encryption encryption(KeyStore all, MemberId member) throws Exception {
        KeyStore own = KeyStore.getInstance("PKCS12");
        own.load(null, null);
        own.setKeyEntry(
                "own", all.getKey(member.host(), PASSWORD.toCharArray()), PASSWORD.toCharArray(), new Certificate[] {
                    all.getCertificate(member.host())
                });
        KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
        keys.init(own, PASSWORD.toCharArray());
        KeyStore known = KeyStore.getInstance("PKCS12");
        known.load(null, null);
        for (String host : Collections.list(all.aliases())) {
            known.setCertificateEntry(host, all.getCertificate(host));
        }
        TrustManagerFactory trust = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trust.init(known);
        SSLContext context = SSLContext.getInstance("TLSv1.3");
        context.init(keys.getKeyManagers(), trust.getTrustManagers(), null);
        return new Encryption(context, (X509ExtendedTrustManager) trust.getTrustManagers()[0]);
    }

    private static long threadsFor(MemberId member) {
        return Thread.getAllStackTraces().keySet().stream()
                .filter(thread -> thread.getName().equals("gorda-transport-" + member))
                .count();
    }

    /** Its certificate is as good as ever, and its connection was made long ago. */
    @ParameterizedTest
    @ValueSource(ints = {0, 2})
    @EnabledOnOs(OS.LINUX) // where all of 127.0.0.0/8 is this machine
    void whoIsNoMemberAnyMoreIsNotLetIn(int which, @TempDir Path directory) throws Exception {
        List<MemberId> all = new ArrayList<>();
        for (int port : LoopbackPorts.free(3)) {
            all.add(new MemberId("127.0.0." + (1 + all.size()) + ":" + port));
        }
        KeyStore certificates = certificates(directory, all);
        for (MemberId self : all) {
            open.add(new Side(
                    configuration(self, all, Duration.ofSeconds(1))
                            .tls(encryption(certificates, self))
                            .build(),
                    sockets -> sockets));
        }
        Side removed = open.get(which);
        List<Side> stay = new ArrayList<>(open);
        stay.remove(removed);
        for (Side side : stay) {
            side.sendSurely(removed, "hello");
            removed.sendSurely(side, "hello");
        }

        List<MemberId> members = new ArrayList<>(all);
        members.remove(removed.self);
        stay.forEach(side -> side.transport.connectTo(members));
        Awaitility.await("nobody seeks it").atMost(WAIT).until(() -> threadsFor(removed.self) == 0);
        Awaitility.await("it has lost both").atMost(WAIT).until(() -> removed.lost.containsAll(members));
        for (int i = 0; i < 30; i++) {
            stay.forEach(side -> removed.send(side, "again".getBytes(StandardCharsets.UTF_8)));
            pause(Duration.ofMillis(100));
        }
        assertThat(stay).noneMatch(side -> side.has("again"));
        Awaitility.await("it knows")
                .atMost(WAIT)
                .untilAsserted(() -> assertThat(removed.transport.unreached())
                        .containsOnlyKeys(members)
                        .allSatisfy((member, why) -> assertThat(why).contains("its log may tell why")));
        stay.get(0).sendSurely(stay.get(1), "hello");

        stay.forEach(side -> side.transport.connectTo(all));
        for (Side side : stay) {
            removed.sendSurely(side, "again");
            side.sendSurely(removed, "again");
        }
    }

    private void openTwo(Duration electionTimeout) {
        List<MemberId> all = LoopbackPorts.free(2).stream()
                .map(port -> new MemberId("127.0.0.1:" + port))
                .toList();
        for (MemberId self : all) {
            open.add(new Side(self, all, electionTimeout));
        }
        open.get(0).sendSurely(open.get(1), "hello");
        open.get(1).sendSurely(open.get(0), "hello");
    }

    private static void pause(Duration time) throws InterruptedException {
        TimeUnit.NANOSECONDS.sleep(time.toNanos());
    }

    @Test
    void framesArriveInTheirOrder() throws InterruptedException {
        openTwo(Duration.ofSeconds(5));
        Side from = open.get(0);
        Side to = open.get(1);
        to.received.clear();
        int sent = 0;
        for (int burst = 0; burst < 1000; burst++) {
            for (int i = 0; i < 20; i++) {
                from.send(to, ByteBuffer.allocate(20_000).putInt(sent++).array());
            }
            to.send(from, new byte[50]); // has the next ones written by the sender itself
            pause(Duration.ofMillis(1));
        }
        int last = sent - 1;
        Awaitility.await("the last frame")
                .atMost(WAIT)
                .until(() -> to.received.stream()
                        .anyMatch(frame -> ByteBuffer.wrap(frame).getInt() == last));
        int newest = -1;
        for (byte[] frame : to.received) {
            int number = ByteBuffer.wrap(frame).getInt();
            assertThat(number).isGreaterThan(newest);
            newest = number;
        }
    }

    @Test
    void whoWasToldSomethingAndHasNothingToAnswerIsNotLost() throws InterruptedException {
        Duration electionTimeout = Duration.ofMillis(100);
        openTwo(electionTimeout);
        for (int i = 0; i < 3; i++) {
            open.get(i % 2).send(open.get(1 - i % 2), "news".getBytes(StandardCharsets.UTF_8));
            pause(electionTimeout.multipliedBy(8));
        }
        for (Side side : open) {
            assertThat(side.lost).isEmpty();
            assertThat(side.has("news")).isTrue();
        }
    }

    /** As with a list of hosts in which the machine's own name is 127.0.1.1: it would hear the others, who could never answer. */
    /** As where somebody adds it by another name of its host: nobody answers by that, and nobody is lost. */
    @Test
    void anotherNameOfAMemberDoesNotDisturbIt() throws InterruptedException {
        openTwo(Duration.ofSeconds(1));
        List<MemberId> members = open.stream().map(side -> side.self).toList();
        MemberId alias = new MemberId("localhost:" + members.get(1).port());
        List<MemberId> more = new ArrayList<>(members);
        more.add(alias);
        for (List<MemberId> known : List.of(more, members)) {
            open.forEach(side -> side.transport.connectTo(known));
            for (int i = 0; i < 120; i++) { // longer than nobody may answer, and than a link is kept
                open.get(0).transport.send(alias, "who".getBytes(StandardCharsets.UTF_8));
                open.get(1).transport.send(alias, "who".getBytes(StandardCharsets.UTF_8));
                open.get(0).send(open.get(1), "there".getBytes(StandardCharsets.UTF_8));
                pause(Duration.ofMillis(100));
            }
            open.get(0).sendSurely(open.get(1), "still there, of " + known.size());
        }
        assertThat(open).allSatisfy(side -> assertThat(side.lost).isEmpty());
        assertThat(open).noneMatch(side -> side.has("who"));
    }

    @Test
    void whoListensWhereOthersCannotReachItIsToldSo() throws Exception {
        MemberId self = new MemberId("127.0.0.1:" + LoopbackPorts.free(1).get(0));
        MemberId here = new MemberId(InetAddress.getLoopbackAddress().getHostAddress() + ":7801");
        MemberId elsewhere = new MemberId("192.0.2.1:7800");
        assertThatThrownBy(() -> new Side(self, List.of(self, here, elsewhere), WAIT, sockets -> sockets))
                .isInstanceOfSatisfying(
                        GroupException.class,
                        e -> assertThat(e.disposition()).isEqualTo(GroupException.Disposition.CORRECT))
                .hasMessageContaining("127.0.0.1 is 127.0.0.1 on this machine, where 192.0.2.1:7800 cannot reach it");
        for (NetworkInterface network : Collections.list(NetworkInterface.getNetworkInterfaces())) {
            for (InetAddress address : Collections.list(network.getInetAddresses())) {
                if (address instanceof Inet4Address) { // another name of this machine
                    MemberId other = new MemberId(address.getHostAddress() + ":7800");
                    new Side(self, List.of(self, other), WAIT, sockets -> sockets).close();
                }
            }
        }
    }

    @Test
    @EnabledOnOs(OS.LINUX) // which has all addresses of 127.0.0.0/8
    void membersAreFoundWhereverTheirNamesLead(@TempDir Path directory) throws Exception {
        Path hosts = directory.resolve("hosts");
        Path told = directory.resolve("told");
        Process child = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-Djdk.net.hosts.file=" + hosts,
                        "-cp",
                        System.getProperty("java.class.path"),
                        Moving.class.getName(),
                        hosts.toString(),
                        LoopbackPorts.free(1).get(0).toString())
                .redirectErrorStream(true)
                .redirectOutput(told.toFile())
                .start();
        try {
            assertThat(child.waitFor(100, TimeUnit.SECONDS)).isTrue();
            assertThat(child.exitValue()).as(() -> read(told)).isZero();
        } finally {
            child.destroyForcibly();
        }
    }

    private static String read(Path file) {
        try {
            return Files.readString(file);
        } catch (IOException e) {
            return e.toString();
        }
    }

    /** Members whose names lead to other addresses from time to time, by this process's own list of hosts. */
    static final class Moving {
        private final Path hosts;
        private final List<MemberId> all;

        private Moving(Path hosts, int port) {
            this.hosts = hosts;
            this.all = List.of(new MemberId("aaa:" + port), new MemberId("bbb:" + port), new MemberId("ccc:" + port));
        }

        public static void main(String[] arguments) throws IOException {
            Security.setProperty("networkaddress.cache.ttl", "0");
            Security.setProperty("networkaddress.cache.negative.ttl", "0");
            Moving moving = new Moving(Path.of(arguments[0]), Integer.parseInt(arguments[1]));
            moving.hosts("127.0.0.7 ccc");
            Side third = moving.open(2); // before there are the others' names
            moving.hosts("127.0.0.5 aaa", "127.0.0.6 bbb", "127.0.0.7 ccc");
            moving.meet(third, "first");
            moving.hosts("127.0.0.8 aaa", "127.0.0.6 bbb", "127.0.0.7 ccc");
            moving.meet(third, "second");
            moving.hosts("127.0.0.6 aaa", "127.0.0.8 bbb", "127.0.0.7 ccc");
            moving.meet(third, "third");
            third.close();
            moving.meetWithSeveralAddresses();
            System.exit(0);
        }

        private void hosts(String... lines) throws IOException {
            Path next = Files.writeString(hosts.resolveSibling("next"), String.join("\n", lines) + "\n");
            Files.move(next, hosts, StandardCopyOption.ATOMIC_MOVE);
        }

        private Side open(int member) {
            return new Side(all.get(member), all, Duration.ofSeconds(5));
        }

        /** Each is at the first address of its name, which for the other one is the second. */
        private void meetWithSeveralAddresses() throws IOException {
            hosts("127.0.0.5 aaa", "127.0.0.9 aaa", "127.0.0.10 bbb", "127.0.0.6 bbb");
            Side first = open(0);
            hosts("127.0.0.9 aaa", "127.0.0.5 aaa", "127.0.0.6 bbb", "127.0.0.10 bbb");
            Side second = open(1);
            try {
                first.sendSurely(second, "to the second of two addresses");
                second.sendSurely(first, "to the second of two addresses");
            } finally {
                first.close();
                second.close();
            }
        }

        /** The others are started anew, talk with the third, and get nothing that is for another one. */
        private void meet(Side third, String when) {
            Side first = open(0);
            Side second = open(1);
            try {
                first.sendSurely(third, when + " of the first");
                second.sendSurely(third, when + " of the second");
                third.sendSurely(first, when + " to the first");
                third.sendSurely(second, when + " to the second");
                first.received.clear();
                third.sendSurely(second, when + " to the second, again");
                if (first.has(when + " to the second, again")) {
                    throw new AssertionError("the first one gets what is for the second");
                }
            } finally {
                first.close();
                second.close();
            }
        }
    }
}
