package org.gorda.jgcs.raft;

import static org.assertj.core.api.Assertions.assertThat;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.time.Duration;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicReference;
import java.util.concurrent.locks.LockSupport;
import java.util.stream.Stream;
import javax.net.ssl.KeyManager;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLContextSpi;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLServerSocketFactory;
import javax.net.ssl.SSLSessionContext;
import javax.net.ssl.SSLSocketFactory;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;
import org.awaitility.Awaitility;
import org.gorda.jgcs.Encryption;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.raft.member.Storage;
import org.gorda.jgcs.raft.transport.TcpTransport;
import org.gorda.jgcs.tck.Recorder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A member that cannot go on stops and says so, whatever it was that happened, and wherever. */
@Timeout(120)
class FailureTest {

    private static final Duration WAIT = Duration.ofSeconds(30);
    private static final int MESSAGES = 5;

    @TempDir
    Path directory;

    /** As where there is no memory for a word about it. */
    private static final class Untold extends Error {
        private static final long serialVersionUID = 1L;

        @Override
        public String getMessage() {
            throw new AssertionError("no word can be said");
        }

        @Override
        public String toString() {
            throw new AssertionError("no word can be said");
        }
    }

    private static List<MemberId> members(int count) {
        return LoopbackPorts.free(count).stream()
                .map(port -> new MemberId("127.0.0.1:" + port))
                .sorted()
                .toList();
    }

    private GroupConfiguration.Builder configuration(MemberId self, List<MemberId> all) {
        return GroupConfiguration.builder("test", self, directory.resolve("member" + self.port()))
                .members(all)
                .electionTimeout(Duration.ofMillis(400));
    }

    private static void stops(Recorder recorder) {
        Awaitility.await("is told that it has stopped").atMost(WAIT).until(() -> recorder.stopped() != null);
    }

    /** A storage that throws at one call while it is told to. */
    private static Storage failing(Storage storage, String call, AtomicBoolean fails) {
        return (Storage) Proxy.newProxyInstance(
                Storage.class.getClassLoader(), new Class<?>[] {Storage.class}, (proxy, method, arguments) -> {
                    if (method.getName().equals(call) && fails.get()) {
                        throw new Untold();
                    }
                    try {
                        return method.invoke(storage, arguments);
                    } catch (InvocationTargetException e) {
                        throw e.getCause();
                    }
                });
    }

    /** Who is told has no memory for it at first. */
    private static GroupListener forgetful(GroupListener listener) {
        AtomicBoolean fails = new AtomicBoolean(true);
        return (GroupListener) Proxy.newProxyInstance(
                GroupListener.class.getClassLoader(),
                new Class<?>[] {GroupListener.class},
                (proxy, method, arguments) -> {
                    if (method.getName().equals("onStop") && fails.getAndSet(false)) {
                        throw new InternalError("no word can be said");
                    }
                    return method.invoke(listener, arguments);
                });
    }

    @Test
    void whatCannotBeToldStopsTheMemberAllTheSame() {
        List<MemberId> self = members(1);
        AtomicBoolean fails = new AtomicBoolean();
        RaftProtocol protocol = new RaftProtocol(
                opened -> failing(RaftProtocol.openStorage(opened), "append", fails), TcpTransport::new);
        GroupConfiguration configuration = configuration(self.get(0), self).build();
        Recorder recorder = new Recorder();
        try (Group group = protocol.open(configuration, protocol.offers(configuration), forgetful(recorder))) {
            group.control().join(Position.START);
            group.data().multicast(ByteBuffer.wrap(new byte[10]), WAIT);
            Awaitility.await().atMost(WAIT).until(() -> recorder.count() == 1);
            fails.set(true);
            try {
                group.data().multicast(ByteBuffer.wrap(new byte[10]), WAIT);
            } catch (AssertionError e) {
                // who sends may be told, too
            }
            stops(recorder);
            assertThat(recorder.stopped())
                    .hasMessageContaining(self.get(0) + " has stopped because of " + Untold.class.getName());
            assertThat(group.membership().orElseThrow().view().working()).isFalse();
        }
    }

    /** The exception's own message may be the path alone. */
    @Test
    void whoseLogIsDeletedSaysWhatIsNotThere() throws Exception {
        List<MemberId> self = members(1);
        RaftProtocol protocol = new RaftProtocol();
        GroupConfiguration configuration =
                configuration(self.get(0), self).segmentBytes(1 << 20).build();
        Recorder recorder = new Recorder();
        try (Group group = protocol.open(configuration, protocol.offers(configuration), recorder)) {
            group.control().join(Position.START);
            group.data().multicast(ByteBuffer.wrap(new byte[10]), WAIT);
            Awaitility.await().atMost(WAIT).until(() -> recorder.count() == 1);
            try (Stream<Path> files = Files.walk(configuration.directory())) {
                for (Path file : files.sorted(Comparator.reverseOrder()).toList()) {
                    Files.delete(file);
                }
            }
            try {
                for (int i = 0; i < 20; i++) { // one file takes no more than eight of these
                    group.data().multicast(ByteBuffer.wrap(new byte[1 << 17]), WAIT);
                }
            } catch (GroupException e) {
                // it has stopped already
            }
            stops(recorder);
            assertThat(recorder.stopped())
                    .hasMessageContaining("the disk of " + configuration.directory() + " failed (")
                    .hasMessageMatching(".*\\((java.nio.file.NoSuchFile|java.io.FileNotFound)Exception: .*");
        }
    }

