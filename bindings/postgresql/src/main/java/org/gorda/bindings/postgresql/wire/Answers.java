package org.gorda.bindings.postgresql.wire;

import java.io.IOException;
import java.util.Set;
import org.gorda.bindings.postgresql.wire.Expected.Part;
import org.gorda.bindings.postgresql.wire.SqlStatement.Kind;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.jspecify.annotations.Nullable;

/**
 * Takes what the server sends: an answer to the client, who is to read it, or to us, or news. Confined to who takes what the client is to read, and to who
 * answers a commit meanwhile.
 */
final class Answers {

    /** What it says to a BEGIN in a block. */
    private static final String ALREADY_BEGUN = "25001";

    /** A sequence has come to its end. */
    static final String NO_VALUE = "2200H";

    /** Of a unique key, and of what a constraint excludes. */
    private static final Set<String> KEY_IS_THERE = Set.of("23505", "23P01");

    private static final String STANDBY = "in_hot_standby";

    private final ServerStream server;
    private final Requests requests;
    private final ClientStatements statements;
    private final Transactions transactions;
    private final Cancellation cancellation;
    private final Block block;
    private final ClientOutput out;

    /** The server has let the client in. */
    private volatile boolean started;

    /** The server has ended the session. */
    private volatile boolean isDead;

    private boolean isPolling;

    Answers(
            ServerStream server,
            Requests requests,
            ClientStatements statements,
            Transactions transactions,
            Cancellation cancellation,
            Block block,
            ClientOutput out) {
        this.server = server;
        this.requests = requests;
        this.statements = statements;
        this.transactions = transactions;
        this.cancellation = cancellation;
        this.block = block;
        this.out = out;
    }

    /** Whether the server has let the client in. */
    boolean isStarted() {
        return started;
    }

    /**
     * Waits for a message and handles it.
     *
     * @return whether it says that the server is ready
     */
    boolean take() throws IOException {
        server.next();
        return handle();
    }

    /** Whether the server has not told that it ends the session. */
    boolean isAlive() {
        isPolling = true;
        try {
            while (!isDead && server.nextIfThere()) {
                handle();
            }
        } catch (IOException e) {
            isDead = true;
        } finally {
            isPolling = false;
        }
        return !isDead;
    }

    /** Handles the message that has come; as {@link #take}. */
    boolean handle() throws IOException {
        char type = server.type();
        if (!started) {
            start(type);
            return false;
        }
        switch (type) {
            case 'A' -> out.copy(server);
            case 'S' -> setting();
            case 'N' -> notice();
            case 'E' -> error();
            case 'Z' -> ready();
            case '1' -> parsed(requests.pop());
            case '3' -> closed(requests.pop());
            case '2', 's' -> pass(requests.pop());
            case 'n', 'T' -> described();
            case 'C', 'I' -> completed();
            case 'D' -> row();
            default -> pass(requests.head());
        }
        return type == 'Z';
    }

    private void start(char type) {
        if (type == 'S') {
            setting();
            return;
        }
        if (type == 'K') {
            cancellation.told(server.content());
        }
        started = type == 'Z';
        out.copy(server);
    }

    // ----------------------------------------------------------------------------------------------------------- news

    private void setting() {
        String[] texts = server.texts();
        statements.setting(texts[0], texts[1]);
        if (texts[0].equals(STANDBY) && !transactions.takesWrites()) {
            // By this a driver that is given the addresses of all replicas finds the one to write to.
            out.setting(STANDBY, "on");
        } else {
            out.copy(server);
        }
    }

    private void notice() {
        if (block.isAdopted() && server.isField('C', ALREADY_BEGUN)) {
            return;
        }
        if (!server.isField('C', "GW001") || !tellsOfRows()) {
            out.copy(server);
            return;
        }
        try {
            transactions.told(String.valueOf(server.field('M')));
        } catch (RefusedException e) {
            transactions.refuse(e.refusal());
        }
    }

    /** Only while the session is listened to do triggers tell of rows; in what else a client executes, such a notice is its own. */
    private boolean tellsOfRows() {
        Expected head = requests.head();
        if (head == null || head.exchange() != null) {
            return head != null;
        }
        SqlStatement statement = head.statement();
        return statement != null && (statement.kind() == Kind.SCHEMA || statement.kind() == Kind.CONSTRAINTS);
    }

