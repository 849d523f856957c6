package org.gorda.replicator.core;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Collection;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MessageId;

/**
 * Where the chunks of transactions lie that are not decided yet. The chunks themselves stay in the log. Confined to the core's
 * caller.
 */
final class Chunks {

    static final long[] NONE = {};

    /** By the place of the first chunk. */
    private final LinkedHashMap<TransactionId, Places> open = new LinkedHashMap<>();

    private static final class Places {
        final MessageId first;
        long[] indexes = new long[4];
        int count;

        /** How many bytes were ordered up to the last of them. */
        long bytes;

        Places(MessageId first) {
            this.first = first;
        }

        boolean isOf(MessageId message) {
            return first.incarnation() == message.incarnation()
                    && first.member().equals(message.member());
        }

        void add(long index, long ordered) {
            if (count == indexes.length) {
                indexes = Arrays.copyOf(indexes, count * 2);
            }
            indexes[count++] = index;
            bytes = ordered;
        }
    }

    /**
     * The next chunk of a transaction, by a message; any other than the next one is passed over.
     *
     * @param bytes how many were ordered up to here
     */
    void add(MessageId message, TransactionId id, int number, long index, long bytes) {
        Places places = open.get(id);
        if (number == 0 && (places == null || places.isOf(message))) {
            // Its sender has given up what it had sent before under that name, if anything, and has not said so yet.
            open.remove(id);
            places = new Places(message);
            open.put(id, places);
        }
        if (places != null && places.count == number && places.isOf(message)) {
            places.add(index, bytes);
        }
    }

    /** The transaction is to be committed by a message: where its chunks lie. Of another member's that has the same name they stay. */
    long[] take(MessageId message, TransactionId id) {
        Places places = open.get(id);
        return places == null || !places.isOf(message) ? NONE : take(id);
    }

    /** The transaction is decided: where its chunks lay. */
    long[] take(TransactionId id) {
        Places places = open.remove(id);
        return places == null ? NONE : Arrays.copyOf(places.indexes, places.count);
    }

    /** Nothing will follow them. Those of another try by the same name stay. */
    void abandon(ReplicaMessage.Abandon abandoned) {
        Places places = open.get(abandoned.id());
        if (places != null
                && places.isOf(abandoned.last())
                && places.first.sequence() <= abandoned.last().sequence()) {
            open.remove(abandoned.id());
        }
    }

    /** None of the transactions can be committed any more. */
    void clear() {
        open.clear();
    }

    /** A member has sent a message: transactions of its earlier runs will not go on. */
    void forgetEarlierRuns(MessageId message) {
        open.values()
                .removeIf(places -> places.first.incarnation() < message.incarnation()
                        && places.first.member().equals(message.member()));
    }

    /** What abandons the transactions of all but these members. */
    List<ReplicaMessage.Abandon> ofOthers(Collection<MemberId> members) {
        return open.entrySet().stream()
                .filter(each -> !members.contains(each.getValue().first.member()))
                .map(each -> new ReplicaMessage.Abandon(each.getKey(), each.getValue().first))
                .toList();
    }

    /** Those whose last chunk lies before this place, or so many bytes, cannot be committed any more. */
    void forgetBefore(long index, long bytes) {
        open.values().removeIf(places -> places.indexes[places.count - 1] < index || places.bytes < bytes);
    }

    int transactions() {
        return open.size();
    }

    /** The lowest index of a chunk; {@link Long#MAX_VALUE} if there is none. */
    long first() {
        return open.isEmpty() ? Long.MAX_VALUE : open.values().iterator().next().indexes[0];
    }

    int encodedBytes() {
        int bytes = 4;
        for (Places places : open.values()) {
            bytes += 54
                    + places.first.member().name().getBytes(StandardCharsets.UTF_8).length
                    + Long.BYTES * places.count;
        }
        return bytes;
    }

    void encode(ByteBuffer target) {
        target.putInt(open.size());
        for (Map.Entry<TransactionId, Places> each : open.entrySet()) {
            SessionId session = each.getKey().session();
            Places places = each.getValue();
            target.putLong(session.high()).putLong(session.low());
            byte[] member = places.first.member().name().getBytes(StandardCharsets.UTF_8);
            target.putLong(places.first.incarnation()).putLong(places.first.sequence());
            target.putShort((short) member.length).put(member);
            target.putLong(each.getKey().number()).putLong(places.bytes).putInt(places.count);
            for (int i = 0; i < places.count; i++) {
                target.putLong(places.indexes[i]);
            }
        }
    }

    void decode(ByteBuffer source) {
        open.clear();
        int transactions = source.getInt();
        for (int i = 0; i < transactions; i++) {
            SessionId session = new SessionId(source.getLong(), source.getLong());
            long incarnation = source.getLong();
            long sequence = source.getLong();
            Places places = new Places(new MessageId(new MemberId(ReplicaCore.text(source)), incarnation, sequence));
            TransactionId id = new TransactionId(session, source.getLong());
            long bytes = source.getLong();
            int count = source.getInt();
            if (count < 1 || count > source.remaining() / Long.BYTES) {
                throw new BufferUnderflowException();
            }
            for (int n = 0; n < count; n++) {
                places.add(source.getLong(), bytes);
            }
            open.put(id, places);
        }
    }
}
