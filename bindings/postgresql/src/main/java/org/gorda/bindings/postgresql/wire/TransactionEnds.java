package org.gorda.bindings.postgresql.wire;

import java.io.IOException;
import java.sql.SQLException;
import java.util.List;
import org.gorda.bindings.postgresql.wire.Expected.Step;
import org.gorda.bindings.postgresql.wire.SqlStatement.Kind;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.jspecify.annotations.Nullable;

/**
 * What is done where a transaction ends, by the client or because we have opened its block, and around what changes the schema. Begun by who handles the
 * client's messages; what waits for the server is gone on with by who takes its answers.
 */
final class TransactionEnds {

    private static final SqlStatement COMMIT = new SqlStatement(Kind.COMMIT, "COMMIT", "");

    private final Transactions transactions;
    private final boolean isRelayed;
    private final ClientQueue queue;
    private final ClientStatements statements;
    private final Block block;
    private final Requests requests;
    private final Exchanges exchanges;
    private final ClientOutput out;

    /** Sends a statement of the client and what makes the server ready behind it. */
    interface Sending {
        void run(Step then) throws IOException;
    }

    /** What may be refused. */
    private interface Attempt {
        void run() throws SQLException, IOException;
    }

    /** @param isRelayed whether one thread sends and another one takes */
    TransactionEnds(
            Transactions transactions,
            boolean isRelayed,
            ClientQueue queue,
            ClientStatements statements,
            Block block,
            Requests requests,
            Exchanges exchanges,
            ClientOutput out) {
        this.transactions = transactions;
        this.isRelayed = isRelayed;
        this.queue = queue;
        this.statements = statements;
        this.block = block;
        this.requests = requests;
        this.exchanges = exchanges;
        this.out = out;
    }

    /** Opens a block for a statement that the client would have executed without one. */
    void open() throws IOException {
        transactions.opening();
        Exchange begin = new Exchange();
        requests.own(begin, List.of(Exchanges.BEGIN));
        block.openOurs(begin);
    }

    /** The same before a Query, which the server would pass over behind an error of what precedes it. */
    void openBeforeQuery() throws IOException {
        transactions.opening();
        Exchange begin = new Exchange();
        requests.query(Exchanges.BEGIN.sql(), Expected.ownQuery(begin));
        block.openOurs(begin);
    }

    /** Has the client's COMMIT or ROLLBACK executed, after what must be done before. */
    void end(SqlStatement statement, Sending itself, Step then) throws IOException {
        if (block.isOurs() && statement.chains()) {
            requests.sync(() -> endUnchained(statement, then));
            return;
        }
        boolean isOpen = block.isOpen();
        boolean commits = statement.kind() == Kind.COMMIT && !block.hasFailed();
        if (isOpen && commits && transactions.mayHaveChanged()) {
            beforeCommit(statement, true, then);
            return;
        }
        itself.run(() -> {
            if (isOpen) {
                ended(commits);
            }
            then.run();
        });
        requests.flush();
    }

    /** AND CHAIN is for the client's own blocks: the server refuses it outside of one. */
    private void endUnchained(SqlStatement statement, Step then) throws IOException {
        if (!out.hasFailed()) {
            ServerError unopened = block.unopened();
            rollback();
            if (unopened != null) {
                fail(unopened);
            } else {
                attempt(() -> exchanges.query(List.of(OwnStatement.once(statement.text()))));
            }
        }
        then.run();
    }

    private void ended(boolean commits) {
        if (!out.hasFailed() || block.isIdle()) {
            transactions.ended(commits && !out.hasFailed());
            exchanges.awaitCancelled();
            settle();
        }
    }

    /** A transaction has ended; after AND CHAIN there is a new one. */
    private void settle() {
        statements.dropPortals();
        block.settle();
        if (block.isOpen() && !out.hasFailed()) {
            transactions.chained();
        }
    }

    /** Ends the block that we have opened; then the client is told that the server is ready. */
    void endOurs() throws IOException {
        beforeCommit(COMMIT, false, this::ready);
    }

    /** Has the server tell what the transaction has changed, and commit from now on. */
    private void beforeCommit(SqlStatement statement, boolean isClients, Step then) throws IOException {
        Exchange told = new Exchange();
        List<OwnStatement> before = transactions.beforeCommit();
        Step commits = () -> commit(statement, isClients, told, !before.isEmpty(), then);
        if (!before.isEmpty()) {
            requests.own(told, before);
        } else if (!isRelayed && requests.later(commits)) {
            return;
        }
        requests.sync(commits);
    }

