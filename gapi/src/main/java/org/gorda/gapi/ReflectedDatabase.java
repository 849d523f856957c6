package org.gorda.gapi;

import java.net.InetSocketAddress;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.List;
import java.util.Optional;
import java.util.Properties;
import javax.net.ssl.SSLContext;
import org.jspecify.annotations.Nullable;

/** An open database, reflected. Thread-safe. */
public interface ReflectedDatabase extends AutoCloseable {

    /** Opens a connection as a client of the database, whose transactions are reflected. */
    Connection connect(Properties properties) throws SQLException;

    /** The tables whose changes are reflected. */
    List<TableShape> tables();

    /** Opens an applier; one at a time. */
    Applier applier();

    /** Up to where the database holds everything, empty if nothing was ever committed with a position. */
    Optional<StoredPosition> storedPosition();

    /**
     * Forces to disk everything committed so far.
     *
     * @return a position that the database will not fall behind in a crash; empty as for {@link #storedPosition}
     */
    Optional<StoredPosition> flush();

    /**
     * Forgets the position, on disk: what the database holds is no group's any more, so that a new one can begin with it. To be called before anything is
     * applied or committed.
     *
     * @throws ReflectionException if the database fails; the position may be there still
     */
    void forget();

    /**
     * Writes a copy of the database as it is at some moment during the call, with the position that it holds then. Clients and the applier
     * go on meanwhile; a schema change may wait.
     *
     * @param directory to be made; it is there only when all of it is
     * @throws ReflectionException if it exists or cannot be written, or if the binding has no {@link Capability#SNAPSHOT}
     */
    void snapshot(Path directory);

    /**
     * Keeps all rows as they are at some moment during the call, so that they can go to a database of another kind. Clients and the applier go on
     * meanwhile; a schema change may wait.
     *
     * @param directory to be made, for what that takes on disk; the caller's to delete once the rows are closed
     * @throws ReflectionException as {@link #snapshot}
     */
    FrozenRows freeze(Path directory);

    /**
     * Comes back when the database has answered, if only that it can do nothing. Asks for the least there is, and waits for nobody who uses the database, so
     * that it takes long only if the database stands still. One that lives in this process need not be asked. One at a time.
     *
     * @throws ReflectionException if the answer is an error
     */
    default void ping() {}

    /** Local transactions will change the database from now on, after others did: makes generated keys go on behind theirs. */
    void takeOver();

    /** {@linkplain TransactionContext#abort Aborts} all local transactions that have changed something. */
    void abortAll(Refusal refusal);

    /** The commits that wait for an answer. */
    List<SuspendedCommit> suspended();

    /**
     * Lets clients of the database's own kind in over the network. Who they are the database asks, as it always does.
     *
     * @param tls with which they are spoken to, and in no other way; no certificate is asked for. If null, in plain text
     * @return the JDBC URL by which the database's own driver reaches it; with {@code tls}, what it needs for that stands behind the database's name
     * @throws ReflectionException if the address cannot be bound, or if the binding has no {@link Capability#NETWORK_SERVER}
     */
    String listen(InetSocketAddress address, @Nullable SSLContext tls);

    /** Closes it in order: suspended commits are left unknown, running transactions are rolled back, all is forced to disk. */
    @Override
    void close();
}
