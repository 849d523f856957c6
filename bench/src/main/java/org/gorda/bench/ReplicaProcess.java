package org.gorda.bench;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.gorda.bench.workload.BenchException;
import org.jspecify.annotations.Nullable;

/** A replica as a process of this machine, which can be killed, frozen and started again. Confined to one thread but for its end. */
public final class ReplicaProcess {

    private static final Duration END_WAIT = Duration.ofSeconds(30);
    private static final int LOG_LINES_SHOWN = 12;

    private final String name;
    private final Path directory;
    private final String service;
    private final String clients;
    private final String embeddedUrl;
    private final List<String> command;
    private final @Nullable DatabaseServer server;
    private List<String> javaOptions = List.of();
    private @Nullable WallClock clock;
    private volatile @Nullable Process process;
    private boolean retired;

    /** @param server of its database, if that has one */
    ReplicaProcess(
            String name,
            Path directory,
            String service,
            String clients,
            String embeddedUrl,
            List<String> command,
            @Nullable DatabaseServer server) {
        this.name = name;
        this.directory = directory;
        this.service = service;
        this.clients = clients;
        this.embeddedUrl = embeddedUrl;
        this.command = List.copyOf(command);
        this.server = server;
    }

    /** Derby's own network server, as somebody uses it who does not replicate. Its embedded URL is that of its clients. */
    public static ReplicaProcess engineAlone(Path directory, int port, String heap) {
        String url = "jdbc:derby://127.0.0.1:" + port + "/"
                + directory.toAbsolutePath().resolve(ReplicaGroup.DATABASE) + ";create=true";
        List<String> command = new ArrayList<>(ReplicaGroup.java(heap, List.of()));
        command.addAll(List.of("org.apache.derby.drda.NetworkServerControl", "start"));
        command.addAll(List.of("-h", "127.0.0.1", "-p", Integer.toString(port), "-noSecurityManager"));
        return new ReplicaProcess("the engine alone", directory, "", "", url, command, null);
    }

    /** For people. */
    public String name() {
        return name;
    }

    /** Where it keeps everything. */
    public Path directory() {
        return directory;
    }

    /** Its service address. */
    public String service() {
        return service;
    }

    /** Where it lets the database's own clients in. */
    String clients() {
        return clients;
    }

    /** By which a program's JVM is this replica, in the stead of the process. */
    public String embeddedUrl() {
        return embeddedUrl;
    }

    /** What Java is to be started with besides, from the next start on. */
    public void javaOptions(List<String> options) {
        javaOptions = List.copyOf(options);
    }

    /**
     * From the next start on it has a wall clock of its own.
     *
     * @throws BenchException if this machine lacks what is needed for that
     */
    public void giveClock() {
        clock = new WallClock(directory.resolve("clock"));
    }

    /** Moves its own wall clock; what it measures waits by stays. */
    public void moveClock(Duration ahead) {
        if (clock == null) {
            throw new IllegalStateException(name + " has no clock of its own");
        }
        clock.move(ahead);
    }

    /** Starts it, and its database's server before it; its output goes to a file in its directory. */
    public void start() {
        start(line());
    }

    private List<String> line() {
        List<String> line = new ArrayList<>(command);
        line.addAll(1, javaOptions);
        return line;
    }

    /** As {@link #start}, on a disk that has no room for files of more than so many bytes. */
    public void startWithFilesUpTo(long bytes) {
        List<String> limited = new ArrayList<>(List.of("sh", "-c", "ulimit -f " + bytes / 512 + "; exec \"$@\"", "sh"));
        limited.addAll(line());
        start(limited);
    }

