package org.gorda.bindings.hsqldb;

import java.sql.SQLException;
import java.util.Objects;
import org.gorda.bindings.triggers.RowCapture;
import org.hsqldb.Session;
import org.hsqldb.error.Error;
import org.hsqldb.trigger.Trigger;
import org.jspecify.annotations.Nullable;

/** Tells of each row that is changed, after it is. Made by HSQLDB; thread-safe. */
public final class CaptureTrigger implements Trigger {

    /** For HSQLDB. */
    public CaptureTrigger() {}

    @Override
    public void fire(
            int type,
            String trigger,
            String table,
            String[] columns,
            @Nullable Object @Nullable [] before,
            @Nullable Object @Nullable [] after) {
        try {
            Session session = HsqldbDialect.firing();
            RowCapture capture = HsqldbDialect.capture(session);
            if (capture != null) {
                capture.changed(
                        () -> HsqldbDialect.captured(session, trigger),
                        HsqldbValues.row(before),
                        HsqldbValues.row(after));
            }
        } catch (SQLException e) {
            throw Error.error(Objects.requireNonNullElse(e.getMessage(), ""), e.getSQLState());
        }
    }
}
