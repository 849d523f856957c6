package org.gorda.jgcs.raft.member;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.raft.core.CorruptEntryException;

/** The message identity at the start of an entry's payload: length and bytes of the name, incarnation, sequence. */
final class MessageHeader {

    /** A group has few members: their names are recognised without decoding them each time. */
    private static volatile MemberId[] known = {};

    private static volatile byte[][] knownNames = {};

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
        byte[][] names = knownNames;
        MemberId[] members = known;
        for (int i = 0; i < Math.min(names.length, members.length); i++) {
            if (Arrays.equals(names[i], name)) {
                return members[i];
            }
        }
        return learn(name);
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

    private static synchronized MemberId learn(byte[] name) {
        MemberId member = new MemberId(new String(name, StandardCharsets.UTF_8));
        if (known.length < 64 && knownNames.length == known.length) {
            MemberId[] members = Arrays.copyOf(known, known.length + 1);
            byte[][] names = Arrays.copyOf(knownNames, knownNames.length + 1);
            members[known.length] = member;
            names[knownNames.length] = name;
            known = members;
            knownNames = names;
        }
        return member;
    }
}
