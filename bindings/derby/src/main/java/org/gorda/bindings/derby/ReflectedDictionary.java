package org.gorda.bindings.derby;

import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.lang.reflect.Proxy;
import org.apache.derby.iapi.sql.conn.LanguageConnectionContext;
import org.apache.derby.iapi.sql.dictionary.DataDictionary;
import org.apache.derby.iapi.sql.dictionary.SchemaDescriptor;
import org.apache.derby.iapi.sql.dictionary.SequenceDescriptor;
import org.apache.derby.iapi.store.access.TransactionController;
import org.apache.derby.iapi.types.NumberDataValue;
import org.apache.derby.shared.common.error.StandardException;
import org.apache.derby.shared.common.reference.SQLState;
import org.gorda.gapi.Generator;
import org.gorda.gapi.Refusal;
import org.jspecify.annotations.Nullable;

/** Derby's data dictionary with an eye on the names and keys it generates, and on when it changes. Thread-safe. */
final class ReflectedDictionary implements InvocationHandler {

    private final DataDictionary derby;
    private final CapturedTables tables;

    private ReflectedDictionary(DataDictionary derby, CapturedTables tables) {
        this.derby = derby;
        this.tables = tables;
    }

    static DataDictionary of(DataDictionary derby, CapturedTables tables) {
        return (DataDictionary) Proxy.newProxyInstance(
                DataDictionary.class.getClassLoader(),
                new Class<?>[] {DataDictionary.class},
                new ReflectedDictionary(derby, tables));
    }

    @Override
    public @Nullable Object invoke(Object proxy, Method method, Object @Nullable [] arguments) throws Throwable {
        String name = method.getName();
        if (name.equals("addDescriptor") && arguments != null && isApartFromItsTransaction(arguments)) {
            throw StandardException.newException(SQLState.LOCK_TIMEOUT);
        }
        if (name.equals("getCurrentValueAndAdvance") && arguments != null) {
            ReflectedConnection connection = ReflectedConnection.current();
            if (connection != null && connection.takeLeased((String) arguments[0], (NumberDataValue) arguments[1])) {
                return null;
            }
        }
        if (name.equals("addDescriptor") && arguments != null && arguments[0] instanceof SequenceDescriptor sequence) {
            ReflectedConnection connection = ReflectedConnection.current();
            if (connection != null) {
                connection.generatorCreated(sequence);
            }
        }
        if (name.equals("peekAtIdentity") && arguments != null) {
            ReflectedConnection connection = ReflectedConnection.current();
            if (connection != null && connection.knowsGeneratorsByCatalogue()) {
                // Derby would look for a sequence that a rollback has taken away again.
                Generator identity = new Generator(true, (String) arguments[0], (String) arguments[1]);
                SequenceDescriptor sequence = GeneratorTable.find(connection, identity);
                return sequence == null ? null : sequence.getCurrentValue();
            }
        }
        if (name.equals("transactionFinished")) {
            ReflectedConnection connection = ReflectedConnection.current();
            if (connection != null && connection.tellsDictionaryLater()) {
                return null;
            }
        }
        Object result;
        try {
            result = method.invoke(derby, arguments);
        } catch (InvocationTargetException e) {
            if (name.equals("getCurrentValueAndAdvance") && e.getCause() instanceof NullPointerException) {
                // Derby does not expect that. Run again, it is told what is missing.
                throw new DerbyRefusal(new Refusal(
                        Refusal.Cause.CONFLICT,
                        "another transaction is dropping the table or sequence that a value was to be taken from; run this "
                                + "transaction again"));
            }
            throw e.getCause() == null ? e : e.getCause();
        }
        // Derby's stored statements begin to write without asking here: what counts is what is so after the call.
        if (name.equals("startWriting")
                && arguments != null
                && arguments[0] instanceof LanguageConnectionContext connection
                && connection.dataDictionaryInWriteMode()) {
            tables.schemaChangeBegins(connection);
        } else if (name.equals("transactionFinished")) {
            ReflectedConnection connection = ReflectedConnection.current();
            if (connection != null) {
                tables.schemaChangeEnded(connection);
            }
        }
        if (name.equals("getSystemSQLName")) {
            ReflectedConnection connection = ReflectedConnection.current();
            return connection == null ? result : connection.generatedName((String) result);
        }
        if (name.equals("getCurrentValueAndAdvance") && arguments != null) {
            ReflectedConnection connection = ReflectedConnection.current();
            if (connection != null) {
                connection.generated((String) arguments[0], ((NumberDataValue) arguments[1]).getLong());
            }
        }
        return result;
    }

    /**
     * Derby makes a missing schema with the first object in it, and in a transaction of its own, so that a rollback would leave it
     * behind on this replica alone. When that one fails to get a lock, Derby makes the schema in the client's transaction.
     */
    private static boolean isApartFromItsTransaction(Object[] arguments) {
        ReflectedConnection connection = ReflectedConnection.current();
        return arguments[0] instanceof SchemaDescriptor
                && arguments[arguments.length - 1] instanceof TransactionController transaction
                && connection != null
                && !transaction.equals(connection.getTransactionExecute());
    }
}
