package org.gorda.bindings.h2;

import java.lang.StackWalker.StackFrame;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.gorda.bindings.triggers.RowCapture;
import org.h2.api.Trigger;
import org.h2.engine.SessionLocal;
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
        SessionLocal session = H2Dialect.session(connection);
        table = session.getDatabase().getSchema(schema).getTableOrView(session, name);
    }

    @Override
    public void fire(Connection connection, Object @Nullable [] before, Object @Nullable [] after) throws SQLException {
        RowCapture capture = H2Dialect.capture(connection);
        if (capture == null) {
            return;
        }
        List<StackFrame> frames = StackWalker.getInstance()
                .walk(all -> all.filter(StatementTrigger::isStatement).toList());
        long statements = frames.stream()
                .filter(frame -> frame.getClassName().equals(STATEMENT))
                .count();
        if (statements == 1) { // not within another one: a cascade, a trigger, or the update of a MERGE
            capture.tries();
        }
        // What calls this is one of them itself. The update of a MERGE is called by none.
        capture.changes(H2Dialect.name(Objects.requireNonNull(table)), (int) (frames.size() - statements) - 1);
    }

    /** Or what calls triggers and keeps foreign keys. */
    private static boolean isStatement(StackFrame frame) {
        return frame.getClassName().equals(STATEMENT)
                || (frame.getClassName().equals(TABLE) && FIRES.contains(frame.getMethodName()));
    }
}
