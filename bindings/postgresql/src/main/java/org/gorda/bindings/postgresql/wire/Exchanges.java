package org.gorda.bindings.postgresql.wire;

import java.io.IOException;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** Statements of ours on the client's connection, while the client's wait. Confined to who takes answers, but for {@link #undoUnseen}. */
final class Exchanges {

    /** Not kept: before a Query it must not fail. */
    static final OwnStatement BEGIN = OwnStatement.once("BEGIN");

    static final OwnStatement ROLLBACK = OwnStatement.kept("ROLLBACK");

    private final Requests requests;
    private final Answers answers;
    private final Cancellation cancellation;

    Exchanges(Requests requests, Answers answers, Cancellation cancellation) {
        this.requests = requests;
        this.answers = answers;
        this.cancellation = cancellation;
    }

    /**
     * Executes statements, one after the other.
     *
     * @return the rows of all
     * @throws ServerError if one fails; those behind it are not executed
     */
    List<List<@Nullable String>> query(List<OwnStatement> statements) throws IOException, ServerError {
        cancellation.await();
        Exchange exchange = new Exchange();
        requests.own(exchange, statements);
        await(exchange);
        return exchange.rows();
    }

    /** Rolls back what has ended: nobody can mean that by a request to cancel. */
    void rollback() throws IOException, ServerError {
        cancellation.forbid();
        try {
            query(List.of(ROLLBACK));
        } finally {
            cancellation.allow();
        }
    }

    /** Has the server's transaction fail. */
    void fail(String why) throws IOException {
        Exchange exchange = new Exchange();
        requests.fail(exchange, why);
        await(exchange);
    }

    /** Has the server roll back, and leaves the client a transaction that has failed. */
    void undo() throws IOException {
        cancellation.await();
        Exchange exchange = new Exchange();
        requests.undo(exchange);
        await(exchange);
    }

    /** The same; the answers are for who takes them next. */
    void undoUnseen() throws IOException {
        requests.undo(new Exchange());
        requests.sync(Expected.Step.NOTHING);
    }

    /** What is cancelled has ended: a request must not meet what follows. */
    void awaitCancelled() {
        cancellation.await();
    }

    private void await(Exchange exchange) throws IOException {
        requests.sync(exchange::done);
        while (!exchange.isDone()) {
            answers.take();
        }
    }
}