    /** As where there is no more memory for the next connection. */
    private static Encryption unusable() throws GeneralSecurityException {
        SSLContextSpi throwing = new SSLContextSpi() {
            @Override
            protected void engineInit(KeyManager[] keys, TrustManager[] trust, SecureRandom random) {}

            @Override
            protected SSLSocketFactory engineGetSocketFactory() {
                throw new InternalError("no connection can be made");
            }

            @Override
            protected SSLServerSocketFactory engineGetServerSocketFactory() {
                throw new InternalError("no connection can be made");
            }

            @Override
            protected SSLEngine engineCreateSSLEngine() {
                throw new InternalError("no connection can be made");
            }

            @Override
            protected SSLEngine engineCreateSSLEngine(String host, int port) {
                throw new InternalError("no connection can be made");
            }

            @Override
            protected SSLSessionContext engineGetServerSessionContext() {
                throw new InternalError("no connection can be made");
            }

            @Override
            protected SSLSessionContext engineGetClientSessionContext() {
                throw new InternalError("no connection can be made");
            }
        };
        SSLContext real = SSLContext.getDefault();
        TrustManagerFactory trusts = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
        trusts.init((KeyStore) null);
        return new Encryption(
                new SSLContext(throwing, real.getProvider(), real.getProtocol()) {},
                (X509ExtendedTrustManager) trusts.getTrustManagers()[0]);
    }

    @Test
    void whoCannotConnectAnyMoreStops() throws Exception {
        List<MemberId> all = members(2);
        GroupConfiguration configuration =
                configuration(all.get(0), all).tls(unusable()).build();
        RaftProtocol protocol = new RaftProtocol();
        Recorder recorder = new Recorder();
        try (ServerSocket other = new ServerSocket(
                        all.get(1).port(), 10, InetAddress.getByName(all.get(1).host()));
                Group group = protocol.open(configuration, protocol.offers(configuration), recorder)) {
            assertThat(other.isBound()).isTrue();
            group.control().join(Position.START);
            stops(recorder);
        }
    }

    /** It answers, and takes what it is to store: the others would wait for what it tells them of. */
    @Test
    void whoseDiskStandsStillDoesNotLead() throws Exception {
        List<MemberId> all = members(3);
        AtomicReference<MemberId> stands = new AtomicReference<>();
        Map<MemberId, Recorder> recorders = new HashMap<>();
        Map<MemberId, Group> groups = new HashMap<>();
        try {
            for (MemberId self : all) {
                GroupConfiguration configuration = configuration(self, all)
                        .durability(Service.Durability.SYNCED)
                        .build();
                RaftProtocol protocol = new RaftProtocol(
                        opened -> {
                            Storage storage = RaftProtocol.openStorage(opened);
                            return (Storage) Proxy.newProxyInstance(
                                    Storage.class.getClassLoader(),
                                    new Class<?>[] {Storage.class},
                                    (proxy, method, arguments) -> {
                                        while (method.getName().equals("force") && self.equals(stands.get())) {
                                            LockSupport.parkNanos(1_000_000);
                                        }
                                        return method.invoke(storage, arguments);
                                    });
                        },
                        TcpTransport::new);
                Recorder recorder = new Recorder();
                recorders.put(self, recorder);
                groups.put(self, protocol.open(configuration, protocol.offers(configuration), recorder));
            }
            groups.values().forEach(group -> group.control().join(Position.START));
            Recorder first = recorders.get(all.get(0));
            Awaitility.await("they work")
                    .atMost(WAIT)
                    .until(() -> recorders.values().stream()
                            .allMatch(recorder ->
                                    recorder.view() != null && recorder.view().working()));
            MemberId leader = first.view().leader().orElseThrow();
            List<MemberId> others =
                    all.stream().filter(one -> !one.equals(leader)).toList();
            stands.set(leader);
            for (int i = 0; i < MESSAGES; i++) {
                groups.get(others.get(0)).data().multicast(ByteBuffer.wrap(new byte[10]), WAIT);
            }
            for (MemberId other : others) {
                Awaitility.await("the others go on")
                        .atMost(WAIT)
                        .until(() -> recorders.get(other).count() == MESSAGES);
                assertThat(recorders.get(other).view().leader())
                        .isPresent()
                        .get()
                        .isNotEqualTo(leader);
            }
            stands.set(null);
            Awaitility.await("it follows")
                    .atMost(WAIT)
                    .until(() -> recorders.get(leader).count() == MESSAGES);
        } finally {
            stands.set(null);
            groups.values().forEach(Group::close);
        }
    }
}
