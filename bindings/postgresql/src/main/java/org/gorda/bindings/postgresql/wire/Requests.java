package org.gorda.bindings.postgresql.wire;

import java.io.IOException;
import java.util.Deque;
import java.util.List;
import java.util.concurrent.ConcurrentLinkedDeque;
import org.gorda.bindings.postgresql.wire.Expected.Part;
import org.gorda.gapi.Refusal;
import org.jspecify.annotations.Nullable;

/**
 * What the server is sent, and the answers that it owes for that, which are noted before. Who sends is one at a time, and so is who takes answers; they may
 * be two.
 */
final class Requests {

    private static final OwnStatement IS_LONG =
            OwnStatement.kept("SELECT pg_catalog.set_config('gorda.long', 't', true)");

    /** The server's limit for names; what a failing message is called appears in its log. */
    private static final int FAILING_MAX = 60;

    private final ServerStream server;
    private final KeptStatements kept = new KeptStatements();
    private final Deque<Expected> expected = new ConcurrentLinkedDeque<>();
    private volatile Expected.@Nullable Step due;

    Requests(ServerStream server) {
        this.server = server;
    }

    // ------------------------------------------------------------------------------------------------------- sending

    /** Sends a message that is not answered. */
    void send(ClientMessage message) throws IOException {
        server.write(message.bytes());
    }

    void send(ClientMessage message, Expected answer) throws IOException {
        expected.add(answer);
        server.write(message.bytes());
    }

    void query(String sql, Expected answer) throws IOException {
        expected.add(answer);
        server.write(new MessageBuffer().query(sql));
    }

    /** Has the server answer all, and then be ready. */
    void sync(Expected.Step then) throws IOException {
        expected.add(Expected.sync(then));
        server.write(new MessageBuffer().sync());
        server.flush();
    }

    /**
     * Has the client's next message fail with a refusal, where it would have been executed. The server's transaction fails with it, and it
     * passes over what follows, up to Sync.
     */
    void fail(Refusal refusal) throws IOException {
        expected.add(Expected.failing(refusal));
        fail("refused: " + refusal.message());
    }

    /** Has the server's transaction fail. */
    void fail(Exchange exchange, String why) throws IOException {
        expected.add(Expected.own(Part.EXECUTE, exchange, ""));
        fail(why);
    }

    /** There is no portal of that name. */
    private void fail(String why) throws IOException {
        String name = why.replace('\0', ' ').substring(0, Math.min(FAILING_MAX, why.length()));
        server.write(new MessageBuffer().execute(name));
    }

    /** Has statements of ours executed, up to one that fails. */
    void own(Exchange exchange, List<OwnStatement> statements) throws IOException {
        MessageBuffer messages = new MessageBuffer();
        for (OwnStatement statement : statements) {
            String name = kept.name(statement);
            messages.close('P', KeptStatements.NAME);
            expected.add(Expected.own(Part.CLOSE, exchange, ""));
            if (!kept.isPrepared(name)) {
                messages.close('S', name).parse(name, statement.sql(), List.of());
                expected.add(Expected.own(Part.CLOSE, exchange, ""));
                expected.add(Expected.own(Part.PARSE, exchange, name));
            }
            messages.bind(KeptStatements.NAME, name, statement.parameters()).execute(KeptStatements.NAME);
            expected.add(Expected.own(Part.BIND, exchange, ""));
            expected.add(Expected.own(Part.EXECUTE, exchange, ""));
        }
        messages.close('P', KeptStatements.NAME); // COPY FREEZE wants to be alone
        expected.add(Expected.own(Part.CLOSE, exchange, ""));
        server.write(messages);
    }

    /** Binds a portal of the client to a statement of ours in place of its own. Without effect, and false, if there are too many of those. */
    boolean bind(ClientMessage message, Substitute substitute, List<Integer> types) throws IOException {
        String name = kept.name(substitute.sql(), types);
        if (name == null) {
            return false;
        }
        MessageBuffer messages = new MessageBuffer();
        if (!kept.isPrepared(name)) {
            messages.close('S', name).parse(name, substitute.sql(), types);
            expected.add(Expected.unseen(Part.CLOSE, ""));
            expected.add(Expected.unseen(Part.PARSE, name));
        }
        int parameters = message.textEnd(message.textEnd(0));
        messages.bind(message.text(0), name, message.content(parameters, message.resultFormats(parameters)));
        expected.add(Expected.of(Part.BIND));
        server.write(messages);
        return true;
    }

    /** Has all of a portal executed. */
    void executeAll(String portal, Expected answer) throws IOException {
        expected.add(answer);
        server.write(new MessageBuffer().execute(portal));
    }

    /** What comes before statements whose changes triggers tell of, and nothing that returns its rows behind them, in their transaction. */
    static List<OwnStatement> beforeTriggers(CharSequence text) {
        return SqlStatement.isLong(text) ? List.of(IS_LONG) : List.of();
    }

    /** Has statements of ours executed in the midst of the client's, who is told if one fails. */
    void amid(List<OwnStatement> statements) throws IOException {
        if (statements.isEmpty()) {
            return;
        }
        MessageBuffer messages = new MessageBuffer();
        for (OwnStatement statement : statements) {
            messages.close('P', KeptStatements.NAME)
                    .close('S', KeptStatements.NAME)
                    .parse(KeptStatements.NAME, statement.sql(), List.of())
                    .bind(KeptStatements.NAME, KeptStatements.NAME, statement.parameters())
                    .execute(KeptStatements.NAME)
                    .close('P', KeptStatements.NAME);
            for (Part part : List.of(Part.CLOSE, Part.CLOSE, Part.PARSE, Part.BIND, Part.EXECUTE, Part.CLOSE)) {
                expected.add(Expected.unseen(part, KeptStatements.NAME));
            }
        }
        server.write(messages);
    }

    /** Frees the locks and leaves the client's transaction failed, as the client will be told. */
    void undo(Exchange exchange) throws IOException {
        own(exchange, List.of(Exchanges.ROLLBACK, Exchanges.BEGIN));
        fail(exchange, "refused, see its client");
    }

    /**
     * Has something done when what is to be read is taken next. To be called where one thread sends and takes.
     *
     * @return false if answers are owed, which must be taken before
     */
    boolean later(Expected.Step step) {
        boolean isAnswered = expected.isEmpty();
        if (isAnswered) {
            due = step;
        }
        return isAnswered;
    }

    /** What is to be done now; null if nothing is. */
    Expected.@Nullable Step takeDue() {
        Expected.Step step = due;
        due = null;
        return step;
    }

    void flush() throws IOException {
        server.flush();
    }

    // ------------------------------------------------------------------------------------------------------- answers

    /** The answer that is owed first. */
    @Nullable
    Expected head() {
        return expected.peek();
    }

    /** Takes the answer that is owed first, and comes. */
    Expected pop() throws IOException {
        Expected head = expected.poll();
        if (head == null) {
            throw new IOException("the server answers '" + server.type() + "', which nobody has asked for");
        }
        return head;
    }

    /** After an error the server passes over what was sent, up to where it is ready again. */
    void passOver() {
        for (Expected head = expected.peek(); head != null && !head.part().endsErrors(); head = expected.peek()) {
            expected.remove();
        }
    }

    /** The server has prepared a statement of ours. */
    void prepared(Expected answered) {
        kept.prepared(answered.name());
    }

    /** Statements of ours may not be prepared any more. */
    void forgetPrepared() {
        kept.forget();
    }

    boolean areAnswered() {
        return expected.isEmpty();
    }
}
