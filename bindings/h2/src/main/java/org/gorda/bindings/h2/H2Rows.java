package org.gorda.bindings.h2;

import java.io.IOException;
import java.io.StringWriter;
import java.sql.SQLException;
import java.util.List;
import org.gorda.bindings.triggers.Dialect;
import org.gorda.bindings.triggers.MovedRows;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.Generator;
import org.gorda.gapi.LongValue;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.TableShape;
import org.h2.api.ErrorCode;
import org.h2.engine.Session;
import org.h2.engine.SessionLocal;
import org.h2.index.Cursor;
import org.h2.index.Index;
import org.h2.message.DbException;
import org.h2.result.Row;
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

    private record Moved(Table table, Row row) {}

    H2Rows(H2Dialect dialect, SessionLocal session) {
        this.dialect = dialect;
        this.session = session;
        this.moved = new MovedRows<>(next -> next.table().addRow(session, next.row()));
    }

    private interface Work {
        boolean run() throws SQLException;
    }

    private boolean change(Object table, Work work) throws Locked {
        session.lock();
        Session before = session.setThreadLocalSession();
        try {
            return work.run();
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
        } finally {
            session.resetThreadLocalSession(before);
            session.unlock();
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
            Row old = find(table, shape, key);
            if (old == null) {
                return false;
            }
            Row row = table.getTemplateRow();
            for (int i = 0; i < old.getColumnCount(); i++) {
                row.setValue(i, old.getValue(i));
            }
            for (int i = 0; i < columns.size(); i++) {
                int column = columns.get(i) - 1;
                row.setValue(column, value(table.getColumn(column), values.get(i)));
            }
            if (columns.stream()
                    .anyMatch(dialect.table(shape.schema(), shape.name()).unique()::contains)) {
                table.removeRow(session, old);
                moved.add(new Moved(table, row));
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
            Row old = find(table, shape, key);
            if (old != null) {
                table.removeRow(session, old);
            }
            return old != null;
        });
    }

    @Override
    public void endOfStatement() throws Locked {
        change("", () -> {
            moved.settle();
            return true;
        });
    }

    /** A row as it is now; one that was moved has its new key as soon as nobody has it as the old one. */
    private @Nullable Row find(Table table, TableShape shape, List<@Nullable Object> key) throws SQLException {
        Index primary = table.getPrimaryKey();
        Row wanted = table.getTemplateRow();
        for (int i = 0; i < key.size(); i++) {
            int column = shape.key().get(i) - 1;
            wanted.setValue(column, value(table.getColumn(column), key.get(i)));
        }
        Row found = find(primary, wanted);
        if (found == null && !moved.isEmpty()) {
            moved.settle();
            found = find(primary, wanted);
        }
        return found;
    }

    private @Nullable Row find(Index index, Row wanted) {
        Cursor cursor = index.find(session, wanted, wanted, false);
        return cursor.next() ? cursor.get() : null;
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
            ValueLob stored;
            switch (column.getType().getValueType()) {
                case Value.CLOB ->
                    stored = session.getDatabase().getLobStorage().createClob(large.text(), -1);
                case Value.BLOB ->
                    stored = session.getDatabase().getLobStorage().createBlob(large.binary(), -1);
                case Value.BINARY, Value.VARBINARY -> {
                    return org.h2.value.ValueVarbinary.getNoCopy(large.binary().readAllBytes());
                }
                default -> {
                    StringWriter text = new StringWriter();
                    large.text().transferTo(text);
                    return org.h2.value.ValueVarchar.get(text.toString());
                }
            }
            return session.addTemporaryLob(stored);
        } catch (IOException e) {
            throw new ReflectionException("a large value cannot be read", e);
        }
    }

    @Override
    public void generated(Generator generator, long last) {
        dialect.generated(session, generator, last);
    }

    @Override
    public void rolledBack() {
        moved.clear();
    }
}
