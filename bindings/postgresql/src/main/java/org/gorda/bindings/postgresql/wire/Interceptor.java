package org.gorda.bindings.postgresql.wire;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.sql.SQLException;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.Condition;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import org.gorda.bindings.postgresql.wire.Expected.Part;
import org.gorda.bindings.postgresql.wire.SqlStatement.Kind;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.jspecify.annotations.Nullable;

/**
 * Stands between a client and its server and has all that the client does done in transaction blocks, whose ends it leaves to {@link Transactions}. One
 * thread gives what the client sends, one (it may be the same) takes what the client is to read: that one also ends transactions, when the server has
 * answered what precedes. After what ends a cycle of the protocol (Query, Sync) and after what ends a transaction, what the client sends waits until that
 * is done: up to a bound.
 *
 * <p>The server commits changed rows only after statements of ours; so what the lexer does not see to be the end of a transaction fails there, and
 * nothing is committed that was not told.
 */
public final class Interceptor implements AutoCloseable {

    /** What waits to be sent at most, if somebody else can take it meanwhile. */
    /** What a server reports that only follows another one. */
    private static final String STANDBY = "in_hot_standby";

    private static final int QUEUED_BYTES_MAX = 1 << 20;

    /** The same if nobody else can. */
    private static final int PIPELINED_BYTES_MAX = 64 << 20;

    private static final int CANCEL_TIMEOUT_MILLIS = 5_000;

    /** The server's limit for names; what a failing message is called appears in its log. */
    private static final int FAILING_MAX = 60;

    private static final Set<String> ENCODINGS = Set.of("UTF8", "SQL_ASCII");
    private static final char IDLE = 'I';
    private static final char OPEN = 'T';
    private static final char FAILED = 'E';

    private static final SqlStatement UNKNOWN = new SqlStatement(Kind.CALL, "", "");

    private final ServerStream server;
    private final Transactions transactions;
    private final List<String> beforeCommit;
    private final boolean waitsForRoom;

    /** For the client. Confined to who takes it, and to who answers a commit meanwhile. */
    private final MessageBuffer out = new MessageBuffer();

    private final PreparedStatements prepared = new PreparedStatements();
    private final OwnStatements own;

    private final ReentrantLock lock = new ReentrantLock();
    private final Condition changed = lock.newCondition();

    // ------------------------------------------------------------------------------------------- guarded by the lock
    private final Deque<ClientMessage> queue = new ArrayDeque<>();
    private final Deque<Expected> expected = new ArrayDeque<>();
    private int queuedBytes;

    /** Somebody handles a client's message. */
    private boolean pumping;

    /** The client's messages wait for the thread that takes. */
    private boolean held;

    /** The cycle's last message was sent. */
    private boolean awaitsReady;

    /** The client has sent messages that no Sync has followed yet. */
    private boolean inCycle;

    private int cancelling;
    private boolean closed;

    // --------------------------------------------------------- written by who handles or takes, one behind the other
    private volatile boolean started;
    private volatile boolean inBlock;

    /** Whether the client has opened the block, and not we for a statement of its own. */
    private volatile boolean explicit;

    /** As the server has told last. */
    private volatile char status = IDLE;

    private volatile boolean standardStrings = true;
    private volatile String encoding = "UTF8";
    private volatile int process;
    private volatile byte[] secret = new byte[0];

    // ------------------------------------------------------------------------------------ confined to who takes
    /** Whether the client was told of an error in this cycle. */
    private volatile boolean failed;

    /** The client's messages up to Sync are passed over, as the server would. */
    private volatile boolean skipping;

    /** Nothing was sent since the server was ready last. */
    private volatile boolean synced;

    private byte @Nullable [] completion;
    private boolean closesWhenTaken;

    /** The server has ended the session. */
    private volatile boolean isDead;

    private boolean isPolling;

    /**
     * Begins between a client and a server, to which nothing was sent yet.
     *
     * @param beforeCommit statements by which the server tells of what has changed, and commits only then
     * @param waitsForRoom whether {@link #accept} may wait, because another thread calls {@link #take}
     */
    public Interceptor(
            Socket server,
            StartupMessage startup,
            java.util.Map<String, String> parameters,
            Transactions transactions,
            List<String> beforeCommit,
            boolean waitsForRoom)
            throws IOException {
        this.server = new ServerStream(server);
        this.transactions = transactions;
        this.beforeCommit = List.copyOf(beforeCommit);
        this.waitsForRoom = waitsForRoom;
        // Not BEGIN: before a Query it must not fail.
        List<String> repeated = new ArrayList<>(List.of("COMMIT", "ROLLBACK"));
        repeated.addAll(beforeCommit);
        this.own = new OwnStatements(repeated);
        this.server.write(startup.with(parameters));
        this.server.flush();
    }

