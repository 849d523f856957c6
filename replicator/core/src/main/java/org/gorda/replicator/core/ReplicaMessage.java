package org.gorda.replicator.core;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.gorda.gapi.Generator;
import org.gorda.gapi.GeneratorState;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MessageId;

/** What replicas send each other through the total order. Immutable. */
public sealed interface ReplicaMessage {

    /** Of what they are in bytes. */
    byte VERSION = 10;

    /** Bytes that {@link #putWriteSetHeader} takes before a write set. */
    int WRITE_SET_HEADER_BYTES = 54;

    /** Bytes that {@link #putChunkHeader} takes before a chunk. */
    int CHUNK_HEADER_BYTES = 50;

    /**
     * A transaction asks to be committed.
     *
     * @param epoch in which it began
     * @param begun the index up to which its replica showed everything when it began
     * @param executed the index up to which everything had run in its replica when it asked, after its chunks if there are any; when it
     *     had its {@link SchemaTurn}, if it changes the schema
     * @param chunks how many chunks precede the write set
     * @param writeSet encoded
     */
    record Commit(TransactionId id, long epoch, long begun, long executed, int chunks, ByteBuffer writeSet)
            implements ReplicaMessage {}

    /**
     * Part of what precedes the write set of a large transaction, which may ask to be committed later.
     *
     * @param epoch as in {@link Commit}
     * @param base the index up to which its replica showed everything before the first chunk
     * @param number counts the transaction's chunks from 0
     * @param checksum CRC32C of the content
     */
    record Chunk(TransactionId id, long epoch, long base, int number, int checksum, ByteBuffer content)
            implements ReplicaMessage {}

    /**
     * A member makes itself the primary. The place of this message in the order is the new epoch.
     *
     * @param run tells the member's runs apart: what an earlier run executed is not this one's
     */
    record Primary(MemberId member, long run) implements ReplicaMessage {}

    /**
     * Begins the group, if nobody has before; its place is the first epoch.
     *
     * @param protocol of a group, so not {@link ReplicationProtocol#LOOPBACK}
     * @param rows that the sender's database held before, and so must all that go on from here
     */
    record Begin(ReplicationProtocol protocol, FirstRows rows) implements ReplicaMessage {}

    /**
     * From here on the group runs another protocol; if one member executes in it, that is not chosen yet. The place of this
     * message is the new epoch, unless the protocol was changed since, or a primary.
     *
     * @param protocol of a group, so not {@link ReplicationProtocol#LOOPBACK}
     * @param epoch current where it was sent
     */
    record ChangeProtocol(ReplicationProtocol protocol, long epoch) implements ReplicaMessage {}

    /**
     * A client asks for the outcome of a transaction, and if there is none yet, that there shall be none but aborted.
     *
     * @param since an index that the group had reached before the transaction asked to be committed
     * @param request echoed to the asker
     */
    record Close(TransactionId id, long since, long request) implements ReplicaMessage {}

    /**
     * Nothing will follow the chunks of a transaction that its origin has given up, or that has lost it. Its client, who knows, may run it again by the same name.
     *
     * @param last the last of those chunks, or any; what its sender sent later is of another try
     */
    record Abandon(TransactionId id, MessageId last) implements ReplicaMessage {}

    /**
     * All replicas are to compare what they hold at this place in the order.
     *
     * @param epoch current where it was asked for, in no other it counts: the primary has others wait for it
     */
    record Verify(long request, long epoch) implements ReplicaMessage {}

    /** A replica will not fall behind {@code index} in any crash. */
    record Durable(MemberId member, long index) implements ReplicaMessage {}

    /**
     * A member wants values of a generator for itself, where every member executes.
     *
     * @param request echoed to the asker
     * @param seen the index up to which everything was visible where the state was read; no schema change may be behind it
     * @param count how many are wanted
     */
    record Lease(long request, long seen, int count, GeneratorState state) implements ReplicaMessage {}

    /**
     * A transaction wants to change the schema, where every member executes. What others sent before they knew of it is not certified,
     * and until it is over they send nothing, so that no rows are changed beside it.
     *
     * @param id its name so far; its client may give it another one for its commit
     * @param ends whether it is over
     */
    record SchemaTurn(TransactionId id, boolean ends) implements ReplicaMessage {}

