package org.gorda.cli;

import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.PrintWriter;
import java.sql.SQLException;
import picocli.CommandLine.Help.Ansi;
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
    private static final int BAR_WIDTH = 40;
    private static final String ERASE = "\r\u001b[K";

    @Spec(Spec.Target.MIXEE)
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec command;

    @Option(names = "--json", description = "End with one JSON object on standard output.")
    private boolean json;

    private String bar = "";

    boolean json() {
        return json;
    }

    private PrintWriter out() {
        return command.commandLine().getOut();
    }

    private PrintWriter err() {
        return command.commandLine().getErr();
    }

    private PrintWriter people() {
        return json ? err() : out();
    }

    /** A line for people. */
    void line(String text) {
        PrintWriter to = people();
        to.println(bar.isEmpty() ? text : ERASE + text);
        to.print(bar);
        to.flush();
    }

    /** A line for people that is no part of what the command was asked for: to the error stream. */
    void aside(String text) {
        err().println(text);
        err().flush();
    }

    /** How far the command is, 0 to 1: a bar below the lines, if somebody looks at them in a terminal; gone with 1. */
    void share(double done) {
        if (!json && Ansi.AUTO.enabled()) {
            int full = (int) (done * BAR_WIDTH);
            bar = done >= 1
                    ? ""
                    : "[" + "#".repeat(full) + ".".repeat(BAR_WIDTH - full) + "] " + (int) (100 * done) + " %";
            people().print(ERASE + bar);
            people().flush();
        }
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