    private synchronized void start(List<String> line) {
        if (retired) {
            return;
        }
        try {
            Files.createDirectories(directory);
            if (server != null) {
                server.start();
            }
            ProcessBuilder builder = new ProcessBuilder(line)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.appendTo(log().toFile()));
            if (clock != null) {
                builder.environment().putAll(clock.environment());
            }
            process = builder.start();
        } catch (IOException e) {
            throw new BenchException(name + " cannot be started with " + line + ": " + e, e);
        }
    }

    private Path log() {
        return directory.resolve("node.log");
    }

    private Process process() {
        Process started = process;
        if (started == null) {
            throw new BenchException(name + " was not started");
        }
        return started;
    }

    public boolean isAlive() {
        Process started = process;
        return started != null && started.isAlive();
    }

    /** The operating system's number of its process. */
    public long pid() {
        return process().pid();
    }

    /** What its process, and its database's server, have used of the processors' time since they were started. */
    public Duration cpu() {
        Duration own = process()
                .info()
                .totalCpuDuration()
                .orElseThrow(() ->
                        new BenchException("this system does not tell how much processor time " + name + " has used"));
        return server == null ? own : own.plus(server.cpu());
    }

    /** SIGKILL. */
    public void kill() {
        process().destroyForcibly();
        await(END_WAIT);
    }

    /** Whether its database has a server, which can be killed, too. */
    public boolean hasServer() {
        return server != null;
    }

    /** As {@link #kill}, and its database's server with it. */
    public void killWithServer() {
        process().destroyForcibly();
        if (server != null) {
            server.kill();
        }
        await(END_WAIT);
    }

    /** SIGSTOP: it keeps all connections and does nothing. */
    public void freeze() {
        signal("STOP");
    }

    /** SIGCONT. */
    public void thaw() {
        signal("CONT");
    }

    private void signal(String signal) {
        run("kill", "-" + signal, Long.toString(pid()));
    }

    private static void run(String... command) {
        List<String> line = List.of(command);
        try {
            int status = new ProcessBuilder(line).inheritIO().start().waitFor();
            if (status != 0) {
                throw new BenchException(line + " ended with " + status);
            }
        } catch (IOException e) {
            throw new BenchException(line + " cannot be run: " + e, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new BenchException("interrupted", e);
        }
    }

    /**
     * From now on no file of its process can grow beyond a size, as if the disk were full; needs Linux.
     *
     * @param bytes {@link Long#MAX_VALUE} to have no limit any more
     */
    public void limitFiles(long bytes) {
        run(
                "prlimit",
                "--pid",
                Long.toString(pid()),
                "--fsize=" + (bytes == Long.MAX_VALUE ? "unlimited" : bytes) + ":");
    }

    /**
     * Ends it and its database's server, and whoever wants to start it again afterwards does not. For any thread, as that of the end of
     * this program.
     */
    public void retire() {
        synchronized (this) {
            retired = true;
        }
        stop();
        if (server != null) {
            server.stop();
        }
    }

    /** Ends it in order; kills it if that takes too long. */
    public void stop() {
        if (!isAlive()) {
            return;
        }
        process().destroy();
        if (!await(END_WAIT)) {
            kill();
        }
    }

    private boolean await(Duration atMost) {
        try {
            return process().waitFor(atMost.toMillis(), TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new BenchException("interrupted while waiting for the end of " + name, e);
        }
    }

    /**
     * Makes sure that it runs.
     *
     * @throws BenchException with the end of its output if it has ended
     */
    public void requireAlive() {
        if (!isAlive()) {
            throw new BenchException(
                    name + " has ended with status " + process().exitValue() + ":\n" + lastLines(LOG_LINES_SHOWN));
        }
    }

    /** What it wrote, of all its runs. */
    public String output() {
        try {
            return Files.readString(log());
        } catch (IOException e) {
            throw new BenchException(log() + " cannot be read: " + e, e);
        }
    }

    /** The end of what it wrote. */
    public String lastLines(int count) {
        try (Stream<String> lines = Files.lines(log())) {
            List<String> all = lines.toList();
            return String.join("\n", all.subList(Math.max(0, all.size() - count), all.size()));
        } catch (IOException e) {
            return log() + " cannot be read: " + e;
        }
    }
}
