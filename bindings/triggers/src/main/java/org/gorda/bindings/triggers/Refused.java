package org.gorda.bindings.triggers;

import java.sql.SQLException;
import java.sql.SQLFeatureNotSupportedException;
import java.sql.SQLTransactionRollbackException;
import org.gorda.gapi.Refusal;

/** Refusals as clients are told of them. Stateless. */
public final class Refused {

    private Refused() {}

    /** A refusal as an exception of the class that JDBC has for its SQLSTATE. */
    public static SQLException of(Refusal refusal) {
        String state = refusal.cause().sqlState();
        return switch (state.substring(0, 2)) {
            case "40" -> new SQLTransactionRollbackException(refusal.message(), state);
            case "0A" -> new SQLFeatureNotSupportedException(refusal.message(), state);
            default -> new SQLException(refusal.message(), state);
        };
    }

    /** An unsupported feature, refused at the statement that needs it. */
    public static SQLException unsupported(String message) {
        return of(Refusal.unsupported(message));
    }
}