    /** The server's process. */
    public int process() {
        return process;
    }

    /** Whether that is what the client was given to cancel its statements by. */
    public boolean isSecret(byte[] told) {
        return java.security.MessageDigest.isEqual(secret, told);
    }

    public Socket socket() {
        return server.socket();
    }

    // -------------------------------------------------------------------------------------------- from the client

    /** Takes a message of the client; {@link #flush} sends it. */
    public void accept(ClientMessage message) throws IOException {
        lock.lock();
        try {
            while (waitsForRoom && queuedBytes > QUEUED_BYTES_MAX && !closed) {
                changed.awaitUninterruptibly();
            }
            if (queuedBytes > PIPELINED_BYTES_MAX) {
                throw new IOException(
                        "a client has sent " + queuedBytes + " bytes behind the end of a transaction, without reading");
            }
            queue.add(message);
            queuedBytes += message.bytes().length;
        } finally {
            lock.unlock();
        }
        pump(false);
    }

    /** Sends what was taken. */
    public void flush() throws IOException {
        server.flush();
    }

    /** Handles the client's messages as far as they may be sent. */
    private void pump(boolean taking) throws IOException {
        boolean any = false;
        for (ClientMessage next = poll(); next != null; next = poll()) {
            any = true;
            try {
                handle(next, taking);
            } finally {
                pumped();
            }
        }
        if (any && taking) {
            server.flush();
        }
    }

    private @Nullable ClientMessage poll() {
        lock.lock();
        try {
            ClientMessage first = queue.peek();
            if (first == null || pumping || held || (awaitsReady && "dcfX".indexOf(first.type()) < 0)) {
                return null;
            }
            pumping = true;
            queue.remove();
            queuedBytes -= first.bytes().length;
            changed.signalAll();
            return first;
        } finally {
            lock.unlock();
        }
    }

    private void pumped() {
        lock.lock();
        try {
            pumping = false;
        } finally {
            lock.unlock();
        }
    }

    private void handle(ClientMessage message, boolean taking) throws IOException {
        char type = message.type();
        if (!started || "dcfXH".indexOf(type) >= 0) {
            server.write(message.bytes());
            return;
        }
        if (type == 'S') {
            sync(message, taking);
            return;
        }
        if (type == 'Q') {
            endCycle();
            query(message);
            return;
        }
        if (skipping) {
            return;
        }
        if (type == 'F') {
            endCycle();
            fail(new Refusal(
                    Refusal.Cause.UNSUPPORTED,
                    "a call of a function by its number cannot be replicated, nor can large objects: use SELECT"));
            server.write(new MessageBuffer().sync());
            expect(Expected.sync(() -> readyAfter()));
            return;
        }
        lock.lock();
        try {
            inCycle = true;
        } finally {
            lock.unlock();
        }
        synced = false;
        switch (type) {
            case 'P' -> parse(message);
            case 'B' -> bind(message);
            case 'E' -> execute(message);
            case 'D' -> forward(message, Expected.of(Part.DESCRIBE));
            case 'C' -> forward(message, Expected.named(Part.CLOSE, message.at(0) == 'S' ? message.text(1) : "", null));
            default -> throw new IOException("a client sent a message of type " + type);
        }
    }

    private void endCycle() {
        lock.lock();
        try {
            awaitsReady = true;
            inCycle = false;
        } finally {
            lock.unlock();
        }
    }

    private void forward(ClientMessage message, Expected answer) throws IOException {
        expect(answer);
        server.write(message.bytes());
    }

    private void expect(Expected answer) {
        lock.lock();
        try {
            expected.add(answer);
        } finally {
            lock.unlock();
        }
    }

    // ------------------------------------------------------------------------------------------- extended protocol

    private void parse(ClientMessage message) throws IOException {
        String name = message.text(0);
        List<SqlStatement> statements = SqlLexer.statements(message.text(message.textEnd(0)), standardStrings);
        SqlStatement statement = statements.isEmpty() ? UNKNOWN : check(statements.get(0));
        if (statement.kind() == Kind.REFUSED) {
            fail(unsupported(statement));
            return;
        }
        prepared.parse(name, statement);
        forward(message, Expected.named(Part.PARSE, name, statement));
    }

