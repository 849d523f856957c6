package org.gorda.bindings.h2;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import org.gorda.bindings.triggers.RowCapture;
import org.h2.mvstore.tx.Transaction;
import org.h2.tools.TriggerAdapter;
import org.jspecify.annotations.Nullable;

/**
 * Tells of rows whose change is taken back, of which H2 otherwise says nothing. Apart from {@link CaptureTrigger}, because H2 goes on when a trigger fails that is called at a
 * rollback, too. Made by H2; thread-safe.
 */
public final class RollbackTrigger extends TriggerAdapter {

    /** For H2. */
    public RollbackTrigger() {}

    @Override
    public void fire(Connection connection, @Nullable ResultSet before, @Nullable ResultSet after) throws SQLException {
        if (H2Dialect.session(connection).getTransaction().getStatus() != Transaction.STATUS_OPEN) {
            RowCapture capture = H2Dialect.capture(connection);
            if (capture != null) {
                capture.tookBack();
            }
        }
    }
}
