package org.gorda.cli;

import com.google.gson.JsonObject;
import com.google.gson.JsonParser;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.StringWriter;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;

/** A run of the command {@code gorda}, as its users see it: a process that has ended, and what it printed. */
record GordaRun(int status, String out, String err) {

    private static final int MINUTES_MAX = 5;

    /** For this process and those that it starts, which do not run long enough for more. Java tells of it on each one's standard error. */
    private static final String JAVA_OPTIONS = "JDK_JAVA_OPTIONS";

    private static final String QUICK = "-XX:TieredStopAtLevel=1 -XX:+UseSerialGC";

    /** Runs it within this process, without a Java of its own: for what ends before it has opened anything. */
    static GordaRun here(String... arguments) {
        StringWriter out = new StringWriter();
        StringWriter err = new StringWriter();
        int status = Gorda.line()
                .setOut(new PrintWriter(out, true))
                .setErr(new PrintWriter(err, true))
                .execute(arguments);
        return new GordaRun(status, out.toString(), err.toString());
    }

    /** Runs it to its end, in the directory. */
    static GordaRun in(Path directory, String... arguments) throws IOException, InterruptedException {
        return in(directory, Map.of(), arguments);
    }

    /** Also with an environment that is another one. */
    static GordaRun in(Path directory, Map<String, String> environment, String... arguments)
            throws IOException, InterruptedException {
        return in(directory, System.getProperty("java.class.path"), environment, List.of(arguments));
    }

    /** Also with other classes. */
    static GordaRun in(Path directory, String classes, Map<String, String> environment, List<String> arguments)
            throws IOException, InterruptedException {
        List<String> command = new ArrayList<>(List.of(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-ea",
                "-cp",
                classes,
                "org.gorda.cli.Gorda"));
        command.addAll(arguments);
        Path out = directory.resolve("out");
        Path err = directory.resolve("err");
        ProcessBuilder builder = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectOutput(out.toFile())
                .redirectError(err.toFile());
        builder.environment().put(JAVA_OPTIONS, QUICK);
        builder.environment().putAll(environment);
        Process process = builder.start();
        if (!process.waitFor(MINUTES_MAX, TimeUnit.MINUTES)) {
            process.destroyForcibly().waitFor();
            throw new AssertionError(String.join(" ", arguments) + " has not ended after " + MINUTES_MAX
                    + " min, and printed " + Files.readString(out, StandardCharsets.UTF_8)
                    + Files.readString(err, StandardCharsets.UTF_8));
        }
        return new GordaRun(
                process.exitValue(),
                Files.readString(out, StandardCharsets.UTF_8),
                Files.readString(err, StandardCharsets.UTF_8)
                        .replaceAll("(?m)^NOTE: Picked up " + JAVA_OPTIONS + ".*\\R", ""));
    }

    JsonObject lastLine() {
        List<String> lines = out.lines().toList();
        return JsonParser.parseString(lines.get(lines.size() - 1)).getAsJsonObject();
    }
}
