package org.gorda.bindings.h2;

import java.sql.Connection;
import java.sql.SQLException;
import org.gorda.bindings.triggers.RowCapture;
import org.h2.api.Trigger;
import org.jspecify.annotations.Nullable;

/**
 * Tells of each time that H2 begins to execute a client's statement. When one meets another transaction's row, H2 executes it again without
 * taking back what it has done, and without calling triggers for that. Made by H2; thread-safe.
 */
public final class StatementTrigger implements Trigger {

    private static final String STATEMENT = "org.h2.command.dml.DataChangeStatement";

    /** For H2. */
    public StatementTrigger() {}

    @Override
    public void fire(Connection connection, Object @Nullable [] before, Object @Nullable [] after) throws SQLException {
        RowCapture capture = H2Dialect.capture(connection);
        if (capture != null && isClients()) {
            capture.tries();
        }
    }

    /** Not within another one: a cascade, a trigger, or the update of a MERGE. */
    private static boolean isClients() {
        return StackWalker.getInstance()
                .walk(frames -> frames.filter(frame -> frame.getClassName().equals(STATEMENT))
                                .limit(2)
                                .count()
                        == 1);
    }
}
