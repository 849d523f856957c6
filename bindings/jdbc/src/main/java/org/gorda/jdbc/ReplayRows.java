package org.gorda.jdbc;

import java.lang.reflect.Method;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.Set;
import org.gorda.jdbc.Replay.DiffersException;
import org.jspecify.annotations.Nullable;

/** Rows of a transaction that may be replayed: those that were read then are read again, and the rest is read there. */
final class ReplayRows extends ReplayProxy {

    private static final long FETCH_BYTES = 64;
    private static final Set<String> MOVES =
            Set.of("absolute", "relative", "first", "last", "previous", "beforeFirst", "afterLast", "refreshRow");

    /** What is asked of the object, not of its rows. */
    private static final Set<String> OF_OBJECT = Set.of("isClosed", "isWrapperFor");

    private final ReplayStatement statement;
    private final long number;
    private ResultSet rows;
    private int columns = -1;
    private boolean ended;
    private boolean closed;

    /** Whether the last value was read for the checksum, and what {@code wasNull} said before: it may not answer. */
    private boolean compared;

    private boolean wasNull;
    private @Nullable SQLException noValue;

    /** What has read the present row. */
    private @Nullable Fetch current;

    /** @param ofTransaction false for what was given when the transaction was committed already */
    ReplayRows(Replay replay, ReplayStatement statement, ResultSet rows, boolean ofTransaction) {
        super(replay);
        this.statement = statement;
        this.rows = rows;
        this.number = ofTransaction ? replay.number() : -1;
        if (ofTransaction) {
            replay.opened(this);
        }
    }

    @Override
    ResultSet target() {
        return rows;
    }

    /** It was executed again. */
    void target(ResultSet again) {
        rows = again;
    }

    ResultSet proxy() {
        return (ResultSet) proxy(ResultSet.class);
    }

    /** The transaction that it belongs to. */
    long number() {
        return number;
    }

    private boolean isCurrent() {
        return number == replay.number();
    }

    /** Whether the application cannot read on. */
    boolean isClosed() {
        try {
            return closed || ended || rows.isClosed();
        } catch (SQLException e) {
            return true;
        }
    }

    @Override
    @Nullable
    Object call(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        String name = method.getName();
        if (name.equals("next")) {
            return isCurrent() ? next() : outside(method);
        }
        if (name.equals("close")) {
            close(method);
            return null;
        }
        if (name.equals("wasNull") && compared && !rows.isClosed()) {
            if (noValue != null) {
                throw noValue;
            }
            return wasNull;
        }
        boolean isValue = arguments != null && name.startsWith("get");
        compared &= !isValue;
        if (name.equals("getStatement")) {
            Object made = pass(method, arguments);
            return made == statement.target() ? statement.proxy() : made;
        }
        if (MOVES.contains(name) || name.startsWith("move") || name.equals("getCursorName") || isChange(name)) {
            replay.never("its rows are moved in, changed or named (" + name + ")");
        } else if (name.startsWith("is") && !OF_OBJECT.contains(name)) {
            replay.never("the application asks where in its rows it is (" + name + ")");
        }
        return isValue && isCurrent() ? value(method, arguments) : pass(method, arguments);
    }

    private static boolean isChange(String name) {
        return name.startsWith("update") || name.equals("insertRow") || name.equals("deleteRow");
    }

    /** Of an earlier transaction. */
    private @Nullable Object outside(Method method) throws SQLException {
        replay.never("rows of an earlier transaction were read");
        return pass(method, null);
    }

    private boolean next() throws SQLException {
        if (current != null) {
            current.lastValue = null;
        }
        boolean there = Boolean.TRUE.equals(replay.run(() -> readOrRefusal(() -> rows.next())));
        if (replay.isRecording()) {
            Fetch fetch = replay.lastStep() instanceof Fetch last && last.of() == this ? last : null;
            if (fetch == null) {
                fetch = new Fetch();
                replay.add(fetch, FETCH_BYTES);
            }
            fetch.read(there);
            current = fetch;
        }
        if (!there) {
            ended = true;
            replay.closed(this);
            replay.autoCommitted();
        }
        return there;
    }

    private @Nullable Object value(Method method, @Nullable Object @Nullable [] arguments) throws SQLException {
        Replay.Action read = () -> pass(method, arguments);
        Object value = replay.run(() -> readOrRefusal(read));
        if (current != null) {
            current.lastValue = read;
        }
        return value;
    }

    /** A transaction that is rolled back while its client does nothing loses its rows first: the refusal is behind that. */
    private @Nullable Object readOrRefusal(Replay.Action read) throws SQLException {
        try {
            return read.run();
        } catch (SQLException e) {
            if (DerbyConnection.ROWS_CLOSED.equals(e.getSQLState()) && !closed) {
                replay.meetRefusal();
            }
            throw e;
        }
    }

    private void compare() {
        compared = true;
        noValue = null;
        try {
            wasNull = rows.wasNull();
        } catch (SQLException e) {
            noValue = e;
        }
    }

    private void close(Method method) throws SQLException {
        if (isCurrent() && !closed && !rows.isClosed()) {
            replay.run(() -> pass(method, null));
            replay.add(() -> rows.close(), FETCH_BYTES);
            closedBy(true);
        } else {
            pass(method, null);
            closedBy(false);
        }
    }

    /** The application, or another use of the statement, has closed it. */
    void closedBy(boolean last) {
        closed = true;
        replay.closed(this);
        if (last) {
            replay.autoCommitted();
        }
    }

    /** Reading the next rows, as many as were read without anything else in between. */
    private final class Fetch implements Replay.Step {
        private final ReplayChecksum given = new ReplayChecksum();
        private long count;
        private boolean toEnd;

        /** How the last value of the present row was read: {@code wasNull} is of that. */
        private Replay.@Nullable Action lastValue;

        ReplayRows of() {
            return ReplayRows.this;
        }

        void read(boolean there) throws SQLException {
            if (there) {
                count++;
            } else {
                toEnd = true;
            }
            note(given, there);
        }

        private void note(ReplayChecksum sum, boolean there) {
            try {
                if (!there) {
                    sum.addEnd();
                    return;
                }
                if (columns < 0) {
                    columns = rows.getMetaData().getColumnCount();
                    if (!ReplayChecksum.isPossible(rows.getMetaData())) {
                        replay.never("it reads LOBs or other values that cannot be compared");
                        return;
                    }
                }
                if (!compared) {
                    compare();
                }
                sum.addRow(rows, columns);
            } catch (SQLException e) {
                replay.never("it reads values that cannot be compared: " + e.getMessage());
            }
        }

        @Override
        public void again() throws SQLException, DiffersException {
            ReplayChecksum now = new ReplayChecksum();
            for (long i = 0; i < count; i++) {
                if (!rows.next()) {
                    throw new DiffersException(statement.describe() + " gives fewer rows now than the application has");
                }
                now.addRow(rows, columns);
            }
            if (toEnd) {
                if (rows.next()) {
                    throw new DiffersException(statement.describe() + " gives more rows now than the application has");
                }
                now.addEnd();
            }
            if (now.value() != given.value()) {
                throw new DiffersException(
                        statement.describe() + " gives other values now than the application has been given");
            }
            if (lastValue != null) {
                lastValue.run();
            }
        }
    }
}