    private static Refusal unsupported(SqlStatement refused) {
        return new Refusal(Refusal.Cause.UNSUPPORTED, refused.name());
    }

    /** What a statement is, in this session. */
    private SqlStatement check(SqlStatement statement) {
        if (statement.kind() == Kind.CALL && !statement.name().isEmpty()) {
            SqlStatement executed = prepared.find(statement.name());
            if (executed != null && !executed.kind().isPlain()) {
                return SqlStatement.refused(
                        statement.text(),
                        "EXECUTE of what is no query cannot be replicated: execute it by the protocol");
            }
        }
        if (!ENCODINGS.contains(encoding) && statement.kind() != Kind.PASS && statement.kind() != Kind.ROLLBACK) {
            return SqlStatement.refused(
                    statement.text(),
                    "client_encoding " + encoding + " is not understood by the replica: set it to UTF8");
        }
        return statement;
    }

    private void bind(ClientMessage message) throws IOException {
        String portal = message.text(0);
        SqlStatement found = prepared.find(message.text(message.textEnd(0)));
        SqlStatement statement = found == null ? UNKNOWN : found;
        if (!inBlock && needsBlock(statement)) {
            open();
        }
        prepared.bind(portal, statement);
        forward(message, Expected.of(Part.BIND));
    }

    private static boolean needsBlock(SqlStatement statement) {
        Kind kind = statement.kind();
        return kind.mayChange() || kind == Kind.SCHEMA || kind == Kind.CONSTRAINTS;
    }

    /** Opens a block for a statement that the client would have executed without one. */
    private void open() throws IOException {
        transactions.opening();
        MessageBuffer begin = new MessageBuffer();
        own(begin, new Exchange(), "BEGIN");
        server.write(begin);
        inBlock = true;
        explicit = false;
    }

    private void execute(ClientMessage message) throws IOException {
        SqlStatement bound = prepared.portal(message.text(0));
        SqlStatement statement = bound == null ? UNKNOWN : bound;
        Expected answer = Expected.named(Part.EXECUTE, "", statement);
        switch (statement.kind()) {
            case COPY_IN ->
                fail(new Refusal(
                        Refusal.Cause.UNSUPPORTED,
                        "COPY FROM STDIN is executed by the simple protocol only: as a Query"));
            case BEGIN -> {
                transactions.executing(statement);
                if (!inBlock) {
                    transactions.opening();
                    inBlock = true;
                }
                explicit = true;
                forward(message, answer);
            }
            case COMMIT -> {
                if (inBlock && status != FAILED && transactions.mayHaveChanged()) {
                    hold();
                    beforeCommit(told -> commit(statement, told, true, this::resume));
                } else {
                    endBlock(message, answer, statement);
                }
            }
            case ROLLBACK -> endBlock(message, answer, statement);
            case SCHEMA, CONSTRAINTS -> {
                hold();
                server.write(new MessageBuffer().sync());
                expect(Expected.sync(() -> change(statement, () -> forwardChange(message, statement), this::resume)));
                server.flush();
            }
            default -> {
                try {
                    transactions.executing(statement);
                    forward(message, answer);
                } catch (RefusedException e) {
                    fail(e.refusal());
                }
            }
        }
    }

    /** What ends a block and needs nothing but to be told. */
    private void endBlock(ClientMessage message, Expected answer, SqlStatement statement) throws IOException {
        if (!inBlock) {
            forward(message, answer);
            return;
        }
        hold();
        boolean commits = statement.kind() == Kind.COMMIT && status != FAILED;
        forward(message, answer);
        server.write(new MessageBuffer().sync());
        expect(Expected.sync(() -> {
            ended(commits);
            resume();
        }));
        server.flush();
    }

    private void ended(boolean commits) {
        if (!failed || status == IDLE) {
            transactions.ended(commits && !failed);
            prepared.dropPortals();
            inBlock = status != IDLE;
            explicit = inBlock;
            if (inBlock) {
                transactions.opening();
            }
        }
    }

    private void forwardChange(ClientMessage message, SqlStatement statement) throws IOException {
        forward(message, Expected.named(Part.EXECUTE, "", statement));
        server.write(new MessageBuffer().sync());
        expect(Expected.sync(null));
    }

