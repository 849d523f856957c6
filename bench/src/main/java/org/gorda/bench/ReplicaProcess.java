package org.gorda.bench;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Stream;
import org.gorda.bench.workload.BenchException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/** A replica as a process of this machine, which can be killed, frozen and started again. Confined to one thread but for its end. */
public final class ReplicaProcess {

    private static final Logger LOG = LoggerFactory.getLogger(ReplicaProcess.class);

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
    private volatile @Nullable Thread logging;
    private long loggedBefore;
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
            ProcessBuilder builder = new ProcessBuilder(line).redirectErrorStream(true);
            if (clock != null) {
                builder.environment().putAll(clock.environment());
            }
            finishLog();
            Files.write(log(), new byte[0], StandardOpenOption.CREATE, StandardOpenOption.APPEND);
            loggedBefore = Files.size(log());
            Process started = builder.start();
            process = started;
            Thread copying = new Thread(() -> copy(started.getInputStream()), "log of " + name);
            copying.setDaemon(true);
            copying.start();
            logging = copying;
        } catch (IOException e) {
            throw new BenchException(name + " cannot be started with " + line + ": " + e, e);
        }
    }

    /** In this process, which has room for its last words also where its own files {@linkplain #limitFiles have none}. */
    private void copy(InputStream output) {
        try (output;
                OutputStream log = Files.newOutputStream(log(), StandardOpenOption.APPEND)) {
            output.transferTo(log);
        } catch (IOException e) {
            LOG.debug("what {} writes is not kept any more", name, e);
        }
    }

    /** Waits for the rest of what it wrote, if it has ended. */
    private void finishLog() {
        Thread copying = logging;
        if (copying != null && !isAlive()) {
            try {
                copying.join(END_WAIT.toMillis());
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
            }
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
        finishLog();
        try {
            return Files.readString(log());
        } catch (IOException e) {
            throw new BenchException(log() + " cannot be read: " + e, e);
        }
    }

    /** What it wrote since it was started last. */
    public String lastOutput() {
        byte[] all = output().getBytes(StandardCharsets.UTF_8);
        int begin = (int) Math.min(loggedBefore, all.length);
        return new String(all, begin, all.length - begin, StandardCharsets.UTF_8);
    }

    /** The end of what it wrote. */
    public String lastLines(int count) {
        finishLog();
        try (Stream<String> lines = Files.lines(log())) {
            List<String> all = lines.toList();
            return String.join("\n", all.subList(Math.max(0, all.size() - count), all.size()));
        } catch (IOException e) {
            return log() + " cannot be read: " + e;
        }
    }
}
