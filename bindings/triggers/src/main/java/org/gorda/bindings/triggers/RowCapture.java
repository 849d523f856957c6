package org.gorda.bindings.triggers;

import java.io.IOException;
import java.io.InputStream;
import java.io.Reader;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.time.temporal.ChronoField;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSetWriter;
import org.jspecify.annotations.Nullable;

/**
 * Takes what triggers tell of a connection's rows into its write set. What was taken back again is not told in a way that could be counted: a statement
 * within which that has happened, and that goes on, cannot be captured. Confined to the connection's thread.
 */
public final class RowCapture {

    private static final int YEAR_MAX = 999_999;

    private final ClientConnection connection;
    private final WriteSetWriter out;
    private boolean tookBack;
    private boolean isTried;
    private boolean isLost;
    private boolean keysChanged;
    private boolean hasChanged;
    private boolean paused;

    /** Whose rows the statements change that are being executed, each of them set off by a row of the one before. */
    private final List<String> changing = new ArrayList<>();

    /** Tables of which such a statement has begun while a former one was not through with telling of its rows, all of which it had changed already. */
    private final Set<String> entangled = new HashSet<>();

    /** How many primary keys were changed, by table. */
    private final Map<String, Integer> keys = new HashMap<>();

    RowCapture(ClientConnection connection, WriteSetWriter out) {
        this.connection = connection;
        this.out = out;
    }

    /** A statement of the client begins. */
    WriteSetWriter.Mark begin() {
        tookBack = false;
        isTried = false;
        isLost = false;
        keysChanged = false;
        hasChanged = false;
        changing.clear();
        entangled.clear();
        keys.clear();
        return out.mark();
    }

    /** The statement has ended well. */
    void end() {
        endOfStatement();
        isLost |= tookBack;
    }

    /** What was told since the last time changes places at once: of its rows none has a key any more that it had before. */
    public void endOfStatement() {
        if (keysChanged) {
            out.endOfStatement();
            keysChanged = false;
        }
    }

    /** Whether what a statement has changed is not known. */
    boolean isLost() {
        return isLost;
    }

    /** Whether the statement has changed something. */
    boolean hasChanged() {
        return hasChanged;
    }

    /** The statement, or more, was rolled back. */
    void cutBack(WriteSetWriter.Mark mark) {
        out.cutBack(mark);
        begin();
    }

    /** Whether what is changed from now on is our own. */
    public void pause(boolean ours) {
        paused = ours;
    }

    /** The database begins to execute the client's statement. If it does so again, some of what it has done before may never be told. */
    public void tries() {
        tookBack |= isTried;
        isTried = true;
    }

    /**
     * A statement begins that changes rows of a table: the client's, or one that the change of a row has set off, by a trigger of a client or a foreign key.
     *
     * @param level how many rows' changes have set off one another until here
     */
    public void changes(String schema, String name, int level) {
        String table = TableShape.quoted(schema) + "." + TableShape.quoted(name);
        changing.subList(Math.min(level, changing.size()), changing.size()).clear();
        if (changing.contains(table)) {
            entangled.add(table);
        }
        changing.add(table);
    }

    /** The database took back a change of a row. */
    public void tookBack() {
        tookBack = true;
    }

    /**
     * A row was changed.
     *
     * @param table whose row it is; asked only if that is to be captured
     * @param before null if it was inserted
     * @param after null if it was deleted
     * @throws SQLException if the change is refused
     */
    public void changed(TableOf table, @Nullable Row before, @Nullable Row after) throws SQLException {
        changed(table, before, after, (shape, row) -> row);
    }

    /**
     * As {@link #changed(TableOf, Row, Row)}, where what one row's change has set off may have been told before another row's change.
     *
     * @param rows finds what there is by now
     */
    public void changed(TableOf table, @Nullable Row before, @Nullable Row after, Rows rows) throws SQLException {
        if (paused) {
            return;
        }
        hasChanged = true;
        isLost |= tookBack;
        connection.relieve(true);
        Dialect.Captured captured = table.get();
        try {
            connection.begin();
            if (before == null) {
                insert(captured.shape(), Objects.requireNonNull(after));
            } else {
                changeKeyed(captured, before, after, rows);
            }
        } catch (RefusedException e) {
            throw Refused.of(e.refusal());
        } catch (IOException e) {
            throw new SQLException("a large object of " + captured.shape() + " cannot be read", "58030", e);
        }
    }

