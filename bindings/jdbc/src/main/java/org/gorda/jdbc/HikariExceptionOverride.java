package org.gorda.jdbc;

import com.zaxxer.hikari.SQLExceptionOverride;
import java.sql.SQLException;
import java.util.Arrays;
import org.jspecify.annotations.Nullable;

/**
 * Tells HikariCP which errors of this driver leave a connection of use: {@code exceptionOverrideClassName} takes its name. By itself
 * HikariCP gives a connection up for 0A000, which only says that a statement cannot be replicated. Of no use are connections after
 * 08xxx and 57P01. Needs HikariCP, which the driver itself does not. Immutable.
 */
public final class HikariExceptionOverride implements SQLExceptionOverride {

    /** By its name, which HikariCP before 6.1 does not have: there an end of a connection is what it evicts by itself, unless it is told not to. */
    private static final Override EVICT = Arrays.stream(Override.values())
            .filter(one -> one.name().equals("MUST_EVICT"))
            .findFirst()
            .orElse(Override.CONTINUE_EVICT);

    /** For HikariCP. */
    public HikariExceptionOverride() {}

    /** Is asked for an exception, and for each that follows it, until it has decided. */
    @java.lang.Override
    public Override adjudicate(SQLException failure) {
        if (endsConnection(failure.getSQLState())) {
            return EVICT;
        }
        for (SQLException next = failure.getNextException(); next != null; next = next.getNextException()) {
            if (endsConnection(next.getSQLState())) {
                return EVICT;
            }
        }
        return Override.DO_NOT_EVICT;
    }

    private static boolean endsConnection(@Nullable String state) {
        return state != null && (state.startsWith("08") || state.startsWith("57P"));
    }
}