    /** Writes the header of a {@link Commit} in front of its write set. */
    static void putWriteSetHeader(
            ByteBuffer target, TransactionId id, long epoch, long begun, long executed, int chunks) {
        target.put(Kind.COMMIT).put(VERSION);
        putTransaction(target, id);
        target.putLong(epoch).putLong(begun).putLong(executed).putInt(chunks);
    }

    /** Writes the header of a {@link Chunk} in front of its content. */
    static void putChunkHeader(ByteBuffer target, TransactionId id, long epoch, long base, int number, int checksum) {
        target.put(Kind.CHUNK).put(VERSION);
        putTransaction(target, id);
        target.putLong(epoch).putLong(base).putInt(number).putInt(checksum);
    }

    private static void putTransaction(ByteBuffer target, TransactionId id) {
        target.putLong(id.session().high()).putLong(id.session().low()).putLong(id.number());
    }

    /** Encodes any message but a {@link Commit} or a {@link Chunk}. */
    static ByteBuffer encode(ReplicaMessage message) {
        if (message instanceof Primary primary) {
            byte[] name = primary.member().name().getBytes(StandardCharsets.UTF_8);
            return ByteBuffer.allocate(12 + name.length)
                    .put(Kind.PRIMARY)
                    .put(VERSION)
                    .putLong(primary.run())
                    .putShort((short) name.length)
                    .put(name)
                    .flip();
        } else if (message instanceof Begin begin) {
            return ByteBuffer.allocate(19)
                    .put(Kind.BEGIN)
                    .put(VERSION)
                    .put(Kind.code(begin.protocol()))
                    .putLong(begin.rows().count())
                    .putLong(begin.rows().checksum())
                    .flip();
        } else if (message instanceof ChangeProtocol change) {
            return ByteBuffer.allocate(11)
                    .put(Kind.CHANGE_PROTOCOL)
                    .put(VERSION)
                    .put(Kind.code(change.protocol()))
                    .putLong(change.epoch())
                    .flip();
        } else if (message instanceof Close close) {
            ByteBuffer out = ByteBuffer.allocate(42).put(Kind.CLOSE).put(VERSION);
            putTransaction(out, close.id());
            return out.putLong(close.since()).putLong(close.request()).flip();
        } else if (message instanceof Abandon abandon) {
            byte[] name = abandon.last().member().name().getBytes(StandardCharsets.UTF_8);
            ByteBuffer out =
                    ByteBuffer.allocate(44 + name.length).put(Kind.ABANDON).put(VERSION);
            putTransaction(out, abandon.id());
            return out.putLong(abandon.last().incarnation())
                    .putLong(abandon.last().sequence())
                    .putShort((short) name.length)
                    .put(name)
                    .flip();
        } else if (message instanceof Verify verify) {
            return ByteBuffer.allocate(18)
                    .put(Kind.VERIFY)
                    .put(VERSION)
                    .putLong(verify.request())
                    .putLong(verify.epoch())
                    .flip();
        } else if (message instanceof Durable durable) {
            byte[] name = durable.member().name().getBytes(StandardCharsets.UTF_8);
            return ByteBuffer.allocate(12 + name.length)
                    .put(Kind.DURABLE)
                    .put(VERSION)
                    .putLong(durable.index())
                    .putShort((short) name.length)
                    .put(name)
                    .flip();
        } else if (message instanceof Lease lease) {
            GeneratorState state = lease.state();
            ByteBuffer out = ByteBuffer.allocate(54 + Leases.encodedBytes(state.generator()))
                    .put(Kind.LEASE)
                    .put(VERSION)
                    .putLong(lease.request())
                    .putLong(lease.seen())
                    .putInt(lease.count());
            Leases.encode(state.generator(), out);
            return out.putLong(state.next())
                    .putLong(state.increment())
                    .putLong(state.minimum())
                    .putLong(state.maximum())
                    .flip();
        } else if (message instanceof SchemaTurn turn) {
            ByteBuffer out = ByteBuffer.allocate(27).put(Kind.SCHEMA_TURN).put(VERSION);
            putTransaction(out, turn.id());
            return out.put((byte) (turn.ends() ? 1 : 0)).flip();
        }
        throw new IllegalArgumentException("a commit or chunk is encoded in place");
    }