    /** A table, looked for when it is needed. */
    public interface TableOf {
        Dialect.Captured get() throws SQLException;
    }

    /** Rows as they are by now. */
    public interface Rows {
        /** The row with the key of another one; null if there is none. */
        @Nullable
        Row now(TableShape table, Row key) throws SQLException;
    }

    /** A row that a trigger tells of. */
    public interface Row {

        /**
         * A value, of the class that {@link org.gorda.gapi.WriteSetReader} gives for the type, but a {@link Reader} for CLOB and an {@link InputStream} for BLOB.
         *
         * @param column counted from 1
         * @return null for NULL
         */
        @Nullable
        Object value(SqlType type, int column) throws SQLException;

        /**
         * The type of a value that is not null, where a column has values of several types.
         *
         * @param column counted from 1
         */
        default SqlType type(SqlType declared, int column) {
            return declared;
        }

        /** The current row of a result set; null for null. */
        static @Nullable Row of(@Nullable ResultSet row) {
            return row == null ? null : (type, column) -> RowCapture.value(type, row, column);
        }
    }

    private void insert(TableShape table, Row after) throws SQLException, IOException {
        out.insert(table, table.columns().size());
        for (int i = 1; i <= table.columns().size(); i++) {
            put(table, i, after);
        }
    }

    private void changeKeyed(Dialect.Captured captured, Row before, @Nullable Row after, Rows rows)
            throws SQLException, IOException {
        TableShape table = captured.shape();
        if (table.key().isEmpty()) {
            throw Refused.unsupported("a row of " + table
                    + " cannot be changed: the table has no primary key, by which replicas find a row; add one");
        }
        boolean isEntangled = !entangled.isEmpty() && entangled.contains(table.toString());
        if (after == null) {
            if (isEntangled && rows.now(table, before) != null) {
                throw Refused.unsupported(
                        "rows of " + table
                                + " cannot be deleted: a trigger puts a row in the place of one of them before the replicas are told that this is deleted");
            }
            out.delete(table);
            putKey(table, before);
            return;
        }
        List<Integer> changed = new ArrayList<>();
        for (int i = 1; i <= table.columns().size(); i++) {
            if (!same(table.columns().get(i - 1).type(), before, after, i)) {
                changed.add(i);
            }
        }
        boolean isMoved = changed.stream().anyMatch(table.key()::contains);
        if (captured.keyMayNotChange() && isMoved) {
            throw Refused.unsupported(
                    "a primary key of " + table
                            + " cannot be updated: the table has triggers, which may change rows with the new key before others have given it up");
        }
        if (isMoved) {
            keys.merge(table.toString(), 1, Integer::sum);
        }
        @Nullable Row now = after;
        if (isEntangled) {
            if (isMoved || keys.getOrDefault(table.toString(), 0) > 1) {
                throw Refused.unsupported(
                        "several primary keys of " + table
                                + " cannot be updated at once: rows of it refer to it with ON UPDATE, or are changed by triggers, and could not be told apart; update one key by a statement");
            }
            now = rows.now(table, after);
        }
        if (changed.isEmpty() || now == null) {
            return; // it is as it was, or replicas were told already that it is deleted
        }
        keysChanged |= changed.stream().anyMatch(captured.unique()::contains);
        out.update(table);
        putKey(table, before);
        out.changed(changed.size());
        for (int i : changed) {
            out.column(i);
            put(table, i, now);
        }
    }

    private void putKey(TableShape table, Row row) throws SQLException, IOException {
        for (int i : table.key()) {
            put(table, i, row);
        }
    }

