package org.gorda.jgcs.raft.member;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.raft.core.CorruptEntryException;
import org.jspecify.annotations.Nullable;

/** The message identity at the start of an entry's payload: length and bytes of the name, incarnation, sequence. */
final class MessageHeader {

    /**
     * A group has few members: their names are recognised without decoding them each time. Whoever has the same place
     * takes it over, so no name, of whomever, is in the way of others for ever.
     */
    private static final @Nullable Known[] KNOWN = new Known[64];

    /** Safe to be read by any thread without synchronisation, as its fields are final. */
    private static final class Known {
        private final byte[] name;
        private final MemberId member;

        Known(byte[] name) {
            this.name = name;
            this.member = new MemberId(new String(name, StandardCharsets.UTF_8));
        }
    }

    private MessageHeader() {}

    static byte[] nameOf(MemberId member) {
        return member.name().getBytes(StandardCharsets.UTF_8);
    }

    static int length(byte[] name) {
        return 1 + name.length + 2 * Long.BYTES;
    }

    static void write(ByteBuffer target, byte[] name, long incarnation, long sequence) {
        target.put((byte) name.length).put(name).putLong(incarnation).putLong(sequence);
    }

    /** Reads the header and leaves the buffer at the message's own bytes. */
    static MessageId read(ByteBuffer payload) {
        try {
            MemberId member = readMember(payload);
            return new MessageId(member, payload.getLong(), payload.getLong());
        } catch (BufferUnderflowException | IllegalArgumentException e) {
            throw new CorruptEntryException("an entry does not begin with a message identity");
        }
    }

    static MemberId readMember(ByteBuffer buffer) {
        byte[] name = readName(buffer, buffer.get() & 0xff);
        int place = Arrays.hashCode(name) & (KNOWN.length - 1);
        Known known = KNOWN[place];
        if (known == null || !Arrays.equals(known.name, name)) {
            known = new Known(name);
            KNOWN[place] = known;
        }
        return known.member;
    }

    /** Reads a name, but makes no array larger than what is left of the buffer. */
    static byte[] readName(ByteBuffer buffer, int length) {
        if (length > buffer.remaining()) {
            throw new BufferUnderflowException();
        }
        byte[] name = new byte[length];
        buffer.get(name);
        return name;
    }
}
