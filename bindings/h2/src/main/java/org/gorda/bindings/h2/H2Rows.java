package org.gorda.bindings.h2;

import java.io.IOException;
import java.io.StringWriter;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.gorda.bindings.triggers.Dialect;
import org.gorda.bindings.triggers.MovedRows;
import org.gorda.bindings.triggers.RowCapture;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.Generator;
import org.gorda.gapi.LongValue;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.TableShape;
import org.h2.api.ErrorCode;
import org.h2.engine.SessionLocal;
import org.h2.index.Cursor;
import org.h2.jdbc.JdbcConnection;
import org.h2.jdbc.JdbcResultSet;
import org.h2.message.DbException;
import org.h2.result.Row;
import org.h2.result.SimpleResult;
import org.h2.store.LobStorageInterface;
import org.h2.table.Column;
import org.h2.table.Table;
import org.h2.value.Value;
import org.h2.value.ValueLob;
import org.h2.value.ValueNull;
import org.h2.value.ValueToObjectConverter;
import org.jspecify.annotations.Nullable;

/** Changes rows in H2's tables and their indexes, below SQL: no triggers, constraints or generated columns. Confined to the applier's thread. */
final class H2Rows implements Dialect.Rows {

    private final H2Dialect dialect;
    private final SessionLocal session;

    private final MovedRows<Moved> moved;

    /** Of which each row has a copy of its own. H2 would keep them for minutes, as if a client were reading them. */
    private final List<ValueLob> copied = new ArrayList<>();

    private record Moved(Table table, Row row) {}

    H2Rows(H2Dialect dialect, SessionLocal session) {
        this.dialect = dialect;
        this.session = session;
        this.moved = new MovedRows<>(next -> next.table().addRow(session, next.row()));
    }

    private boolean change(Object table, H2Dialect.Work<Boolean> work) throws Locked {
        try {
            return H2Dialect.within(session, work);
        } catch (DbException e) {
            if (H2Dialect.isLocked(e.getErrorCode())) {
                throw new Locked(e);
            }
            if (e.getErrorCode() == ErrorCode.DUPLICATE_KEY_1) {
                throw new DivergenceException("a row of " + table + " is here already: " + e.getMessage(), e);
            }
            throw new ReflectionException("a row of " + table + " cannot be changed: " + e.getMessage(), e);
        } catch (SQLException e) {
            throw new DivergenceException("rows of " + table + " cannot be changed here: " + e.getMessage(), e);
        }
    }

    private Table open(TableShape shape) throws SQLException {
        Table table = dialect.find(shape.schema(), shape.name());
        table.lock(session, Table.WRITE_LOCK);
        return table;
    }

    @Override
    public void insert(TableShape shape, List<@Nullable Object> values) throws Locked {
        change(shape, () -> {
            Table table = open(shape);
            Row row = table.getTemplateRow();
            for (int i = 0; i < values.size(); i++) {
                row.setValue(i, value(table.getColumn(i), values.get(i)));
            }
            table.addRow(session, row);
            return true;
        });
    }

    @Override
    public boolean update(
            TableShape shape, List<@Nullable Object> key, List<Integer> columns, List<@Nullable Object> values)
            throws Locked {
        return change(shape, () -> {
            Table table = open(shape);
            Row wanted = wanted(table, shape, key);
            Row old = find(table, wanted);
            Moved waiting = old == null ? moved.take(place(table, shape, wanted)) : null;
            Row before = waiting == null ? old : waiting.row();
            if (before == null) {
                return false;
            }
            Row row = table.createRow(before.getValueList().clone(), Row.MEMORY_CALCULATE);
            for (int i = 0; i < columns.size(); i++) {
                int column = columns.get(i) - 1;
                row.setValue(column, value(table.getColumn(column), values.get(i)));
            }
            if (old == null) {
                moved.add(place(table, shape, row), new Moved(table, row));
            } else if (columns.stream()
                    .anyMatch(dialect.table(shape.schema(), shape.name()).unique()::contains)) {
                table.removeRow(session, old);
                moved.add(place(table, shape, row), new Moved(table, row));
            } else {
                table.updateRow(session, old, row);
            }
            return true;
        });
    }