    private void hold() {
        lock.lock();
        try {
            held = true;
        } finally {
            lock.unlock();
        }
    }

    /** Goes on with the client's messages, in the thread that takes. */
    private void resume() throws IOException {
        if (failed) {
            skipping = true;
            if (inBlock && !explicit) {
                rollback();
            }
        }
        synced = true;
        lock.lock();
        try {
            held = false;
        } finally {
            lock.unlock();
        }
        pump(true);
    }

    private void sync(ClientMessage message, boolean taking) throws IOException {
        endCycle();
        skipping = false;
        if (inBlock && !explicit) {
            beforeCommit(this::end);
        } else if (synced && taking) {
            ready(status);
        } else {
            forward(message, Expected.sync(null));
        }
    }

    /**
     * Has the client's next message fail with a refusal, where it would have been executed. The server's transaction fails with it, and it
     * passes over what follows, up to Sync.
     */
    private void fail(Refusal refusal) throws IOException {
        expect(Expected.failing(refusal));
        server.write(failing(refusal));
    }

    private static MessageBuffer failing(Refusal refusal) {
        String name = "refused: " + refusal.message().replace('\0', ' ');
        return new MessageBuffer().execute(name.substring(0, Math.min(FAILING_MAX, name.length())));
    }

    // --------------------------------------------------------------------------------------------- simple protocol

    private void query(ClientMessage message) throws IOException {
        synced = false;
        skipping = false;
        List<SqlStatement> statements = SqlLexer.statements(message.text(0), standardStrings).stream()
                .map(this::check)
                .toList();
        for (SqlStatement statement : statements) {
            if (statement.kind() == Kind.REFUSED) {
                failQuery(unsupported(statement));
                return;
            }
        }
        if (statements.isEmpty()) {
            forward(message, Expected.of(Part.QUERY));
        } else {
            step(statements, 0);
        }
    }

    private void failQuery(Refusal refusal) throws IOException {
        fail(refusal);
        server.write(new MessageBuffer().sync());
        expect(Expected.sync(this::readyAfter));
        server.flush();
    }

    /** Executes what a query consists of, from its i-th statement on. */
    private void step(List<SqlStatement> statements, int i) throws IOException {
        SqlStatement statement = statements.get(i);
        Expected.Step next = () -> {
            if (failed || i + 1 == statements.size()) {
                readyAfter();
            } else {
                step(statements, i + 1);
                server.flush();
            }
        };
        switch (statement.kind()) {
            case BEGIN -> {
                boolean opens = !inBlock;
                transactions.executing(statement);
                if (opens) {
                    transactions.opening();
                }
                send(statement, () -> {
                    if (!failed) {
                        inBlock = true;
                        explicit = true;
                    } else if (opens) {
                        transactions.ended(false);
                    }
                    next.run();
                });
            }
            case COMMIT -> {
                if (inBlock && status != FAILED && transactions.mayHaveChanged()) {
                    beforeCommit(told -> commit(statement, told, true, next));
                } else {
                    sendEnd(statement, next);
                }
            }
            case ROLLBACK -> sendEnd(statement, next);
            case SAVEPOINT, RELEASE, ROLLBACK_TO -> send(statement, next);
            case SCHEMA, CONSTRAINTS -> {
                if (!inBlock) {
                    open();
                }
                server.write(new MessageBuffer().sync());
                expect(Expected.sync(() -> change(statement, () -> send(statement, () -> {}), next)));
            }
            default -> plain(statements, i);
        }
    }

    private void send(SqlStatement statement, Expected.Step then) throws IOException {
        expect(new Expected(Part.QUERY, null, statement, "", null, false, then));
        server.write(new MessageBuffer().query(statement.text()));
    }

    private void sendEnd(SqlStatement statement, Expected.Step next) throws IOException {
        boolean ends = inBlock;
        boolean commits = statement.kind() == Kind.COMMIT && status != FAILED;
        send(statement, () -> {
            if (ends) {
                ended(commits);
            }
            next.run();
        });
    }

