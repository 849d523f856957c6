package org.gorda.bindings.derby;

import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import org.apache.derby.catalog.UUID;
import org.apache.derby.iapi.sql.dictionary.DataDictionary;
import org.apache.derby.iapi.sql.dictionary.SPSDescriptor;
import org.apache.derby.iapi.sql.dictionary.TriggerDescriptor;
import org.apache.derby.iapi.store.access.TransactionController;
import org.apache.derby.impl.jdbc.EmbedConnection;
import org.apache.derby.shared.common.error.StandardException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Compiles what triggers do once a schema change has made it invalid. Left alone, Derby compiles it when the trigger fires next: in the
 * client's transaction, and holding a monitor that all who fire it need. Clients that begin together, as after a change of the primary,
 * then wait for each other's locks and for the monitor in a circle, until the locks' time is over after a minute. Confined to one thread.
 */
final class CompiledTriggers {

    private static final Logger LOG = LoggerFactory.getLogger(CompiledTriggers.class);

    private static final String INVALID = "SELECT T.TRIGGERID FROM SYS.SYSTRIGGERS T JOIN SYS.SYSSTATEMENTS S "
            + "ON S.STMTID = T.ACTIONSTMTID OR S.STMTID = T.WHENSTMTID WHERE NOT S.VALID";

    private final EmbedConnection connection;
    private final ReflectedConnection context;
    private final DataDictionary dictionary;

    /** @param connection with nothing to lose; it is not left in a transaction */
    CompiledTriggers(EmbedConnection connection, DataDictionary dictionary) {
        this.connection = connection;
        this.context = (ReflectedConnection) connection.getLanguageConnection();
        this.dictionary = dictionary;
    }

    /** Waits for no lock: what cannot be compiled now is left to the client that fires it. To be called in the connection's context. */
    void renew() throws SQLException {
        TransactionController transaction = context.getTransactionExecute();
        transaction.setNoLockWait(true);
        try {
            for (UUID trigger : invalid()) {
                compile(trigger);
            }
            connection.commit();
        } catch (StandardException e) {
            LOG.debug("triggers are left to be compiled by who fires them", e);
            // The compiler leaves its statement's context, in which nothing can be rolled back.
            context.getContextManager().cleanupOnError(e, false);
            connection.rollback();
        } catch (SQLException e) {
            LOG.debug("triggers are left to be compiled by who fires them", e);
            connection.rollback();
        } finally {
            transaction.setNoLockWait(false);
        }
    }

    private List<UUID> invalid() throws SQLException {
        List<UUID> found = new ArrayList<>();
        try (PreparedStatement query = connection.prepareStatement(INVALID);
                ResultSet rows = query.executeQuery()) {
            while (rows.next()) {
                found.add(dictionary.getUUIDFactory().recreateUUID(rows.getString(1)));
            }
        }
        return found;
    }

    private void compile(UUID id) throws StandardException {
        TriggerDescriptor trigger = dictionary.getTriggerDescriptor(id);
        if (trigger != null) {
            compile(trigger.getActionSPS(context));
            compile(trigger.getWhenClauseSPS(context));
        }
    }

    private static void compile(@Nullable SPSDescriptor statement) throws StandardException {
        if (statement != null) {
            statement.getPreparedStatement();
        }
    }
}