    @Override
    public boolean delete(TableShape shape, List<@Nullable Object> key) throws Locked {
        return change(shape, () -> {
            Table table = open(shape);
            Row wanted = wanted(table, shape, key);
            Row old = find(table, wanted);
            if (old == null) {
                return moved.take(place(table, shape, wanted)) != null;
            }
            table.removeRow(session, old);
            return true;
        });
    }

    @Override
    public void endOfStatement() throws Locked {
        change("", () -> {
            moved.settle();
            return true;
        });
    }

    private Row wanted(Table table, TableShape shape, List<@Nullable Object> key) throws SQLException {
        Row wanted = table.getTemplateRow();
        for (int i = 0; i < key.size(); i++) {
            int column = shape.key().get(i) - 1;
            wanted.setValue(column, value(table.getColumn(column), key.get(i)));
        }
        return wanted;
    }

    /** A row that is in its table: one that waits to be put there has its new key as soon as nobody has it as the old one. */
    private @Nullable Row find(Table table, Row wanted) {
        Cursor cursor = table.getPrimaryKey().find(session, wanted, wanted, false);
        return cursor.next() ? cursor.get() : null;
    }

    /** Where a row with this one's key is, or waits to be. */
    private static List<Object> place(Table table, TableShape shape, Row row) {
        List<Object> place = new ArrayList<>(List.of(table));
        shape.key().forEach(column -> place.add(row.getValue(column - 1)));
        return place;
    }

    /** As {@link RowCapture.Rows#now}, for a trigger's connection of this session. */
    RowCapture.@Nullable Row now(Connection connection, TableShape shape, RowCapture.Row like) throws SQLException {
        List<@Nullable Object> key = new ArrayList<>();
        for (int column : shape.key()) {
            key.add(like.value(shape.columns().get(column - 1).type(), column));
        }
        try {
            Table table = dialect.find(shape.schema(), shape.name());
            Row found = find(table, wanted(table, shape, key)); // perhaps as it was when the statement began
            found = found == null ? null : table.lockRow(session, found, 0); // it is locked by this session
            if (found == null) {
                return null;
            }
            SimpleResult result = new SimpleResult();
            for (Column column : table.getColumns()) {
                result.addColumn(column.getName(), column.getType());
            }
            result.addRow(found.getValueList());
            var row = new JdbcResultSet((JdbcConnection) connection, null, null, result, -1, false, false, false);
            row.next();
            return RowCapture.Row.of(row);
        } catch (DbException e) {
            throw DbException.toSQLException(e);
        }
    }

    private Value value(Column column, @Nullable Object given) throws SQLException {
        if (given == null) {
            return ValueNull.INSTANCE;
        }
        Value value = given instanceof LongValue large
                ? large(column, large)
                : ValueToObjectConverter.objectToValue(session, given, Value.UNKNOWN);
        return value.convertForAssignTo(column.getType(), session, column);
    }

    private Value large(Column column, LongValue large) {
        try {
            LobStorageInterface lobs = session.getDatabase().getLobStorage();
            return switch (column.getType().getValueType()) {
                case Value.CLOB -> copied(lobs.createClob(large.text(), -1));
                case Value.BLOB -> copied(lobs.createBlob(large.binary(), -1));
                case Value.BINARY, Value.VARBINARY ->
                    org.h2.value.ValueVarbinary.getNoCopy(large.binary().readAllBytes());
                default -> {
                    StringWriter text = new StringWriter();
                    large.text().transferTo(text);
                    yield org.h2.value.ValueVarchar.get(text.toString());
                }
            };
        } catch (IOException e) {
            throw new ReflectionException("a large value cannot be read", e);
        }
    }

    private ValueLob copied(ValueLob made) {
        copied.add(made);
        return made;
    }

    @Override
    public void generated(Generator generator, long last) {
        dialect.generated(session, generator, last);
    }

    @Override
    public void committing() {
        copied.forEach(ValueLob::remove);
        copied.clear();
    }

    @Override
    public void rolledBack() {
        moved.clear();
        committing();
    }
}
