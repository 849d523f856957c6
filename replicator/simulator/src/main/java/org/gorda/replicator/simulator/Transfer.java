package org.gorda.replicator.simulator;

import java.nio.ByteBuffer;
import org.gorda.gapi.TransactionId;
import org.gorda.replicator.core.ReplicaMessage;

/**
 * A write set of the simulated bank: an amount goes from one account to another. Carries what the transaction has read, so that
 * whoever applies it notices if it ran on anything else. Immutable.
 *
 * @param fromBefore the balance that the transaction found
 * @param toBefore the balance that the transaction found
 */
record Transfer(TransactionId id, int from, long fromBefore, int to, long toBefore, long amount) {

    private static final int BYTES = 2 * Integer.BYTES + 3 * Long.BYTES;

    /** The message that asks for its commit. */
    ByteBuffer message(long epoch, long base) {
        ByteBuffer message = ByteBuffer.allocate(ReplicaMessage.WRITE_SET_HEADER_BYTES + BYTES);
        ReplicaMessage.putWriteSetHeader(message, id, epoch, base);
        return message.putInt(from)
                .putLong(fromBefore)
                .putInt(to)
                .putLong(toBefore)
                .putLong(amount)
                .flip();
    }

    static Transfer decode(TransactionId id, ByteBuffer writeSet) {
        ByteBuffer in = writeSet.duplicate();
        return new Transfer(id, in.getInt(), in.getLong(), in.getInt(), in.getLong(), in.getLong());
    }

    boolean touches(int account) {
        return from == account || to == account;
    }
}