    private void put(TableShape table, int i, Row row) throws SQLException, IOException {
        SqlType declared = table.columns().get(i - 1).type();
        Object value = row.value(declared, i);
        if (value == null) {
            out.putNull();
            return;
        }
        SqlType type = row.type(declared, i);
        switch (type) {
            case BOOLEAN -> out.putBoolean((Boolean) value);
            case SMALLINT, INTEGER, BIGINT -> out.putInteger(type, (Long) value);
            case REAL -> out.putReal((Float) value);
            case DOUBLE -> out.putDouble((Double) value);
            case DECIMAL -> out.putDecimal((java.math.BigDecimal) value);
            case CHAR, VARCHAR, LONGVARCHAR, XML -> out.putString(type, (String) value);
            case CLOB -> {
                try (Reader text = (Reader) value) {
                    out.putText(type, text);
                }
            }
            case BINARY, VARBINARY, LONGVARBINARY -> out.putBytes(type, (byte[]) value, 0, ((byte[]) value).length);
            case BLOB -> {
                try (InputStream binary = (InputStream) value) {
                    out.putBinary(type, binary);
                }
            }
            case DATE -> putDate(table, (LocalDate) value);
            case TIME ->
                out.putTime(((LocalTime) value).toSecondOfDay(), ((LocalTime) value).get(ChronoField.NANO_OF_SECOND));
            case TIMESTAMP -> putTimestamp(table, (LocalDateTime) value);
        }
    }

    private void putDate(TableShape table, LocalDate date) throws SQLException {
        checkYear(table, date);
        out.putDate(date.getYear(), date.getMonthValue(), date.getDayOfMonth());
    }

    private void putTimestamp(TableShape table, LocalDateTime moment) throws SQLException {
        checkYear(table, moment.toLocalDate());
        out.putTimestamp(
                moment.getYear(),
                moment.getMonthValue(),
                moment.getDayOfMonth(),
                moment.toLocalTime().toSecondOfDay(),
                moment.get(ChronoField.NANO_OF_SECOND));
    }

    private static void checkYear(TableShape table, LocalDate date) throws SQLException {
        if (Math.abs(date.getYear()) > YEAR_MAX) {
            throw Refused.unsupported(
                    "the date " + date + " of " + table + " cannot be replicated: its year has more than six digits");
        }
    }

    private static @Nullable Object value(SqlType type, ResultSet row, int i) throws SQLException {
        Object value = switch (type) {
            case BOOLEAN -> row.getBoolean(i);
            case SMALLINT, INTEGER, BIGINT -> row.getLong(i);
            case REAL -> row.getFloat(i);
            case DOUBLE -> row.getDouble(i);
            case DECIMAL -> row.getBigDecimal(i);
            case CHAR, VARCHAR, LONGVARCHAR, XML -> row.getString(i);
            case CLOB -> row.getCharacterStream(i);
            case BINARY, VARBINARY, LONGVARBINARY -> row.getBytes(i);
            case BLOB -> row.getBinaryStream(i);
            case DATE -> row.getObject(i, LocalDate.class);
            case TIME -> row.getObject(i, LocalTime.class);
            case TIMESTAMP -> row.getObject(i, LocalDateTime.class);
        };
        return row.wasNull() ? null : value;
    }

    private static boolean same(SqlType type, Row before, Row after, int i) throws SQLException, IOException {
        Object one = before.value(type, i);
        Object other = after.value(type, i);
        if (one == null || other == null) {
            return one == other;
        }
        if (one instanceof InputStream binary) {
            try (binary;
                    InputStream changed = (InputStream) other) {
                return sameBytes(binary, changed);
            }
        }
        if (one instanceof Reader text) {
            try (text;
                    Reader changed = (Reader) other) {
                return sameText(text, changed);
            }
        }
        return Objects.deepEquals(one, other);
    }

    private static boolean sameBytes(InputStream one, InputStream other) throws IOException {
        byte[] a = new byte[8 << 10];
        byte[] b = new byte[a.length];
        while (true) {
            int count = one.readNBytes(a, 0, a.length);
            if (count != other.readNBytes(b, 0, b.length) || !Arrays.equals(a, 0, count, b, 0, count)) {
                return false;
            }
            if (count < a.length) {
                return true;
            }
        }
    }

    private static boolean sameText(Reader one, Reader other) throws IOException {
        try (java.io.BufferedReader a = new java.io.BufferedReader(one);
                java.io.BufferedReader b = new java.io.BufferedReader(other)) {
            for (int next = a.read(); next == b.read(); next = a.read()) {
                if (next < 0) {
                    return true;
                }
            }
            return false;
        }
    }
}
