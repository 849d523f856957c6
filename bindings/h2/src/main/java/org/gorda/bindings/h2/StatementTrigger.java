package org.gorda.bindings.h2;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Objects;
import java.util.Set;
import org.gorda.bindings.triggers.RowCapture;
import org.h2.api.Trigger;
import org.h2.table.Table;
import org.jspecify.annotations.Nullable;

/**
 * Tells of each time that H2 begins to execute a statement. When a client's meets another transaction's row, H2 executes it again without
 * taking back what it has done, and without calling triggers for that. Made by H2; thread-safe.
 */
public final class StatementTrigger implements Trigger {

    private static final String STATEMENT = "org.h2.command.dml.DataChangeStatement";
    private static final String TABLE = "org.h2.table.Table";
    private static final Set<String> FIRES = Set.of("fire", "fireBeforeRow", "fireAfterRow");

    /** As H2 has it: it may get another name. */
    private volatile @Nullable Table table;

    /** For H2. */
    public StatementTrigger() {}

    @Override
    public void init(Connection connection, String schema, String trigger, String name, boolean isBefore, int type)
            throws SQLException {
        table = H2Dialect.session(connection).getDatabase().getSchema(schema).getTableOrView(null, name);
    }

    @Override
    public void fire(Connection connection, Object @Nullable [] before, Object @Nullable [] after) throws SQLException {
        RowCapture capture = H2Dialect.capture(connection);
        if (capture != null) {
            if (count(STATEMENT, Set.of("update"))
                    == 1) { // not within another one: a cascade, a trigger, or the update of a MERGE
                capture.tries();
            }
            Table changed = Objects.requireNonNull(table);
            // What calls this is one of them itself. The update of a MERGE is called by none.
            capture.changes(changed.getSchema().getName(), changed.getName(), count(TABLE, FIRES) - 1);
        }
    }

    private static int count(String type, Set<String> methods) {
        return (int) (long) StackWalker.getInstance()
                .walk(frames -> frames.filter(
                                frame -> frame.getClassName().equals(type) && methods.contains(frame.getMethodName()))
                        .count());
    }
}
