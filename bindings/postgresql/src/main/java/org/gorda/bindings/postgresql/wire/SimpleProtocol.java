package org.gorda.bindings.postgresql.wire;

import java.io.IOException;
import java.util.List;
import java.util.Set;
import org.gorda.bindings.postgresql.wire.Expected.Step;
import org.gorda.bindings.postgresql.wire.SqlStatement.Kind;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;

/** Handles what a client sends and waits for the end of: queries, of one statement or several, which are one transaction if they are in no other. */
final class SimpleProtocol {

    /** As PostgreSQL's own driver begins a transaction, and sends the first statement with it. Only a request to cancel makes them fail. */
    private static final Set<String> BEGIN_ALONE = Set.of("BEGIN", "BEGIN READ ONLY");

    private final Transactions transactions;
    private final ClientQueue queue;
    private final ClientStatements statements;
    private final Block block;
    private final Requests requests;
    private final TransactionEnds ends;
    private final ClientOutput out;

    /** The query as the client has sent it if it goes to the server as it is, or nothing: positions of errors are those in it. */
    private volatile String whole = "";

    SimpleProtocol(
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

    /** A call of a function by its number. */
    void call() throws IOException {
        queue.endCycle();
        refuse(Refusal.unsupported(
                "a call of a function by its number cannot be replicated, nor can large objects: use SELECT"));
    }

    void query(ClientMessage message) throws IOException {
        List<SqlStatement> query = statements.of(message.text(0));
        if (query.size() == 1
                && !block.isOpen()
                && BEGIN_ALONE.contains(query.get(0).text())) {
            beginAtOnce(message, query.get(0));
            return;
        }
        queue.endCycle();
        for (SqlStatement statement : query) {
            if (statement.kind() == Kind.REFUSED) {
                refuse(statement.refusal());
                return;
            }
        }
        if (query.isEmpty()) {
            requests.send(message, Expected.query(null, false, ends::ready));
        } else {
            boolean isSentAtOnce = query.size() == 1
                    || query.stream().allMatch(statement -> statement.kind().isPlain());
            whole = isSentAtOnce ? message.text(0) : "";
            execute(query, 0);
        }
    }

    private void refuse(Refusal refusal) throws IOException {
        requests.fail(refusal);
        requests.sync(ends::readyAfter);
    }

    /** Executes what a query consists of, from its i-th statement on. */
    private void execute(List<SqlStatement> query, int i) throws IOException {
        SqlStatement statement = query.get(i);
        Step next = next(query, i + 1);
        switch (statement.kind()) {
            case BEGIN -> begin(statement, next);
            case COMMIT, ROLLBACK -> ends.end(statement, then -> send(statement, then), next);
            case SAVEPOINT, RELEASE, ROLLBACK_TO -> {
                if (!block.isOpen() || executing(List.of(statement))) {
                    send(statement, next);
                }
            }
            case SCHEMA, CONSTRAINTS -> {
                if (!block.isOpen()) {
                    ends.openBeforeQuery();
                }
                ends.change(statement, then -> send(statement, then), next);
            }
            default -> plain(query, i);
        }
    }

    private Step next(List<SqlStatement> query, int i) {
        return () -> {
            if (out.hasFailed() || i == query.size()) {
                ends.readyAfter();
            } else {
                execute(query, i);
                requests.flush();
            }
        };
    }

    private void send(SqlStatement statement, Step then) throws IOException {
        send(statement.text(), Expected.query(statement, false, then));
    }

    private void send(String sql, Expected answer) throws IOException {
        requests.query(whole.isEmpty() ? sql : whole, answer);
    }

    /** What fails has failed the client's transaction before it, or is seen to be missing before its commit. */
    private void amid(List<OwnStatement> own) throws IOException {
        for (OwnStatement statement : own) {
            requests.query(statement.sql(), Expected.ownQuery(new Exchange()));
        }
    }

    /** Whether statements may be sent: none of them is refused. */
    private boolean executing(List<SqlStatement> those) throws IOException {
        try {
            for (SqlStatement statement : those) {
                amid(transactions.executing(statement, false));
            }
            return true;
        } catch (RefusedException e) {
            refuse(e.refusal());
            return false;
        }
    }

    /** What the client sends behind it does not wait for its answer. */
    private void beginAtOnce(ClientMessage message, SqlStatement statement) throws IOException {
        transactions.executing(statement, false);
        block.beginByQuery();
        transactions.opening();
        block.openClients();
        requests.send(message, Expected.query(statement, false, ends::begun));
    }

    private void begin(SqlStatement statement, Step next) throws IOException {
        boolean opens = !block.isOpen();
        block.begin();
        transactions.executing(statement, false);
        if (opens) {
            transactions.opening();
        }
        send(statement, () -> {
            if (!out.hasFailed()) {
                block.openClients();
            } else if (opens) {
                transactions.ended(false);
            }
            next.run();
        });
    }

    /** Statements that only read or change rows, together. */
    private void plain(List<SqlStatement> query, int i) throws IOException {
        int end = i;
        boolean needsBlock = false;
        boolean copies = false;
        StringBuilder text = new StringBuilder();
        while (end < query.size() && query.get(end).kind().isPlain()) {
            SqlStatement statement = query.get(end++);
            needsBlock |= statement.needsBlock() || (statement.isQuery() && transactions.mayChange(statement));
            copies |= statement.kind() == Kind.COPY_IN;
            if (statement.kind() == Kind.PASS && KeptStatements.drops(statement.text())) {
                requests.forgetPrepared();
            }
            text.append(text.length() == 0 ? "" : ";\n").append(statement.text());
        }
        boolean isLast = end == query.size();
        if (!block.isOpen() && (needsBlock || !isLast)) {
            ends.openBeforeQuery();
        }
        if (!executing(query.subList(i, end))) {
            return;
        }
        List<OwnStatement> first = Requests.beforeTriggers(whole.isEmpty() ? text : whole);
        if (!first.isEmpty()
                && query.subList(i, end).stream()
                        .anyMatch(statement -> statement.kind().mayChange())) {
            amid(first);
        }
        boolean ending = isLast && block.isOurs();
        boolean endsAtOnce = ending && !copies; // what follows is sent at once
        SqlStatement alone = end - i == 1 ? query.get(i) : null;
        SqlStatement dropping = alone != null && KeptStatements.drops(alone.text()) ? alone : null;
        send(text.toString(), Expected.query(dropping, ending, endsAtOnce ? Step.NOTHING : next(query, end)));
        if (endsAtOnce) {
            ends.endOurs();
        }
    }
}
