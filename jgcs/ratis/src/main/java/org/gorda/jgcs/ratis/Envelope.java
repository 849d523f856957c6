package org.gorda.jgcs.ratis;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.thirdparty.com.google.protobuf.UnsafeByteOperations;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MessageId;

/**
 * What one of our entries in Ratis's log holds: a kind, the length and the bytes of the sender's name, its incarnation, its sequence, and
 * the payload. Immutable.
 */
record Envelope(Kind kind, MessageId id, ByteBuffer payload) {

    enum Kind {
        MESSAGE(1),
        /** The member named by the payload is to be taken in. */
        ADD(2),
        /** It is not to be taken in any more. */
        REMOVE(3),
        /** Nothing; somebody asks which place is behind all that is decided. */
        PLACE(4);

        private final byte code;

        Kind(int code) {
            this.code = (byte) code;
        }

        private static Kind of(byte code) {
            for (Kind kind : values()) {
                if (kind.code == code) {
                    return kind;
                }
            }
            throw new IllegalArgumentException("no kind has the code " + code);
        }
    }

    ByteString encode() {
        byte[] name = id.member().name().getBytes(StandardCharsets.UTF_8);
        ByteBuffer bytes = ByteBuffer.allocate(2 + name.length + 2 * Long.BYTES + payload.remaining());
        bytes.put(kind.code).put((byte) name.length).put(name);
        bytes.putLong(id.incarnation()).putLong(id.sequence()).put(payload.duplicate());
        return UnsafeByteOperations.unsafeWrap(bytes.flip());
    }

    static Envelope decode(ByteString entry) {
        ByteBuffer bytes = entry.asReadOnlyByteBuffer();
        try {
            Kind kind = Kind.of(bytes.get());
            byte[] name = new byte[bytes.get() & 0xff];
            bytes.get(name);
            MemberId member = new MemberId(new String(name, StandardCharsets.UTF_8));
            MessageId id = new MessageId(member, bytes.getLong(), bytes.getLong());
            return new Envelope(kind, id, bytes.slice());
        } catch (BufferUnderflowException | IllegalArgumentException e) {
            throw new IllegalStateException("an entry of " + entry.size() + " bytes is none of ours", e);
        }
    }
}
