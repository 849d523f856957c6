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
            // What calls this fires itself; the update of a MERGE is called by nothing that does.
            int[] depths = {0, -1};
            StackWalker.getInstance().forEach(frame -> {
                String method = frame.getMethodName();
                depths[0] += method.equals("update") && frame.getClassName().equals(STATEMENT) ? 1 : 0;
                depths[1] += FIRES.contains(method) && frame.getClassName().equals(TABLE) ? 1 : 0;
            });
            if (depths[0] == 1) { // not within another one: a cascade, a trigger, or the update of a MERGE
                capture.tries();
            }
            Table changed = Objects.requireNonNull(table);
            capture.changes(changed.getSchema().getName(), changed.getName(), depths[1]);
        }
    }
}
