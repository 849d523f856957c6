package org.gorda.cli;

import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.PrintWriter;
import java.sql.SQLException;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** Where commands print: for people, or with {@code --json} one JSON object as the last line, all else to the error stream. */
final class Output {

    private static final Gson JSON = new GsonBuilder()
            .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
            .serializeNulls()
            .disableHtmlEscaping()
            .create();

    @Spec(Spec.Target.MIXEE)
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec command;

    @Option(names = "--json", description = "End with one JSON object on standard output.")
    private boolean json;

    boolean json() {
        return json;
    }

    private PrintWriter out() {
        return command.commandLine().getOut();
    }

    private PrintWriter err() {
        return command.commandLine().getErr();
    }

    /** A line for people. */
    void line(String text) {
        PrintWriter to = json ? err() : out();
        to.println(text);
        to.flush();
    }

    /** The result, if JSON is wanted. */
    void result(Object content) {
        if (json) {
            err().flush();
            out().println(JSON.toJson(content));
            out().flush();
        }
    }

    /** One line for what went wrong. */
    static String explain(Throwable failure) {
        String message = failure.getMessage() == null ? failure.toString() : failure.getMessage();
        return failure instanceof SQLException sql ? "SQLSTATE " + sql.getSQLState() + ": " + message : message;
    }
}
