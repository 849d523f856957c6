package org.gorda.replicator.core;

import java.nio.ByteBuffer;
import java.util.Map;
import java.util.OptionalLong;
import org.gorda.gapi.Generator;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.TransactionId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Position;
import org.jspecify.annotations.Nullable;

/** What the core wants done, in the order of the calls. */
public interface Effects {

    /**
     * The transaction, of the current epoch, is committed: its database transaction if it waits here, else its write set is to be applied, in its turn.
     *
     * @param chunks the indexes of the messages, {@link ReplicaMessage.Chunk}s, whose contents precede the write set
     */
    void commit(Position position, TransactionId id, long[] chunks, ByteBuffer writeSet);

    /** A chunk of the transaction is ordered, which may be of no use any more. */
    void chunk(TransactionId id);

    /**
     * The transaction is not committed; if it waits here, its client is to be told.
     *
     * @param epoch in which it began: if that is over, its client knows already, and may have run it again by the same name
     */
    void discard(TransactionId id, long epoch, Refusal refusal);

    /** The transaction, of the current epoch, is not committed because of another one; if it waits here, its client is to be told. */
    void conflict(TransactionId id, Conflict conflict);

    /**
     * From this place in the order on, a member's run is the primary. If it is this one, it has everything before its own epoch and
     * may execute; otherwise nothing that runs here can be committed any more.
     */
    void primary(MemberId member, long epoch, boolean here);

    /**
     * The group begins. This replica goes on only if its database is not past that and held the same rows.
     *
     * @param member whose rows they are
     */
    void begun(Position position, MemberId member, FirstRows rows);

    /**
     * From this place in the order on the group runs another protocol. Every member executes; or nobody does until there is a primary. Nothing
     * executed before can be committed.
     *
     * @param next where generators are to go on, of which values were leased until now; empty if they have none left
     */
    void protocolChanged(ReplicationProtocol protocol, Position epoch, Map<Generator, OptionalLong> next);

    /** The outcome asked for by {@code request}, which this or another replica has sent. */
    void outcome(long request, MemberId asker, TransactionId id, Outcome outcome);

    /**
     * The transaction that is committed next changes the schema. Before it is, generators are to go on with these values, and nothing that
     * was leased counts any more.
     *
     * @param next by generator; empty if it has none left
     */
    void settle(Map<Generator, OptionalLong> next);

    /**
     * The values asked for by {@code request}, which this or another replica has sent.
     *
     * @param range null if the schema has changed behind what the asker saw
     */
    void lease(long request, MemberId asker, @Nullable LeasedRange range);

    /**
     * A transaction has begun, or ended, its turn to change the schema: see {@link ReplicaMessage.SchemaTurn}.
     *
     * @param id as the turn names it
     */
    void schemaTurn(TransactionId id, Position position, boolean ends);

    /** What is held at this place in the order is to be compared. */
    void verify(long request, Position position);

    /** No member will ask for what lies up to {@code index} again. */
    void durableEverywhere(long index);

    /** Sends a message through the total order. */
    void send(ReplicaMessage message);
}
