package org.gorda.cli.applications;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.PrintStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;

/** A {@link StandbyProgram} as a process. Confined to the test's thread. */
final class StandbyProcess {

    private final Path log;
    private final List<String> command;
    private final List<String> said = new CopyOnWriteArrayList<>();
    private Process process;
    private PrintStream to;

    StandbyProcess(Path directory, String url) {
        log = directory.resolve("program.log");
        command = List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-ea",
                "-Xmx768m",
                "-XX:TieredStopAtLevel=1",
                "-Dderby.stream.error.file=" + directory.resolve("derby.log"),
                "-cp",
                System.getProperty("java.class.path"),
                StandbyProgram.class.getName(),
                url);
    }

    void start() {
        try {
            Files.createDirectories(log.getParent());
            process = new ProcessBuilder(command)
                    .redirectError(ProcessBuilder.Redirect.appendTo(log.toFile()))
                    .start();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        said.clear();
        to = new PrintStream(process.getOutputStream(), true, StandardCharsets.UTF_8);
        BufferedReader from = process.inputReader(StandardCharsets.UTF_8);
        Thread reader = new Thread(() -> from.lines().forEach(said::add), "reader");
        reader.setDaemon(true);
        reader.start();
    }

    void tell(String line) {
        to.println(line);
    }

    /** Whether it has said that since it was started. */
    boolean said(String line) {
        if (!process.isAlive() && !said.contains(line)) {
            throw new AssertionError(
                    "it ended with " + process.exitValue() + " before it said '" + line + "': " + log());
        }
        return said.contains(line);
    }

    private String log() {
        try {
            return Files.readString(log);
        } catch (IOException e) {
            return e.toString();
        }
    }

    /** SIGKILL. */
    void kill() {
        process.destroyForcibly();
        awaitEnd();
    }

    /** SIGTERM, on which the replica closes. */
    void stop() {
        if (process.isAlive()) {
            process.destroy();
            awaitEnd();
        }
    }

    private void awaitEnd() {
        try {
            assertThat(process.waitFor(30, TimeUnit.SECONDS)).isTrue();
        } catch (InterruptedException e) {
            throw new AssertionError(e);
        }
    }
}