    /**
     * Decodes a delivered message.
     *
     * @throws MalformedMessageException if the bytes are not a message of this version
     */
    static ReplicaMessage decode(ByteBuffer payload) {
        ByteBuffer in = payload.duplicate();
        try {
            byte kind = in.get();
            byte version = in.get();
            if (version != VERSION) {
                throw new MalformedMessageException("a message of version " + version + ", this replica speaks version "
                        + VERSION + ": run the same release on all replicas");
            }
            return switch (kind) {
                case Kind.COMMIT ->
                    new Commit(transaction(in), in.getLong(), in.getLong(), in.getLong(), in.getInt(), in.slice());
                case Kind.CHUNK ->
                    new Chunk(transaction(in), in.getLong(), in.getLong(), in.getInt(), in.getInt(), in.slice());
                case Kind.PRIMARY -> {
                    long run = in.getLong();
                    yield new Primary(member(in), run);
                }
                case Kind.BEGIN -> new Begin(Kind.protocol(in.get()), new FirstRows(in.getLong(), in.getLong()));
                case Kind.CHANGE_PROTOCOL -> new ChangeProtocol(Kind.protocol(in.get()), in.getLong());
                case Kind.CLOSE -> new Close(transaction(in), in.getLong(), in.getLong());
                case Kind.ABANDON -> {
                    TransactionId id = transaction(in);
                    long incarnation = in.getLong();
                    long sequence = in.getLong();
                    yield new Abandon(id, new MessageId(member(in), incarnation, sequence));
                }
                case Kind.VERIFY -> new Verify(in.getLong(), in.getLong());
                case Kind.DURABLE -> {
                    long index = in.getLong();
                    yield new Durable(member(in), index);
                }
                case Kind.LEASE -> new Lease(in.getLong(), in.getLong(), in.getInt(), state(in));
                case Kind.SCHEMA_TURN -> new SchemaTurn(transaction(in), in.get() != 0);
                default -> throw new MalformedMessageException("a message of unknown kind " + kind);
            };
        } catch (BufferUnderflowException | IllegalArgumentException e) {
            throw new MalformedMessageException("a message is cut short or malformed: " + e.getMessage());
        }
    }

    private static TransactionId transaction(ByteBuffer in) {
        return new TransactionId(new SessionId(in.getLong(), in.getLong()), in.getLong());
    }

    private static GeneratorState state(ByteBuffer in) {
        Generator generator = Leases.generator(in);
        return new GeneratorState(generator, in.getLong(), in.getLong(), in.getLong(), in.getLong());
    }

    private static MemberId member(ByteBuffer in) {
        int length = in.getShort() & 0xffff;
        if (length > in.remaining()) {
            throw new BufferUnderflowException();
        }
        byte[] name = new byte[length];
        in.get(name);
        return new MemberId(new String(name, StandardCharsets.UTF_8));
    }

    /** Codes on the wire. */
    final class Kind {
        static final byte COMMIT = 1;
        static final byte PRIMARY = 2;
        static final byte CLOSE = 3;
        static final byte VERIFY = 4;
        static final byte DURABLE = 5;
        static final byte CHUNK = 6;
        static final byte CHANGE_PROTOCOL = 7;
        static final byte LEASE = 8;
        static final byte SCHEMA_TURN = 9;
        static final byte BEGIN = 10;
        static final byte ABANDON = 11;

        private Kind() {}

        static byte code(ReplicationProtocol protocol) {
            return switch (protocol) {
                case PRIMARY_BACKUP -> 0;
                case CERTIFICATION -> 1;
                case ASYNCHRONOUS -> 2;
                case LOOPBACK -> throw new IllegalArgumentException(protocol + " is not a group's");
            };
        }

        static ReplicationProtocol protocol(byte code) {
            return switch (code) {
                case 0 -> ReplicationProtocol.PRIMARY_BACKUP;
                case 1 -> ReplicationProtocol.CERTIFICATION;
                case 2 -> ReplicationProtocol.ASYNCHRONOUS;
                default -> throw new MalformedMessageException("an unknown protocol " + code);
            };
        }
    }
}