    /** Statements that only read or change rows, together. */
    private void plain(List<SqlStatement> statements, int i) throws IOException {
        int end = i;
        boolean needsBlock = false;
        boolean copies = false;
        StringBuilder text = new StringBuilder();
        while (end < statements.size() && statements.get(end).kind().isPlain()) {
            SqlStatement statement = statements.get(end++);
            needsBlock |= needsBlock(statement);
            copies |= statement.kind() == Kind.COPY_IN;
            if (statement.kind() == Kind.PASS && OwnStatements.drops(statement.text())) {
                own.forget();
            }
            text.append(text.length() == 0 ? "" : ";\n").append(statement.text());
        }
        boolean isLast = end == statements.size();
        if (!inBlock && (needsBlock || !isLast)) {
            open();
        }
        List<SqlStatement> run = statements.subList(i, end);
        try {
            run.forEach(transactions::executing);
        } catch (RefusedException e) {
            failQuery(e.refusal());
            return;
        }
        boolean ends = isLast && inBlock && !explicit;
        int following = end;
        Expected.Step then = null;
        if (ends && !copies) {
            then = () -> {}; // what follows is sent at once
        } else if (ends) {
            then = () -> {
                if (failed) {
                    readyAfter();
                } else {
                    beforeCommit(this::end);
                }
            };
        } else if (!isLast) {
            then = () -> {
                if (failed) {
                    readyAfter();
                } else {
                    step(statements, following);
                    server.flush();
                }
            };
        }
        expect(new Expected(Part.QUERY, null, null, "", null, ends, then));
        server.write(new MessageBuffer().query(text.toString()));
        if (ends && !copies) {
            beforeCommit(this::end);
        }
    }

    /** The server is ready: the client is told so, when what we have opened is closed. */
    private void readyAfter() throws IOException {
        if (inBlock && !explicit) {
            if (failed) {
                rollback();
                ready(IDLE);
            } else {
                beforeCommit(this::end);
            }
        } else {
            ready(status);
        }
    }

    // ------------------------------------------------------------------------------------------ ends of transactions

    /** What is done when the server has told of everything before a commit. */
    private interface Told {
        void run(Exchange told) throws IOException;
    }

    /** Has the server tell what the transaction has changed, and commit from now on. */
    private void beforeCommit(Told then) throws IOException {
        Exchange told = new Exchange();
        MessageBuffer messages = new MessageBuffer();
        beforeCommit.forEach(sql -> own(messages, told, sql));
        expect(Expected.sync(() -> then.run(told)));
        server.write(messages.sync());
        server.flush();
    }

    /** The end of a block that we have opened. */
    private void end(Exchange told) throws IOException {
        commit(new SqlStatement(Kind.COMMIT, "COMMIT", ""), told, false, () -> ready(status));
    }

    private void commit(SqlStatement statement, Exchange told, boolean tells, Expected.Step then) throws IOException {
        if (failed && tells) {
            then.run(); // the client's block has failed before, and is for the client to end
            return;
        }
        awaitCancelled();
        try {
            if (failed || status == FAILED) {
                ServerError error = told.error();
                Refusal refusal = failed ? null : transactions.takeRefusal();
                rollback();
                if (refusal != null) {
                    tell(refusal);
                } else if (!failed) {
                    tell(error);
                }
            } else {
                Refusal refusal = transactions.commit(statement.chains() ? "COMMIT AND CHAIN" : "COMMIT");
                if (isClosed()) {
                    status = IDLE;
                }
                if (refusal != null) {
                    tell(refusal);
                } else if (tells) {
                    out.complete("COMMIT");
                } else if (completion != null) {
                    out.put(completion);
                }
            }
        } catch (ServerError e) {
            tell(e);
        } catch (SQLException e) {
            throw new IOException(e);
        }
        completion = null;
        prepared.dropPortals();
        inBlock = status != IDLE;
        explicit = inBlock;
        if (inBlock && !failed) {
            transactions.opening();
        }
        then.run();
    }

    private void tell(@Nullable ServerError error) {
        failed = true;
        Refusal refusal = transactions.takeRefusal();
        if (refusal != null) {
            tell(refusal);
        } else if (error != null) {
            out.put(error.message());
        }
    }

    private void tell(Refusal refusal) {
        failed = true;
        boolean isFatal = refusal.cause().endsSession();
        out.error(isFatal ? "FATAL" : "ERROR", refusal.cause().sqlState(), refusal.message());
        closesWhenTaken |= isFatal;
    }

    /** Rolls back the block that the server is in. */
    private void rollback() throws IOException {
        awaitCancelled();
        try {
            query("ROLLBACK");
        } catch (ServerError e) {
            throw new IOException("a transaction cannot be rolled back", e);
        }
        completion = null;
        transactions.ended(false);
        prepared.dropPortals();
        inBlock = false;
        explicit = false;
    }

