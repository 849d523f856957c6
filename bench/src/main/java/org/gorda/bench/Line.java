package org.gorda.bench;

import com.google.gson.Gson;
import com.google.gson.JsonSyntaxException;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.io.Writer;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import org.gorda.jgcs.MemberId;

/** To a client in the process of an {@link EmbeddedReplica}: what it is to do and what it answers are lines of JSON. Confined to one thread but for its end. */
final class Line implements AutoCloseable {

    private static final Gson JSON = new Gson();

    private final Socket socket;
    private final BufferedReader answers;
    private final Writer orders;

    /** @param address where the replica's process lets orders in */
    Line(String address) throws IOException {
        MemberId replica = new MemberId(address);
        socket = new Socket(replica.host(), replica.port());
        socket.setTcpNoDelay(true);
        answers = new BufferedReader(new InputStreamReader(socket.getInputStream(), StandardCharsets.UTF_8));
        orders = new OutputStreamWriter(socket.getOutputStream(), StandardCharsets.UTF_8);
    }

    boolean isOpen() {
        return !socket.isClosed();
    }

    /** How long an answer is waited for; 0 for as long as it takes. */
    void waitAtMost(int millis) throws IOException {
        socket.setSoTimeout(millis);
    }

    /** @throws IOException if it has ended; the order may have arrived all the same */
    <T> T ask(Object order, Class<T> answer) throws IOException {
        send(order);
        return answer(answer);
    }

    void send(Object order) throws IOException {
        orders.write(JSON.toJson(order) + "\n");
        orders.flush();
    }

    <T> T answer(Class<T> type) throws IOException {
        try {
            return JSON.fromJson(readLine(), type);
        } catch (JsonSyntaxException e) {
            throw new IOException(e);
        }
    }

    String readLine() throws IOException {
        String line = answers.readLine();
        if (line == null) {
            throw new IOException("the process has ended, or does not want to go on");
        }
        return line;
    }

    @Override
    public void close() {
        try {
            socket.close();
        } catch (IOException e) {
            // Nobody uses it any more.
        }
    }
}
