package org.gorda.jgcs.raft;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.raft.transport.TcpTransport;
import org.gorda.jgcs.raft.transport.Transport;
import org.gorda.jgcs.tck.Recorder;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.condition.EnabledOnOs;
import org.junit.jupiter.api.condition.OS;
import org.junit.jupiter.api.io.TempDir;

/** A process that gets no more threads from the system for a while: {@code ExitOnOutOfMemoryError} does not end it. */
@Timeout(120)
@EnabledOnOs(OS.LINUX)
class NoThreadsTest {

    private static final Duration WAIT = Duration.ofSeconds(30);

    @TempDir
    Path directory;

    /** With room for some dozen stacks of threads; what is left when there is none for another is for all else. */
    private static Process child(Class<?> main, String... arguments) throws IOException {
        List<String> line = new ArrayList<>(List.of(
                "sh",
                "-c",
                "ulimit -v 1500000; MALLOC_ARENA_MAX=1 exec \"$@\"",
                "sh",
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-Xmx64m",
                "-Xss32m",
                "-XX:+UseSerialGC",
                "-XX:ReservedCodeCacheSize=32m",
                "-XX:CompressedClassSpaceSize=32m",
                "-XX:+ExitOnOutOfMemoryError",
                "-cp",
                System.getProperty("java.class.path"),
                main.getName()));
        line.addAll(List.of(arguments));
        return new ProcessBuilder(line)
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
    }

    private static void awaitLine(BufferedReader out, String wanted) throws IOException {
        String line = out.readLine();
        while (line != null && !line.equals(wanted)) {
            line = out.readLine();
        }
        assertThat(line).isEqualTo(wanted);
    }

    private static BufferedReader linesOf(Process child) {
        return new BufferedReader(new InputStreamReader(child.getInputStream(), StandardCharsets.UTF_8));
    }

    private static PrintStream inputOf(Process child) {
        return new PrintStream(child.getOutputStream(), true, StandardCharsets.UTF_8);
    }

    /** All threads that there are, until it is ended. */
    private static final class Greed {
        private final CountDownLatch end = new CountDownLatch(1);
        private final List<Thread> threads = new ArrayList<>();

        Greed() {
            try {
                while (threads.size() < 10_000) {
                    Thread thread = new Thread(() -> {
                        try {
                            end.await();
                        } catch (InterruptedException e) {
                            Thread.currentThread().interrupt();
                        }
                    });
                    thread.setDaemon(true);
                    thread.start();
                    threads.add(thread);
                }
                throw new IllegalStateException("there is no end of threads");
            } catch (OutOfMemoryError e) {
                say("no more threads");
            }
        }

        void end() {
            end.countDown();
            for (Thread thread : threads) {
                try {
                    thread.join();
                } catch (InterruptedException e) {
                    Thread.currentThread().interrupt();
                }
            }
            say("threads again");
        }
    }

    private static void say(String line) {
        System.out.println(line);
        System.out.flush();
    }

    private static TcpTransport transport(MemberId self, List<MemberId> all, Transport.Listener listener) {
        TcpTransport transport = new TcpTransport(GroupConfiguration.builder("test", self, Path.of("none"))
                .members(all)
                .build());
        transport.start(listener);
        transport.connectTo(all);
        return transport;
    }

    private static List<MemberId> members(String... names) {
        return List.of(names).stream().map(MemberId::new).toList();
    }

    /** Waits to be connected to; is the second of those named. */
    static final class Accepting {
        private Accepting() {}

        public static void main(String[] names) throws IOException {
            List<MemberId> all = members(names);
            transport(all.get(1), all, new Transport.Listener() {
                @Override
                public void onFrame(byte[] frame) {
                    say("received");
                }

                @Override
                public void onDisconnected(MemberId member) {}

                @Override
                public void onFailure(Throwable cause) {
                    throw new AssertionError("a thread has ended", cause);
                }
            });
            Greed greed = new Greed();
            System.in.read();
            greed.end();
            while (System.in.read() >= 0) {}
            System.exit(0);
        }
    }

    @Test
    void whoCouldNotTakeAConnectionTakesTheNext() throws Exception {
        List<Integer> ports = LoopbackPorts.free(2);
        String[] names = {"127.0.0.1:" + ports.get(0), "127.0.0.1:" + ports.get(1)};
        List<MemberId> all = members(names);
        Process child = child(Accepting.class, names);
        CountDownLatch turnedAway = new CountDownLatch(1);
        try (BufferedReader lines = linesOf(child);
                PrintStream input = inputOf(child)) {
            awaitLine(lines, "no more threads");
            try (TcpTransport connecting = transport(all.get(0), all, new Transport.Listener() {
                @Override
                public void onFrame(byte[] frame) {}

                @Override
                public void onDisconnected(MemberId member) {
                    turnedAway.countDown();
                }

                @Override
                public void onFailure(Throwable cause) {
                    throw new AssertionError("a thread has ended", cause);
                }
            })) {
                assertThat(turnedAway.await(WAIT.toSeconds(), TimeUnit.SECONDS))
                        .as("is turned away")
                        .isTrue();
                input.println();
                awaitLine(lines, "threads again");
                Awaitility.await("a frame arrives").atMost(WAIT).until(() -> {
                    connecting.send(all.get(1), "hello".getBytes(StandardCharsets.UTF_8));
                    return lines.ready() && "received".equals(lines.readLine());
                });
            }
        } finally {
            child.destroyForcibly().waitFor();
        }
    }

    /** A group of one, whose user cannot process its second message. */
    static final class Failing {
        private Failing() {}

        public static void main(String[] arguments) throws IOException, InterruptedException {
            MemberId self = new MemberId(arguments[0]);
            GroupConfiguration configuration = GroupConfiguration.builder("test", self, Path.of(arguments[1]))
                    .members(List.of(self))
                    .build();
            RaftProtocol protocol = new RaftProtocol();
            Recorder recorder = new Recorder();
            recorder.before(message -> {
                if (recorder.count() > 0) {
                    throw new IllegalStateException("cannot be processed");
                }
            });
            Group group = protocol.open(configuration, protocol.offers(configuration), recorder);
            group.control().join(Position.START);
            group.data().multicast(ByteBuffer.wrap(new byte[10]), WAIT);
            Awaitility.await().atMost(WAIT).until(() -> recorder.count() == 1);
            new Greed();
            group.data().multicast(ByteBuffer.wrap(new byte[10]), WAIT);
            for (int i = 0; i < 2000 && recorder.stopped() == null; i++) {
                TimeUnit.MILLISECONDS.sleep(10);
            }
            say(recorder.stopped() == null ? "goes on" : "has stopped");
            System.exit(0);
        }
    }

    @Test
    void whoFailsStops() throws Exception {
        Process child = child(
                Failing.class,
                "127.0.0.1:" + LoopbackPorts.free(1).get(0),
                directory.resolve("member").toString());
        try (BufferedReader lines = linesOf(child)) {
            awaitLine(lines, "has stopped");
        } finally {
            child.destroyForcibly().waitFor();
        }
    }
}