    /** Commits, unless something has failed; {@code isClients} if the client has asked for it in these words. */
    private void commit(SqlStatement statement, boolean isClients, Exchange told, boolean tells, Step then)
            throws IOException {
        if (out.hasFailed() && isClients) {
            then.run(); // the client's block has failed before, and is for the client to end
            return;
        }
        ServerError unopened = block.unopened();
        if (out.hasFailed() || block.hasFailed() || unopened != null) {
            if (!out.hasFailed()) {
                fail(unopened == null ? told.error() : unopened);
            }
            rollback();
        } else {
            attempt(() -> {
                List<List<@Nullable String>> rows = told.rows();
                if (tells && rows.isEmpty()) {
                    throw new SQLException("the server has passed over what precedes a commit", "08P01");
                }
                Refusal refusal = transactions.commit(statement.chains() ? "COMMIT AND CHAIN" : "COMMIT", rows);
                if (queue.isClosed()) {
                    block.leave();
                }
                if (refusal != null) {
                    out.refuse(refusal);
                } else if (isClients) {
                    out.complete("COMMIT");
                } else {
                    out.passCompletion();
                }
            });
            out.dropCompletion();
            settle();
        }
        then.run();
    }

    /** The server is ready: the client is told so, when what we have opened is closed. */
    void readyAfter() throws IOException {
        if (!block.isOurs()) {
            ready();
        } else if (out.hasFailed()) {
            rollback();
            ready();
        } else {
            endOurs();
        }
    }

    /** Rolls back the block that the server is in, if it is: it has passed over our BEGIN behind a statement that it could not parse. */
    void rollback() throws IOException {
        transactions.ended(false);
        try {
            if (!block.isIdle()) {
                exchanges.rollback();
            }
        } catch (ServerError e) {
            throw new IOException("a transaction cannot be rolled back", e);
        }
        out.dropCompletion();
        statements.dropPortals();
        block.settle();
    }

    /**
     * The server has answered a BEGIN, behind which the client may have sent more already. If it was cancelled, what changes something there is refused by
     * the triggers, because it is in no block.
     */
    void begun() throws IOException {
        block.begunByQuery();
        queue.ifQuiet(() -> {
            if (block.isIdle()) {
                block.settle();
            }
            return true;
        });
        out.ready(block.status());
    }

    /** Tells the client that the server is ready. What it has sent since may go on. */
    void ready() throws IOException {
        ServerError unopened = block.unopened();
        if (unopened != null && !out.hasFailed()) {
            fail(unopened);
        }
        if (block.awaitsBegin() && !block.isIdle()) {
            rollback(); // the server has passed over the client's BEGIN: the block is still ours
        }
        if (!block.isIdle() && transactions.isRefused()) {
            transactions.undone();
            exchanges.undo();
        }
        if (block.isIdle()) {
            if (block.isOpen()) {
                transactions.ended(false);
            }
            statements.dropPortals();
        }
        statements.settle();
        block.settle();
        out.ready(block.status());
        queue.ready();
    }

    // --------------------------------------------------------------------------------------------------- the schema

    /** Has a statement executed that changes the schema, or when constraints are checked, between what must be done before it and after it. */
    void change(SqlStatement statement, Sending itself, Step then) throws IOException {
        requests.sync(() -> changeNow(statement, itself, then));
    }

    private void changeNow(SqlStatement statement, Sending itself, Step then) throws IOException {
        ServerError unopened = block.unopened();
        if (!out.hasFailed() && unopened != null) {
            fail(unopened);
        }
        if (out.hasFailed()) {
            then.run();
        } else if (block.hasFailed()) {
            itself.run(then); // the server refuses it by itself
            requests.flush();
        } else if (attempt(() -> transactions.changing(statement))) {
            itself.run(() -> {
                if (!out.hasFailed()) {
                    attempt(() -> transactions.changed(statement));
                }
                then.run();
            });
            requests.flush();
        } else {
            then.run();
        }
    }

    // ----------------------------------------------------------------------------------------------------- refusals

    /** What fails fails the server's transaction, and the client is told. */
    private boolean attempt(Attempt work) throws IOException {
        try {
            work.run();
            return true;
        } catch (ServerError e) {
            fail(e);
        } catch (SQLException e) {
            throw new IOException(e);
        } catch (RefusedException e) {
            exchanges.fail("refused: " + e.refusal().message());
            out.refuse(e.refusal());
        }
        return false;
    }

    private void fail(@Nullable ServerError error) {
        Refusal refusal = transactions.takeRefusal();
        if (refusal == null && error != null && Answers.NO_VALUE.equals(error.getSQLState())) {
            refusal = transactions.valueRefused(String.valueOf(error.getMessage()));
        }
        if (refusal != null) {
            out.refuse(refusal);
        } else if (error != null) {
            out.fail(error.message());
        }
    }
}
