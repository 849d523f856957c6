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

    private static final int CHAIN_MAX = 5;

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

    /** One line for what went wrong. An engine may tell the cause in the exceptions chained to the first. */
    static String explain(Throwable failure) {
        StringBuilder line = new StringBuilder();
        Throwable at = failure;
        for (int i = 0; at != null && i < CHAIN_MAX; i++) {
            String message = at.getMessage() == null ? at.toString() : at.getMessage();
            SQLException sql = at instanceof SQLException one ? one : null;
            line.append(i == 0 ? "" : "; ");
            line.append(sql == null ? "" : "SQLSTATE " + sql.getSQLState() + ": ")
                    .append(message);
            at = sql == null ? null : sql.getNextException();
        }
        return line.toString().replaceAll("\\s*\\R\\s*", " ");
    }
}