    /** A change of the schema: what must be done before it, itself, and what must be done after it. */
    private void change(SqlStatement statement, Expected.Step itself, Expected.Step then) throws IOException {
        if (failed || status == FAILED) {
            // The server refuses it by itself.
            if (!failed) {
                itself.run();
                replaceLast(then);
                server.flush();
            } else {
                then.run();
            }
            return;
        }
        if (!attempt(() -> transactions.changing(statement))) {
            then.run();
            return;
        }
        itself.run();
        replaceLast(() -> {
            if (!failed) {
                attempt(() -> transactions.changed(statement));
            }
            then.run();
        });
        server.flush();
    }

    /** Gives the last answer that is expected something to do then. */
    private void replaceLast(Expected.Step then) {
        lock.lock();
        try {
            Expected last = expected.removeLast();
            expected.add(new Expected(last.part(), null, last.statement(), "", null, false, then));
        } finally {
            lock.unlock();
        }
    }

    private interface Attempt {
        void run() throws SQLException;
    }

    /** What fails fails the server's transaction, and the client is told. */
    private boolean attempt(Attempt work) throws IOException {
        try {
            work.run();
            return true;
        } catch (ServerError e) {
            tell(e);
        } catch (SQLException e) {
            throw new IOException(e);
        } catch (RefusedException e) {
            doom(failing(e.refusal()));
            tell(e.refusal());
        }
        return false;
    }

    /** Has the server's transaction fail. */
    private void doom(MessageBuffer failing) throws IOException {
        Exchange exchange = new Exchange();
        expect(Expected.own(Part.EXECUTE, exchange, ""));
        server.write(failing);
        await(exchange);
    }

