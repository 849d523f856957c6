package org.gorda.bench;

import java.io.IOException;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.ThreadLocalRandom;
import org.jspecify.annotations.Nullable;

/**
 * A connection to a replica in another process, which calls there what it is called: to the one that takes writes or, as long as it is read-only, to any.
 * If the line breaks, what was asked for may have happened: that is 08007 for a commit, and 08006 for all else, because the other process rolls back then.
 * For one thread at a time.
 */
final class JdbcLine implements InvocationHandler {

    private static final String NO_CONNECTION = "08001";
    private static final String LOST = "08006";
    private static final String OUTCOME_UNKNOWN = "08007";
    private static final String READ_ONLY = "25006";

    private final List<String> replicas;
    private Line line;
    private boolean readOnly;
    private boolean autoCommit = true;
    private @Nullable Integer isolation;
    private int waitMillis;

    private JdbcLine(List<String> replicas, boolean readOnly) throws SQLException {
        this.replicas = replicas;
        this.readOnly = readOnly;
        this.line = open();
    }

    /** @param replicas where each lets orders in */
    static Connection connect(List<String> replicas, boolean readOnly) throws SQLException {
        return (Connection) proxy(Connection.class, new JdbcLine(replicas, readOnly));
    }

    private static Object proxy(Class<?> type, InvocationHandler calls) {
        return Proxy.newProxyInstance(JdbcLine.class.getClassLoader(), new Class<?>[] {type}, calls);
    }

    private Line open() throws SQLException {
        SQLException failed =
                new SQLException("no replica takes what is written, or none can be reached", NO_CONNECTION);
        int first = ThreadLocalRandom.current().nextInt(replicas.size());
        for (int i = 0; i < replicas.size(); i++) {
            String replica = replicas.get((first + i) % replicas.size());
            try {
                return open(replica);
            } catch (IOException | SQLException e) {
                failed.addSuppressed(e);
            }
        }
        throw failed;
    }

    private Line open(String replica) throws IOException, SQLException {
        Line opened = new Line(replica);
        boolean opens = false;
        try {
            EmbeddedReplica.Answer answer =
                    opened.ask(EmbeddedReplica.Order.session(!readOnly), EmbeddedReplica.Answer.class);
            if (answer.state() != null) {
                throw new SQLException(replica + ": " + answer.message(), answer.state());
            }
            opens = true;
            return opened;
        } finally {
            if (!opens) {
                opened.close();
            }
        }
    }

    @Override
    public @Nullable Object invoke(Object self, Method method, Object @Nullable [] given) throws SQLException {
        Object[] arguments = given == null ? new Object[0] : given;
        Object first = arguments.length == 0 ? null : arguments[0];
        switch (method.getName()) {
            case "equals" -> {
                return self == first;
            }
            case "hashCode" -> {
                return System.identityHashCode(self);
            }
            case "toString" -> {
                return "connection to one of " + replicas;
            }
            case "close", "abort" -> {
                line.close();
                return null;
            }
            case "isClosed" -> {
                return !line.isOpen();
            }
            case "isReadOnly" -> {
                return readOnly;
            }
            case "setReadOnly" -> {
                move(Boolean.TRUE.equals(first));
                return null;
            }
            case "getNetworkTimeout" -> {
                return waitMillis;
            }
            case "setNetworkTimeout" -> {
                waitAtMost((Integer) arguments[1]);
                return null;
            }
            case "setAutoCommit" -> autoCommit = Boolean.TRUE.equals(first);
            case "setTransactionIsolation" -> isolation = (Integer) first;
            default -> {
                // as it is
            }
        }
        return call(JdbcCall.CONNECTION, method, arguments);
    }

    /** Who becomes read-only, or is not any more, begins anew at another replica. */
    private void move(boolean toAny) throws SQLException {
        if (toAny == readOnly) {
            return;
        }
        line.close();
        readOnly = toAny;
        line = open();
        waitAtMost(waitMillis);
        Connection self = (Connection) proxy(Connection.class, this);
        self.setAutoCommit(autoCommit);
        Integer level = isolation;
        if (level != null) {
            self.setTransactionIsolation(level);
        }
    }

    private void waitAtMost(int millis) throws SQLException {
        waitMillis = millis;
        try {
            line.waitAtMost(millis);
        } catch (IOException e) {
            throw lost(false, e);
        }
    }

    private @Nullable Object call(int object, Method method, Object[] arguments) throws SQLException {
        JdbcCall call = JdbcCall.of(object, method, arguments, JdbcLine::number);
        JdbcCall.Answer answer;
        try {
            answer = line.ask(call, JdbcCall.Answer.class);
        } catch (IOException e) {
            throw lost(autoCommit || method.getName().equals("commit"), e);
        }
        if (answer.state() != null) {
            throw failed(answer);
        }
        Integer given = answer.object();
        if (given == null) {
            return JdbcCall.value(method, answer.value());
        }
        return proxy(method.getReturnType(), new Given(given));
    }

    /** What is called of an object that an answer has given. */
    private final class Given implements InvocationHandler {
        private final int number;

        Given(int number) {
            this.number = number;
        }

        @Override
        public @Nullable Object invoke(Object self, Method method, Object @Nullable [] arguments) throws SQLException {
            if (method.getDeclaringClass() == Object.class) {
                throw new SQLException("not called over a line: " + method, "0A000");
            }
            return call(number, method, arguments == null ? new Object[0] : arguments);
        }
    }

    private static int number(Object object) {
        return ((Given) Proxy.getInvocationHandler(object)).number;
    }

    private SQLException lost(boolean commits, IOException cause) {
        line.close();
        return commits
                ? new SQLException(
                        "the replica has ended before it could tell what became of the transaction",
                        OUTCOME_UNKNOWN,
                        cause)
                : new SQLException("the connection is lost: " + cause.getMessage(), LOST, cause);
    }

    /** A pool would keep the connection to who takes no writes any more. */
    private SQLException failed(JdbcCall.Answer answer) {
        boolean isElsewhere = READ_ONLY.equals(answer.state()) && !readOnly;
        if (isElsewhere) {
            line.close();
        }
        return new SQLException(answer.message(), isElsewhere ? LOST : answer.state());
    }
}
