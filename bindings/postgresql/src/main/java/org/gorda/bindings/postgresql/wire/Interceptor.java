package org.gorda.bindings.postgresql.wire;

import java.io.EOFException;
import java.io.IOException;
import java.net.Socket;
import java.util.List;
import java.util.Map;
import java.util.function.BooleanSupplier;
import org.jspecify.annotations.Nullable;

/**
 * Stands between a client and its server and has all that the client does done in transaction blocks, whose ends it leaves to {@link Transactions}. One
 * thread gives what the client sends, one (it may be the same) takes what the client is to read: that one also ends transactions, when the server has
 * answered what precedes. A third one sends what has waited, if that is much. After what ends a cycle of the protocol (Query, Sync) and after what ends a transaction, what the client sends waits until that
 * is done: up to a bound.
 *
 * <p>The server commits changed rows only after statements of ours; so what the lexer does not see to be the end of a transaction fails there, and
 * nothing is committed that was not told.
 */
public final class Interceptor implements AutoCloseable {

    /** What surely waits on the way to the server without being read. */
    private static final int UNREAD_BYTES_MAX = 16 << 10;

    private final boolean isRelayed;
    private final ServerStream server;
    private final ClientQueue queue;
    private final Block block = new Block();
    private final ClientOutput out = new ClientOutput();
    private final Cancellation cancellation;
    private final Requests requests;
    private final Answers answers;
    private final Exchanges exchanges;
    private final ExtendedProtocol extended;
    private final SimpleProtocol simple;

    /** Who sends what is more, while its answers are taken; null before there was so much. */
    private volatile @Nullable Thread sending;

    /**
     * Begins between a client and a server, to which nothing was sent yet.
     *
     * @param isRelayed whether {@link #accept} may wait, because another thread calls {@link #take}
     */
    public Interceptor(
            Socket server,
            StartupMessage startup,
            Map<String, String> parameters,
            Transactions transactions,
            boolean isRelayed)
            throws IOException {
        this.isRelayed = isRelayed;
        ClientStatements statements = new ClientStatements();
        this.server = new ServerStream(server);
        this.queue = new ClientQueue(isRelayed);
        this.cancellation = new Cancellation(server);
        this.requests = new Requests(this.server);
        this.answers = new Answers(this.server, requests, statements, transactions, cancellation, block, out);
        this.exchanges = new Exchanges(requests, answers, cancellation);
        TransactionEnds ends =
                new TransactionEnds(transactions, isRelayed, queue, statements, block, requests, exchanges, out);
        this.extended = new ExtendedProtocol(transactions, queue, statements, block, requests, ends, out);
        this.simple = new SimpleProtocol(transactions, queue, statements, block, requests, ends, out);
        this.server.write(startup.with(parameters));
        this.server.flush();
    }

    /** The server's process. */
    public int process() {
        return cancellation.process();
    }

    /** Whether that is what the client was given to cancel its statements by. */
    public boolean isSecret(byte[] told) {
        return cancellation.isSecret(told);
    }

    public Socket socket() {
        return server.socket();
    }

    // -------------------------------------------------------------------------------------------- from the client

    /** Takes a message of the client; {@link #flush} sends it. */
    public void accept(ClientMessage message) throws IOException {
        queue.add(message);
        pump(false);
    }

    /**
     * The client sends no more: behind what it has sent the server is to end the session, which does not wait for the rest of a COPY, and tells of it by {@link #take}.
     */
    public void finish() throws IOException {
        queue.finish();
        pump(false);
        flush();
    }

    /** Sends what was taken. */
    public void flush() throws IOException {
        server.flush();
    }

    /**
     * Handles the client's messages as far as they may be sent. Who takes answers sends no more than the server need not read: it may read nothing before its
     * answers are taken.
     */
    private void pump(boolean taking) throws IOException {
        boolean isBound = taking && isRelayed;
        long most = isBound ? UNREAD_BYTES_MAX : Long.MAX_VALUE;
        boolean any = false;
        for (ClientMessage next = queue.poll(most); next != null; next = queue.poll(most)) {
            any = true;
            most -= next.bytes().length;
            try {
                handle(next, taking);
            } finally {
                queue.handled();
            }
        }
        if (any && taking) {
            server.flush();
        }
        if (isBound && queue.wake() && sending == null) {
            Thread started = new Thread(this::sendMore, "gorda-pipeline-" + process());
            started.setDaemon(true);
            started.start();
            sending = started;
        }
    }

    private void sendMore() {
        try {
            while (queue.awaitWaking()) {
                pump(false);
                server.flush();
            }
        } catch (IOException | RuntimeException | InterruptedException e) {
            close(); // who takes answers is told, and ends the session
        }
    }

