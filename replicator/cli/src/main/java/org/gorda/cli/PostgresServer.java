package org.gorda.cli;

import io.zonky.test.db.postgres.embedded.EmbeddedPostgres;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import org.gorda.bench.DatabaseServer;
import org.gorda.bench.workload.BenchException;
import org.gorda.jgcs.LoopbackPorts;
import org.jspecify.annotations.Nullable;

/** A PostgreSQL server from the class path, for one replica on this machine. Thread-safe. */
final class PostgresServer implements DatabaseServer {

    /** One that was killed has its log to work off. */
    private static final Duration START_WAIT = Duration.ofMinutes(2);

    /** Linux tells times to programs in hundredths of a second, whatever its own clock does. */
    private static final long MS_PER_TICK = 10;

    /** Where a process's own time begins in {@code proc(5)}, counted from the state, which follows the name: as a user, and in the system. */
    private static final int OWN = 11;

    /** Where that of those begins whose end it has seen. */
    private static final int ENDED = 13;

    private final Path directory;
    private final String database;
    private final int port = LoopbackPorts.free(1).get(0);
    private @Nullable EmbeddedPostgres running;
    private @Nullable Process watch;

    /** @param directory of its own; it is made */
    PostgresServer(Path directory, String database) {
        this.directory = directory;
        this.database = database;
    }

    @Override
    public String database() {
        return "//127.0.0.1:" + port + "/" + database;
    }

    @Override
    public synchronized void start() {
        if (running != null) {
            return;
        }
        try {
            Files.createDirectories(directory);
            var log = ProcessBuilder.Redirect.appendTo(
                    directory.resolve("server.log").toFile());
            running = EmbeddedPostgres.builder()
                    .setDataDirectory(data())
                    .setCleanDataDirectory(false)
                    .setRegisterShutdownHook(false) // the replica ends first
                    .setPort(port)
                    .setServerConfig("fsync", "on") // as PostgreSQL has it, and what follows
                    .setServerConfig("synchronous_commit", "on")
                    .setOutputRedirector(log)
                    .setErrorRedirector(log)
                    .setPGStartupWait(START_WAIT)
                    .start();
            watch = endWithThisProcess();
        } catch (IOException | IllegalStateException e) {
            throw new BenchException(
                    "no PostgreSQL server starts in " + directory + ", see server.log there: " + e.getMessage(), e);
        }
    }

    /** A shell, whose standard input has an end when this process has, even if that is killed: then it ends the server. */
    private Process endWithThisProcess() throws IOException {
        String script = "read any; read pid < \"$1\" && kill -QUIT \"$pid\"";
        return new ProcessBuilder(
                        "sh",
                        "-c",
                        script,
                        "sh",
                        data().resolve("postmaster.pid").toString())
                .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                .redirectError(ProcessBuilder.Redirect.DISCARD)
                .start();
    }

    /** It is stopped before: else it would have new processes while the old ones are killed. */
    @Override
    public synchronized void kill() {
        if (running == null) {
            return;
        }
        try {
            ProcessHandle server = postmaster();
            new ProcessBuilder("kill", "-STOP", Long.toString(server.pid()))
                    .start()
                    .waitFor();
            List<ProcessHandle> all = new ArrayList<>(server.descendants().toList());
            all.add(server);
            all.forEach(ProcessHandle::destroyForcibly);
            all.forEach(process -> process.onExit().join());
        } catch (IOException e) {
            throw new BenchException("the server in " + directory + " cannot be killed: " + e, e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new BenchException("interrupted", e);
        }
        stop();
    }

    private ProcessHandle postmaster() throws IOException {
        long pid = Long.parseLong(
                Files.readAllLines(data().resolve("postmaster.pid")).get(0));
        return ProcessHandle.of(pid)
                .orElseThrow(() -> new BenchException("the server in " + directory + " has ended by itself"));
    }

    /** The directory in which PostgreSQL keeps everything. */
    Path data() {
        return directory.resolve("data");
    }

    /** Where it listens for clients, on the loopback network. */
    int port() {
        return port;
    }

    /** Of Linux: the postmaster's own time and that of those it has seen end, and what those who live have used. */
    @Override
    public Duration cpu() {
        try {
            ProcessHandle server = postmaster();
            long before;
            long ticks = ticks(server.pid(), ENDED, ENDED + 2);
            long living;
            do { // one that ended meanwhile is in neither, or in both
                before = ticks;
                living = 0;
                for (ProcessHandle each : server.descendants().toList()) {
                    living += ticks(each.pid(), OWN, OWN + 2);
                }
                ticks = ticks(server.pid(), ENDED, ENDED + 2);
            } while (ticks != before);
            return Duration.ofMillis((ticks(server.pid(), OWN, OWN + 2) + ticks + living) * MS_PER_TICK);
        } catch (IOException e) {
            throw new BenchException(
                    "this system does not tell how much processor time the server in " + directory + " has used: " + e,
                    e);
        }
    }

    /** The sum of some fields of {@code proc(5)}; 0 for a process that has just ended. */
    private static long ticks(long pid, int from, int to) throws IOException {
        Path file = Path.of("/proc", Long.toString(pid), "stat");
        String stat;
        try {
            stat = Files.readString(file);
        } catch (IOException e) {
            if (Files.exists(file)) {
                throw e;
            }
            return 0;
        }
        String[] fields = stat.substring(stat.lastIndexOf(')') + 2).split(" ", -1);
        long ticks = 0;
        for (int i = from; i < to; i++) {
            ticks += Long.parseLong(fields[i]);
        }
        return ticks;
    }

    @Override
    public synchronized void stop() {
        EmbeddedPostgres stopping = running;
        running = null;
        Process watching = watch;
        if (watching != null) {
            watching.destroyForcibly();
        }
        if (stopping != null) {
            try {
                stopping.close();
            } catch (IOException e) {
                throw new BenchException("the server in " + directory + " cannot be stopped: " + e, e);
            }
        }
    }
}