    // -------------------------------------------------------------------------------------------------------- answers

    private void pass(@Nullable Expected answered) {
        if (answered == null || answered.isClients()) {
            out.pass(server);
        }
    }

    private void described() throws IOException {
        Expected head = requests.head();
        if (head == null || head.part() != Part.DESCRIBE) {
            if (head == null || head.rows() == null) {
                pass(head);
            }
            return;
        }
        if (requests.pop().rows() == null) {
            pass(head);
        } else {
            out.noData();
        }
    }

    private void parsed(Expected answered) {
        SqlStatement statement = answered.statement();
        if (statement != null) {
            statements.parsed(answered.name(), statement);
        } else if (!answered.isClients()) {
            requests.prepared(answered);
        }
        pass(answered);
    }

    private void closed(Expected answered) {
        if (answered.isClients() && answered.part() == Part.CLOSE) {
            statements.closed(answered.name());
        }
        pass(answered);
    }

    private void row() {
        Expected head = requests.head();
        Exchange exchange = head == null ? null : head.exchange();
        if (exchange != null) {
            exchange.row(server.row());
            return;
        }
        Substitute.Rows rows = head == null ? null : head.rows();
        if (rows == null) {
            out.pass(server);
            return;
        }
        take(() -> rows.row(server.row()));
    }

    private void take(Runnable told) {
        try {
            told.run();
        } catch (RefusedException e) {
            transactions.refuse(e.refusal());
        }
    }

    private void completed() throws IOException {
        Expected head = requests.head();
        if (head == null || head.part() != Part.QUERY) {
            head = requests.pop();
        }
        SqlStatement statement = head.statement();
        if (head.exchange() == null && statement != null) {
            Refusal refusal = statement.kind() == Kind.COMMIT && server.texts()[0].equals("ROLLBACK")
                    ? transactions.takeRefusal()
                    : null;
            if (refusal != null) {
                out.refuse(refusal);
                return;
            }
            if (head.rows() != null) {
                take(head.rows()::end);
            }
            if (statement.kind() == Kind.BEGIN) {
                block.begun();
            }
            take(() -> transactions.executed(statement));
        }
        if (server.at(0) == 'D' && KeptStatements.drops(server.texts()[0])) {
            requests.forgetPrepared();
            statements.dropped(server.texts()[0], statement);
        }
        if (head.holdsCompletion()) {
            out.holdCompletion(server);
        } else {
            pass(head);
        }
    }

    private void error() {
        Expected head = requests.head();
        boolean isFatal = server.isField('V', "FATAL") || server.isField('V', "PANIC");
        Exchange exchange = head == null ? null : head.exchange();
        isDead |= isFatal;
        requests.passOver();
        if (exchange != null) {
            requests.forgetPrepared();
            exchange.failed(new ServerError(
                    String.valueOf(server.field('M')), String.valueOf(server.field('C')), server.copy()));
            return;
        }
        if (isFatal && isPolling) {
            return;
        }
        out.passCompletion();
        if (KEY_IS_THERE.contains(String.valueOf(server.field('C')))) {
            transactions.keyIsThere(String.valueOf(server.field('s')), String.valueOf(server.field('t')));
        }
        Refusal refusal = transactions.takeRefusal();
        if (refusal == null && server.isField('C', NO_VALUE)) {
            refusal = transactions.valueRefused(String.valueOf(server.field('M')));
        }
        if (refusal == null && head != null) {
            refusal = head.refusal();
        }
        ServerError unopened = block.unopened();
        if (refusal == null && unopened != null && !isFatal) {
            out.fail(unopened.message());
        } else if (refusal == null || isFatal) {
            out.fail(server.copy());
        } else {
            out.refuse(refusal);
        }
    }

    private void ready() throws IOException {
        Expected answered = requests.pop();
        while (!answered.part().endsErrors()) {
            answered = requests.pop(); // the server has passed over it after an error
        }
        block.told(server.at(0));
        answered.then().run();
    }
}
