package org.gorda.bindings.postgresql.wire;

import java.io.IOException;
import java.net.Socket;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import org.jspecify.annotations.Nullable;

/**
 * Executes statements that return no rows, as many as there are in one round trip, on a session that somebody else has opened and does not use meanwhile. Each
 * stays prepared on the server. If one fails, those behind it are not executed. Confined to one thread.
 */
public final class Pipeline {

    /** So many statements stay prepared, about. */
    private static final int PREPARED_MAX = 1000;

    private final ServerStream server;
    private final MessageBuffer messages = new MessageBuffer();

    /** Of the statements that are prepared, or will be. */
    private final Map<String, String> names = new HashMap<>();

    private final List<String> unprepared = new ArrayList<>();

    /** Names of those that the server is to forget. */
    private final List<String> dropped = new ArrayList<>();

    private int size;
    private int named;
    private boolean isOpen;

    /**
     * What the server has answered. Immutable.
     *
     * @param changed how many rows each statement has changed, of those that were executed
     * @param failure of the one behind those; null if all were executed
     */
    @SuppressWarnings("ArrayRecordComponent") // read at once, and by nobody else
    public record Answers(long[] changed, @Nullable SQLException failure) {}

    /** @param socket of the session, not encrypted */
    public Pipeline(Socket socket) throws IOException {
        this.server = new ServerStream(socket);
    }

    /** Whether a transaction was open on the server when this pipeline had run last. */
    public boolean isOpen() {
        return isOpen;
    }

    /** How many bytes they take. */
    public int bytes() {
        return messages.length();
    }

    /**
     * Adds a statement to those that are executed next.
     *
     * @param values of its parameters: texts, of which the server makes what it needs, bytes, or null
     */
    public void add(String sql, List<? extends @Nullable Object> values) {
        String name = names.get(sql);
        if (name == null) {
            name = "gorda_" + ++named;
            messages.parse(name, sql, List.of());
            names.put(sql, name);
            unprepared.add(sql);
        }
        messages.bindValues(name, values).execute("");
        size++;
    }

    /** Has the server forget all statements: what they name may have changed. */
    public void forget() {
        dropped.addAll(names.values());
        names.clear();
    }

    /** Forgets what waits to be executed. */
    public void clear() {
        messages.clear();
        size = 0;
        unprepared.forEach(names::remove);
        unprepared.clear();
    }

    /**
     * Executes what waits.
     *
     * @throws IOException if the session is lost
     */
    public Answers run() throws IOException {
        if (names.size() > PREPARED_MAX) {
            forget();
        }
        dropped.forEach(name -> messages.close('S', name));
        dropped.clear();
        server.write(messages.sync());
        server.flush();
        int sent = size;
        size = 0;
        Answers answers = read(sent);
        if (answers.failure() != null) {
            forget(); // some were not reached, and are not prepared
        }
        unprepared.clear();
        return answers;
    }

    private Answers read(int sent) throws IOException {
        long[] changed = new long[sent];
        int done = 0;
        SQLException failure = null;
        while (true) {
            server.next();
            switch (server.type()) {
                case 'C' -> changed[done++] = rows(server.texts()[0]);
                case 'E' -> {
                    failure = failure == null ? error() : failure;
                    if (!server.isField('V', "ERROR")) {
                        return new Answers(Arrays.copyOf(changed, done), failure);
                    }
                }
                case 'Z' -> {
                    isOpen = server.at(0) != 'I';
                    return new Answers(Arrays.copyOf(changed, done), failure);
                }
                default -> {} // prepared, bound, closed; notices, and settings that have changed
            }
        }
    }

    private static long rows(String tag) {
        int number = tag.lastIndexOf(' ') + 1;
        return number > 0 && Character.isDigit(tag.charAt(number)) ? Long.parseLong(tag.substring(number)) : 0;
    }

    private SQLException error() {
        String detail = server.field('D');
        return new SQLException(
                server.field('S') + ": " + server.field('M') + (detail == null ? "" : "\n  Detail: " + detail),
                server.field('C'));
    }
}
