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

    private final Path directory;
    private final String database;
    private final int port = LoopbackPorts.free(1).get(0);
    private @Nullable EmbeddedPostgres running;

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
                    .setDataDirectory(directory.resolve("data"))
                    .setCleanDataDirectory(false)
                    .setRegisterShutdownHook(false) // the replica ends first
                    .setPort(port)
                    .setServerConfig("synchronous_commit", "on") // as PostgreSQL has it
                    .setOutputRedirector(log)
                    .setErrorRedirector(log)
                    .setPGStartupWait(START_WAIT)
                    .start();
        } catch (IOException | IllegalStateException e) {
            throw new BenchException(
                    "no PostgreSQL server starts in " + directory + ", see server.log there: " + e.getMessage(), e);
        }
    }

    /** It is stopped before: else it would have new processes while the old ones are killed. */
    @Override
    public synchronized void kill() {
        if (running == null) {
            return;
        }
        try {
            long pid = Long.parseLong(
                    Files.readAllLines(directory.resolve("data/postmaster.pid")).get(0));
            ProcessHandle server = ProcessHandle.of(pid)
                    .orElseThrow(() -> new BenchException("the server in " + directory + " has ended by itself"));
            new ProcessBuilder("kill", "-STOP", Long.toString(pid)).start().waitFor();
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

    @Override
    public synchronized void stop() {
        EmbeddedPostgres stopping = running;
        running = null;
        if (stopping != null) {
            try {
                stopping.close();
            } catch (IOException e) {
                throw new BenchException("the server in " + directory + " cannot be stopped: " + e, e);
            }
        }
    }
}
