package org.gorda.bindings.postgresql.wire;

import java.io.IOException;
import java.util.List;
import org.gorda.bindings.postgresql.wire.Expected.Part;
import org.gorda.bindings.postgresql.wire.SqlStatement.Kind;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;

/** Handles what a client sends between two Syncs: statements are prepared, bound and executed, many before the first answer. */
final class ExtendedProtocol {

    private final Transactions transactions;
    private final ClientQueue queue;
    private final ClientStatements statements;
    private final Block block;
    private final Requests requests;
    private final TransactionEnds ends;
    private final ClientOutput out;

    /** The client's messages up to Sync are passed over, as the server would. */
    private volatile boolean skipping;

    /** Nothing was sent since the server was ready last. */
    private volatile boolean synced;

    ExtendedProtocol(
            Transactions transactions,
            ClientQueue queue,
            ClientStatements statements,
            Block block,
            Requests requests,
            TransactionEnds ends,
            ClientOutput out) {
        this.transactions = transactions;
        this.queue = queue;
        this.statements = statements;
        this.block = block;
        this.requests = requests;
        this.ends = ends;
        this.out = out;
    }

    boolean isSkipping() {
        return skipping;
    }

    /** The client goes on by the other protocol. */
    void leave() {
        synced = false;
        skipping = false;
    }

    void accept(ClientMessage message) throws IOException {
        synced = false;
        switch (message.type()) {
            case 'P' -> parse(message);
            case 'B' -> bind(message);
            case 'E' -> execute(message);
            case 'D' -> requests.send(message, described(message));
            case 'C' -> requests.send(message, closed(message));
            default -> throw new IOException("a client sent a message of type " + message.type());
        }
    }

    private void parse(ClientMessage message) throws IOException {
        String name = message.text(0);
        SqlStatement statement = statements.parse(name, message.text(message.textEnd(0)), types(message));
        if (statement.kind() == Kind.REFUSED) {
            requests.fail(statement.refusal());
        } else {
            requests.send(message, Expected.named(Part.PARSE, name, statement));
        }
    }

    private static List<Integer> types(ClientMessage parse) {
        return parse.numbers(parse.textEnd(parse.textEnd(0)));
    }

    private void bind(ClientMessage message) throws IOException {
        SqlStatement statement = statements.bind(message.text(0), message.text(message.textEnd(0)));
        boolean needsBlock = statement.needsBlock() || (statement.isQuery() && transactions.mayChange(statement));
        if (!block.isOpen() && needsBlock) {
            ends.open();
        }
        Substitute substitute = transactions.substitute(statement);
        if (substitute != null && requests.bind(message, substitute, statement.parameterTypes())) {
            statements.substitute(message.text(0), substitute);
        } else {
            requests.send(message, Expected.of(Part.BIND));
        }
    }

    /** A portal that returns rows only to us returns none to the client. */
    private Expected described(ClientMessage message) {
        boolean isReplaced = message.at(0) == 'P' && statements.substitute(message.text(1)) != null;
        return isReplaced ? Expected.unseen(Part.DESCRIBE, "") : Expected.of(Part.DESCRIBE);
    }

    private static Expected closed(ClientMessage message) {
        return message.at(0) == 'S'
                ? Expected.named(Part.CLOSE, message.text(1), null)
                : Expected.of(Part.CLOSE_PORTAL);
    }

    private void execute(ClientMessage message) throws IOException {
        SqlStatement statement = statements.bound(message.text(0));
        Expected answer = Expected.named(Part.EXECUTE, "", statement);
        TransactionEnds.Sending itself = then -> {
            requests.send(message, answer);
            requests.sync(then);
        };
        switch (statement.kind()) {
            case COPY_IN ->
                requests.fail(
                        Refusal.unsupported("COPY FROM STDIN is executed by the simple protocol only: as a Query"));
            case BEGIN -> {
                transactions.executing(statement, false);
                block.begin();
                if (!block.isOpen()) {
                    transactions.opening();
                }
                block.openClients();
                requests.send(message, answer);
            }
            case COMMIT, ROLLBACK -> {
                if (block.isOpen()) {
                    queue.hold();
                    ends.end(statement, itself, this::resume);
                } else {
                    requests.send(message, answer);
                }
            }
            case SCHEMA, CONSTRAINTS -> {
                queue.hold();
                ends.change(statement, itself, this::resume);
            }
            default -> {
                try {
                    Substitute substitute = statements.substitute(message.text(0));
                    requests.amid(transactions.executing(statement, substitute != null));
                    if (substitute == null && statement.kind().mayChange()) {
                        requests.amid(Requests.beforeTriggers(statement.text()));
                    }
                    if (statement.kind() == Kind.PASS && KeptStatements.drops(statement.text())) {
                        requests.forgetPrepared();
                    }
                    if (statement.kind() == Kind.ROLLBACK_TO) {
                        block.goBack();
                    }
                    if (substitute == null) {
                        requests.send(message, answer);
                    } else {
                        requests.executeAll(message.text(0), answer.without(substitute.rows()));
                    }
                } catch (RefusedException e) {
                    requests.fail(e.refusal());
                }
            }
        }
    }

    /** Goes on with the client's messages, in the thread that takes. */
    void resume() throws IOException {
        if (out.hasFailed()) {
            skipping = true;
            if (block.isOurs()) {
                ends.rollback();
            }
        }
        synced = true;
        queue.release();
    }

    /** @param taking whether this is the thread that takes what the client is to read */
    void sync(ClientMessage message, boolean taking) throws IOException {
        skipping = false;
        if (block.isOurs()) {
            ends.endOurs();
        } else if (synced && taking) {
            ends.ready();
        } else {
            requests.send(message, Expected.sync(ends::ready));
        }
    }
}
