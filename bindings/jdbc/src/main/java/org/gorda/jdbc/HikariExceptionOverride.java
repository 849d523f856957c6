package org.gorda.jdbc;

import com.zaxxer.hikari.SQLExceptionOverride;
import java.sql.SQLException;
import org.jspecify.annotations.Nullable;

/**
 * Tells HikariCP which errors of this driver leave a connection of use: {@code exceptionOverrideClassName} takes its name. By itself
 * HikariCP gives a connection up for 0A000, which only says that a statement cannot be replicated. Of no use are connections after
 * 08xxx and 57P01. Needs HikariCP, which the driver itself does not. Immutable.
 */
public final class HikariExceptionOverride implements SQLExceptionOverride {

    /** For HikariCP. */
    public HikariExceptionOverride() {}

    /** Is asked for an exception, and for each that follows it, until it has decided. */
    @java.lang.Override
    public Override adjudicate(SQLException failure) {
        if (endsConnection(failure.getSQLState())) {
            return Override.MUST_EVICT;
        }
        for (SQLException next = failure.getNextException(); next != null; next = next.getNextException()) {
            if (endsConnection(next.getSQLState())) {
                return Override.MUST_EVICT;
            }
        }
        return Override.DO_NOT_EVICT;
    }

    private static boolean endsConnection(@Nullable String state) {
        return state != null && (state.startsWith("08") || state.startsWith("57P"));
    }
}
