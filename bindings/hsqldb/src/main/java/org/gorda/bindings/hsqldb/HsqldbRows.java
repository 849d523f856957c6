package org.gorda.bindings.hsqldb;

import java.sql.SQLException;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.gorda.bindings.triggers.Dialect;
import org.gorda.bindings.triggers.MovedRows;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.Generator;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.TableShape;
import org.hsqldb.HsqlException;
import org.hsqldb.Row;
import org.hsqldb.Session;
import org.hsqldb.Statement;
import org.hsqldb.Table;
import org.hsqldb.error.ErrorCode;
import org.hsqldb.result.Result;
import org.jspecify.annotations.Nullable;

/** Changes rows in HSQLDB's tables and their indexes as its own recovery does: no triggers, constraints but unique ones, or generated values. Confined to the applier's thread. */
final class HsqldbRows implements Dialect.Rows {

    private static final long OTHER_ENDS_MILLIS = 10;

    private final HsqldbDialect dialect;
    private final Session session;
    private final Statement change;
    private final MovedRows<Moved> moved;

    /** Whether somebody was in the way of the last change. */
    private boolean isInTheWay;

    private record Moved(Table table, List<@Nullable Object> row) {}

    /** @param change any statement that changes rows, for HSQLDB to know what the session does */
    HsqldbRows(HsqldbDialect dialect, Session session, Statement change) {
        this.dialect = dialect;
        this.session = session;
        this.change = change;
        this.moved = new MovedRows<>(
                next -> next.table().insertNoCheckFromLog(session, next.row().toArray()));
    }

    private interface Work {
        boolean run() throws SQLException;
    }

    private boolean change(Object table, Work work) throws Locked {
        if (isInTheWay) {
            awaitOther();
            isInTheWay = false;
        }
        session.sessionContext.currentStatement = change;
        session.beginAction(change);
        Result result = Result.updateOneResult;
        try {
            return work.run();
        } catch (HsqlException e) {
            result = Result.newErrorResult(e);
            if (HsqldbDialect.isLocked(e.getErrorCode())) {
                isInTheWay = true;
                throw new Locked(e);
            }
            if (e.getErrorCode() == -ErrorCode.X_23505) {
                throw new DivergenceException("a row of " + table + " is here already: " + e.getMessage(), e);
            }
            throw new ReflectionException("a row of " + table + " cannot be changed: " + e.getMessage(), e);
        } catch (SQLException e) {
            throw new DivergenceException("rows of " + table + " cannot be changed here: " + e.getMessage(), e);
        } finally {
            session.endAction(result);
            session.sessionContext.currentStatement = null;
        }
    }

    /**
     * Waits for the end of who was in the way of the last try, and was told to make it. HSQLDB has noted that this session waits for the other one, and would
     * have its next statement wait so, without end: for a transaction that the other one has begun since, too, which may wait for ours.
     */
    private void awaitOther() {
        try {
            session.latch.await(OTHER_ENDS_MILLIS, TimeUnit.MILLISECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
        session.cancel(Result.newCancelRequest(session.getRandomId(), -1, ""));
        session.endAction(Result.updateZeroResult);
    }

    @Override
    public void insert(TableShape shape, List<@Nullable Object> values) throws Locked {
        change(shape, () -> {
            Table table = dialect.find(shape.schema(), shape.name());
            @Nullable Object[] row = table.getEmptyRowData();
            for (int i = 0; i < values.size(); i++) {
                row[i] = HsqldbValues.stored(table.getColumnTypes()[i], values.get(i));
            }
            table.insertNoCheckFromLog(session, row);
            return true;
        });
    }

    @Override
    public boolean update(
            TableShape shape, List<@Nullable Object> key, List<Integer> columns, List<@Nullable Object> values)
            throws Locked {
        return change(shape, () -> {
            Table table = dialect.find(shape.schema(), shape.name());
            Row old = find(table, shape, key);
            if (old == null) {
                return false;
            }
            @Nullable Object[] row = old.getData().clone();
            for (int i = 0; i < columns.size(); i++) {
                int column = columns.get(i) - 1;
                row[column] = HsqldbValues.stored(table.getColumnTypes()[column], values.get(i));
            }
            session.addDeleteAction(table, table.getRowStore(session), old, null);
            if (columns.stream()
                    .anyMatch(dialect.table(shape.schema(), shape.name()).unique()::contains)) {
                moved.add(new Moved(table, Arrays.asList(row)));
            } else {
                table.insertNoCheckFromLog(session, row);
            }
            return true;
        });
    }

    @Override
    public boolean delete(TableShape shape, List<@Nullable Object> key) throws Locked {
        return change(shape, () -> {
            Table table = dialect.find(shape.schema(), shape.name());
            Row old = find(table, shape, key);
            if (old != null) {
                session.addDeleteAction(table, table.getRowStore(session), old, null);
            }
            return old != null;
        });
    }

    @Override
    public void endOfStatement() throws Locked {
        if (!moved.isEmpty()) {
            change("", () -> {
                moved.settle();
                return true;
            });
        }
    }

    /** A row as it is now; one that was moved has its new key as soon as nobody has it as the old one. */
    private @Nullable Row find(Table table, TableShape shape, List<@Nullable Object> key) {
        @Nullable Object[] wanted = new @Nullable Object[key.size()]; // as HSQLDB has it in its log
        for (int i = 0; i < wanted.length; i++) {
            wanted[i] = HsqldbValues.stored(table.getColumnTypes()[shape.key().get(i) - 1], key.get(i));
        }
        Row found = table.getDeleteRowFromLog(session, wanted);
        if (found == null && !moved.isEmpty()) {
            moved.settle();
            found = table.getDeleteRowFromLog(session, wanted);
        }
        return found;
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
