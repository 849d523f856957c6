package org.gorda.bindings.h2;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.Objects;
import org.gorda.bindings.triggers.RowCapture;
import org.h2.tools.TriggerAdapter;
import org.jspecify.annotations.Nullable;

/** Tells of each row that is changed, after it is. Made by H2; thread-safe. */
public final class CaptureTrigger extends TriggerAdapter {

    /** For H2. */
    public CaptureTrigger() {}

    @Override
    public void fire(Connection connection, @Nullable ResultSet before, @Nullable ResultSet after) throws SQLException {
        RowCapture capture = H2Dialect.capture(connection);
        if (capture != null) {
            ResultSetMetaData row =
                    Objects.requireNonNull(before != null ? before : after).getMetaData();
            capture.changed(
                    () -> H2Dialect.captured(connection, row.getSchemaName(1), row.getTableName(1)),
                    RowCapture.Row.of(before),
                    RowCapture.Row.of(after),
                    (table, key) -> H2Dialect.now(connection, table, key));
        }
    }
}