    private void handle(ClientMessage message, boolean taking) throws IOException {
        char type = message.type();
        if (!answers.isStarted() || "dcfXH".indexOf(type) >= 0) {
            requests.send(message);
        } else if (type == 'S') {
            queue.endCycle();
            extended.sync(message, taking);
        } else if (extended.isSkipping()) {
            return;
        } else if (type == 'Q') {
            queryAmid(message);
        } else if (type == 'F') {
            simple.call();
        } else {
            queue.beginCycle();
            extended.accept(message);
        }
    }

    /** The server passes over a Query behind what has failed in its cycle, up to Sync: so that is to be known before. */
    private void queryAmid(ClientMessage query) throws IOException {
        if (!queue.isInCycle()) {
            extended.leave();
            simple.query(query);
            return;
        }
        queue.hold();
        requests.sync(() -> {
            if (out.hasFailed()) {
                extended.resume();
            } else {
                extended.leave();
                simple.query(query);
                requests.flush();
                queue.release();
            }
        });
    }

    // ------------------------------------------------------------------------------------------- statements of ours

    /**
     * Executes statements of ours, one after the other, while the client's wait: in the thread that takes, or while that waits.
     *
     * @return the rows of all
     * @throws ServerError if one fails; those behind it are not executed
     */
    public List<List<@Nullable String>> query(OwnStatement... statements) throws IOException, ServerError {
        return exchanges.query(List.of(statements));
    }

    /** Whether the server has not told that it ends the session. To be called where {@link #query} may be. */
    public boolean isAlive() {
        return answers.isAlive() && !queue.isClosed();
    }

    /** Whether the server is in no block, as it has told last. */
    public boolean isIdle() {
        return block.isIdle();
    }

    // ----------------------------------------------------------------------------------------------- to the client

    /**
     * Takes what the client is to read.
     *
     * @return how much it is; -1 at the end
     * @throws IOException if the connection to the server fails; after a time-out of its socket it may be called again
     */
    public int take(byte[] target, int offset, int length) throws IOException {
        try {
            while (out.length() == 0 && !out.isEnding() && !queue.isClosed()) {
                Expected.Step due = requests.takeDue();
                if (due == null) {
                    server.next();
                    answer();
                } else {
                    due.run();
                    pump(true);
                }
            }
        } catch (EOFException e) {
            close();
        } catch (IOException e) {
            if (!queue.isClosed()) {
                throw e;
            }
        }
        while (out.length() < length && !out.isEnding() && !queue.isClosed() && server.nextIfThere()) {
            answer();
        }
        if (out.length() > 0) {
            return out.take(target, offset, length);
        }
        close();
        return -1;
    }

    /** How much the client can read without waiting, at least. */
    public int available() throws IOException {
        while (out.length() == 0 && !queue.isClosed() && server.nextIfThere()) {
            answer();
        }
        return out.length();
    }

    /** Handles the server's message. When that is ready, the client's messages may go on. */
    private void answer() throws IOException {
        if (answers.handle()) {
            pump(true);
        }
    }

    // -------------------------------------------------------------------------------------------- from other threads

    /**
     * Rolls the open transaction back if it is idle, otherwise cancels what the server executes, so that whoever waits for that does.
     *
     * @param isIt whether it is still the transaction that is meant
     * @return whether it is rolled back
     */
    public boolean interrupt(BooleanSupplier isIt) throws IOException {
        boolean isUndone = queue.ifQuiet(() -> {
            boolean isIdle = requests.areAnswered() && block.isRunning() && isIt.getAsBoolean();
            if (isIdle) {
                exchanges.undoUnseen();
                block.fail();
            }
            return isIdle;
        });
        if (!isUndone) {
            cancelNow(isIt);
        }
        return isUndone;
    }

    /**
     * Cancels what the server executes, as the client asks for; not its BEGIN, or what it has sent behind that would be executed without.
     *
     * @param isIt whether it is still what is meant
     */
    public void cancel(BooleanSupplier isIt) throws IOException {
        cancelNow(() -> !block.awaitsQuery() && isIt.getAsBoolean());
    }

    private void cancelNow(BooleanSupplier isIt) throws IOException {
        cancellation.request(() -> !queue.isClosed() && isIt.getAsBoolean());
    }

    /** Waits until what is cancelled has ended: a request must not meet what follows. */
    public void awaitCancelled() {
        cancellation.await();
    }

    /** Closes, and waits until nothing of the session's is done any more but by its own threads. */
    public void end() {
        close();
        Thread ending = sending;
        boolean interrupted = false;
        while (ending != null && ending.isAlive()) {
            try {
                ending.join();
            } catch (InterruptedException e) {
                interrupted = true;
            }
        }
        if (interrupted) {
            Thread.currentThread().interrupt();
        }
    }

    /** Closes the connection to the server, whatever it does. */
    @Override
    public void close() {
        queue.close();
        try {
            server.close();
        } catch (IOException ignored) {
            // It is of no use any more.
        }
    }
}