    private void ready(char told) throws IOException {
        char now = told;
        if (now != IDLE && transactions.isRefused()) {
            awaitCancelled();
            Exchange exchange = new Exchange();
            server.write(undoing(exchange));
            await(exchange);
            transactions.undone();
            now = FAILED;
        }
        if (now == IDLE) {
            if (inBlock) {
                transactions.ended(false);
            }
            prepared.dropPortals();
        }
        prepared.settle();
        completion = null;
        failed = false;
        inBlock = now != IDLE;
        explicit = inBlock;
        if (!closesWhenTaken) {
            out.ready(now);
        }
        lock.lock();
        try {
            status = now;
            awaitsReady = false;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        pump(true);
    }

    /** Frees the locks and leaves the client's transaction failed, as the client will be told. */
    private MessageBuffer undoing(Exchange exchange) {
        MessageBuffer messages = new MessageBuffer();
        own(messages, exchange, "ROLLBACK");
        own(messages, exchange, "BEGIN");
        expect(Expected.own(Part.EXECUTE, exchange, ""));
        return messages.execute("refused, see its client");
    }

    // ------------------------------------------------------------------------------------------- statements of ours

    private void own(MessageBuffer messages, Exchange exchange, String sql) {
        String name = own.name(sql);
        messages.close('P', OwnStatements.NAME);
        expect(Expected.own(Part.CLOSE, exchange, ""));
        if (!own.isPrepared(name)) {
            messages.close('S', name).parse(name, sql);
            expect(Expected.own(Part.CLOSE, exchange, ""));
            expect(Expected.own(Part.PARSE, exchange, name));
        }
        messages.bind(OwnStatements.NAME, name).execute(OwnStatements.NAME);
        expect(Expected.own(Part.BIND, exchange, ""));
        expect(Expected.own(Part.EXECUTE, exchange, ""));
    }

    /**
     * Executes statements of ours, one after the other, while the client's wait: in the thread that takes, or while that waits.
     *
     * @return the rows of all
     * @throws ServerError if one fails; those behind it are not executed
     */
    public List<List<@Nullable String>> query(String... statements) throws IOException, ServerError {
        Exchange exchange = new Exchange();
        MessageBuffer messages = new MessageBuffer();
        for (String sql : statements) {
            own(messages, exchange, sql);
        }
        server.write(messages);
        await(exchange);
        return exchange.rows();
    }

    private void await(Exchange exchange) throws IOException {
        expect(Expected.sync(exchange::done));
        server.write(new MessageBuffer().sync());
        server.flush();
        while (!exchange.isDone()) {
            server.next();
            answer();
        }
    }

    /** Whether the server has not told that it ends the session. To be called where {@link #query} may be. */
    public boolean isAlive() {
        isPolling = true;
        try {
            while (!isDead && server.nextIfThere()) {
                answer();
            }
        } catch (IOException e) {
            isDead = true;
        } finally {
            isPolling = false;
        }
        return !isDead && !isClosed();
    }

    /** Whether the server is in no block, as it has told last. */
    public boolean isIdle() {
        return status == IDLE;
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
            while (out.length() == 0 && !closesWhenTaken && !isClosed()) {
                server.next();
                answer();
            }
        } catch (EOFException e) {
            close();
        } catch (IOException e) {
            if (!isClosed()) {
                throw e;
            }
        }
        while (out.length() < length && !closesWhenTaken && !isClosed() && server.nextIfThere()) {
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
        while (out.length() == 0 && !isClosed() && server.nextIfThere()) {
            answer();
        }
        return out.length();
    }

    /** Handles the server's message. */
    private void answer() throws IOException {
        char type = server.type();
        if (!started) {
            start(type);
            return;
        }
        switch (type) {
            case 'A' -> server.copyTo(out);
            case 'S' -> parameter();
            case 'N' -> notice();
            case 'E' -> error();
            case 'Z' -> synchronised();
            case '1' -> {
                Expected parsed = pop();
                SqlStatement statement = parsed.statement();
                if (statement != null) {
                    prepared.parsed(parsed.name(), statement);
                } else if (parsed.exchange() != null) {
                    own.prepared(parsed.name());
                }
                pass(parsed);
            }
            case '3' -> {
                Expected closing = pop();
                if (closing.exchange() == null) {
                    prepared.closed(closing.name());
                }
                pass(closing);
            }
            case '2', 's' -> pass(pop());
            case 'n', 'T' -> {
                Expected head = head();
                pass(head != null && head.part() == Part.DESCRIBE ? pop() : head);
            }
            case 'C', 'I' -> completed();
            case 'D' -> row();
            default -> pass(head());
        }
    }

    private void start(char type) throws IOException {
        if (type == 'K') {
            byte[] content = server.content();
            process = java.nio.ByteBuffer.wrap(content).getInt();
            secret = java.util.Arrays.copyOfRange(content, 4, content.length);
        } else if (type == 'Z') {
            started = true;
        } else if (type == 'S') {
            parameter();
            return;
        }
        server.copyTo(out);
    }

    private @Nullable Expected head() {
        lock.lock();
        try {
            return expected.peek();
        } finally {
            lock.unlock();
        }
    }

    private Expected pop() throws IOException {
        lock.lock();
        try {
            Expected head = expected.poll();
            if (head == null) {
                throw new IOException("the server answers '" + server.type() + "', which nobody has asked for");
            }
            return head;
        } finally {
            lock.unlock();
        }
    }

    private void pass(@Nullable Expected answered) {
        if (answered == null || answered.exchange() == null) {
            passCompletion();
            server.copyTo(out);
        }
    }

    /** Another statement follows the one whose end was held back. */
    private void passCompletion() {
        if (completion != null) {
            out.put(completion);
            completion = null;
        }
    }

    private void parameter() {
        String[] texts = server.texts();
        if (texts[0].equals("standard_conforming_strings")) {
            standardStrings = texts[1].equals("on");
        } else if (texts[0].equals("client_encoding")) {
            encoding = texts[1];
        } else if (texts[0].equals(STANDBY) && !transactions.takesWrites()) {
            // By this a driver that is given the addresses of all replicas finds the one to write to.
            out.parameter(STANDBY, "on");
            return;
        }
        server.copyTo(out);
    }

    private void notice() {
        if (!server.isField('C', "GW001")) {
            server.copyTo(out);
            return;
        }
        try {
            transactions.row(String.valueOf(server.field('M')));
        } catch (RefusedException e) {
            transactions.refuse(e.refusal());
        }
    }

    private void row() {
        Expected head = head();
        Exchange exchange = head == null ? null : head.exchange();
        if (exchange == null) {
            passCompletion();
            server.copyTo(out);
        } else {
            exchange.row(server.row());
        }
    }

    private void completed() throws IOException {
        Expected head = head();
        if (head == null || head.part() != Part.QUERY) {
            head = pop();
        }
        SqlStatement statement = head.statement();
        if (head.exchange() == null && statement != null) {
            Refusal refusal = statement.kind() == Kind.COMMIT && server.texts()[0].equals("ROLLBACK")
                    ? transactions.takeRefusal()
                    : null;
            if (refusal != null) {
                tell(refusal);
                return;
            }
            transactions.executed(statement);
        }
        if (server.at(0) == 'D' && OwnStatements.drops(server.texts()[0])) {
            own.forget();
        }
        if (head.holdsCompletion()) {
            passCompletion();
            completion = server.copy();
        } else {
            pass(head);
        }
    }

    private void error() {
        Expected head = head();
        boolean isFatal = server.isField('V', "FATAL") || server.isField('V', "PANIC");
        Exchange exchange = head == null ? null : head.exchange();
        isDead |= isFatal;
        lock.lock();
        try {
            while (!expected.isEmpty() && !expected.getFirst().part().endsErrors()) {
                expected.remove();
            }
        } finally {
            lock.unlock();
        }
        if (exchange != null) {
            own.forget();
            exchange.failed(new ServerError(
                    String.valueOf(server.field('M')), String.valueOf(server.field('C')), server.copy()));
            return;
        }
        if (isFatal && isPolling) {
            return;
        }
        passCompletion();
        failed = true;
        Refusal refusal = transactions.takeRefusal();
        if (refusal == null && head != null) {
            refusal = head.refusal();
        }
        if (refusal == null || isFatal) {
            server.copyTo(out);
        } else {
            tell(refusal);
        }
    }

    private void synchronised() throws IOException {
        Expected answered = pop();
        while (!answered.part().endsErrors()) {
            answered = pop(); // the server has passed over it after an error
        }
        status = server.at(0);
        Expected.Step then = answered.then();
        if (then == null) {
            ready(status);
        } else {
            then.run();
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
        lock.lock();
        try {
            if (closed || !isIt.getAsBoolean()) {
                return false;
            }
            boolean isQuiet = !pumping && !held && !awaitsReady && queue.isEmpty() && expected.isEmpty();
            if (isQuiet && !inCycle && inBlock && status == OPEN) {
                server.write(undoing(new Exchange()).sync());
                expected.add(Expected.sync(() -> {}));
                server.flush();
                status = FAILED;
                return true;
            }
        } finally {
            lock.unlock();
        }
        cancel(isIt);
        return false;
    }

    /**
     * Cancels what the server executes.
     *
     * @param isIt whether it is still what is meant
     */
    public void cancel(BooleanSupplier isIt) throws IOException {
        lock.lock();
        try {
            if (closed || !isIt.getAsBoolean()) {
                return;
            }
            cancelling++;
        } finally {
            lock.unlock();
        }
        try {
            cancelServer();
        } finally {
            lock.lock();
            try {
                cancelling--;
                changed.signalAll();
            } finally {
                lock.unlock();
            }
        }
    }

    /** The server closes the connection when it has told its process. */
    private void cancelServer() throws IOException {
        try (Socket cancel = new Socket()) {
            cancel.connect(
                    new InetSocketAddress(
                            server.socket().getInetAddress(), server.socket().getPort()),
                    CANCEL_TIMEOUT_MILLIS);
            cancel.setSoTimeout(CANCEL_TIMEOUT_MILLIS);
            cancel.getOutputStream().write(StartupMessage.cancel(process, secret));
            cancel.getOutputStream().flush();
            int end = cancel.getInputStream().read();
            if (end >= 0) {
                throw new IOException("the server answers a request to cancel");
            }
        }
    }

    /** A request to cancel must not meet what follows what it is for. */
    private void awaitCancelled() throws IOException {
        lock.lock();
        try {
            long left = TimeUnit.MILLISECONDS.toNanos(2L * CANCEL_TIMEOUT_MILLIS);
            while (cancelling > 0 && left > 0) {
                left = changed.awaitNanos(left);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } finally {
            lock.unlock();
        }
    }

    private boolean isClosed() {
        lock.lock();
        try {
            return closed;
        } finally {
            lock.unlock();
        }
    }

    /** Closes the connection to the server, whatever it does. */
    @Override
    public void close() {
        lock.lock();
        try {
            closed = true;
            changed.signalAll();
        } finally {
            lock.unlock();
        }
        try {
            server.close();
        } catch (IOException ignored) {
            // It is of no use any more.
        }
    }
}
