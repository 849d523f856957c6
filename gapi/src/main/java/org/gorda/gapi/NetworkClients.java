package org.gorda.gapi;

import java.io.IOException;
import java.net.Socket;
import java.util.HashMap;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.TimeUnit;
import java.util.function.BooleanSupplier;

/** The connections of a database's clients over the network, of which there is a bound, and on which somebody must have logged in soon. Thread-safe. */
public final class NetworkClients {

    /** Each has a thread at least. */
    private static final int COUNT_MAX = 10_000;

    /** With TLS the handshake included. */
    private static final long LOGIN_MILLIS = 60_000;

    private final int countMax;
    private final long loginMillis;

    /** With what is completed once they are closed. Guarded by itself, as the next one. */
    private final Map<Socket, CompletableFuture<Void>> open = new HashMap<>();

    private boolean isEnding;

    /** With none yet. */
    public NetworkClients() {
        this(COUNT_MAX, LOGIN_MILLIS);
    }

    /** With other bounds than all have. */
    public NetworkClients(int countMax, long loginMillis) {
        this.countMax = countMax;
        this.loginMillis = loginMillis;
    }

    /**
     * Takes one in until it is closed, and closes it if nobody has logged in when the time is over.
     *
     * @param isLoggedIn is asked then
     * @throws IOException if there are too many, or if it is useless; it is to be closed
     */
    public void add(Socket socket, BooleanSupplier isLoggedIn) throws IOException {
        KeepAlive.on(socket);
        CompletableFuture<Void> closed = new CompletableFuture<>();
        synchronized (open) {
            open.entrySet().removeIf(NetworkClients::isClosed);
            if (isEnding || open.size() >= countMax) {
                throw new IOException(isEnding ? "the server ends" : "there are " + countMax + " clients");
            }
            open.put(socket, closed);
        }
        closeUnlessLoggedIn(socket, isLoggedIn, closed);
    }

    private static boolean isClosed(Map.Entry<Socket, CompletableFuture<Void>> each) {
        boolean isClosed = each.getKey().isClosed();
        if (isClosed) {
            each.getValue().complete(null);
        }
        return isClosed;
    }

    @SuppressWarnings("FutureReturnValueIgnored") // what follows the time-out is all there is to do
    private void closeUnlessLoggedIn(Socket socket, BooleanSupplier isLoggedIn, CompletableFuture<Void> closed) {
        closed.orTimeout(loginMillis, TimeUnit.MILLISECONDS).whenComplete((nothing, late) -> {
            if (late != null && !isLoggedIn.getAsBoolean()) {
                close(socket);
            }
        });
    }

    private static void close(Socket socket) {
        try {
            socket.close();
        } catch (IOException e) {
            return; // it is closed all the same
        }
    }

    /** Closes all, and takes in no other. */
    public void end() {
        synchronized (open) {
            isEnding = true;
            open.keySet().forEach(NetworkClients::close);
            open.entrySet().removeIf(NetworkClients::isClosed);
        }
    }
}
