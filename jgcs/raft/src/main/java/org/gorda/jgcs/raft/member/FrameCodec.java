package org.gorda.jgcs.raft.member;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.List;
import java.util.zip.CRC32C;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.History;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.raft.core.Checkpoint;
import org.gorda.jgcs.raft.core.Configuration;
import org.gorda.jgcs.raft.core.CorruptEntryException;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.raft.core.RaftMessage;

/**
 * Frames as bytes. Entries travel in their encoded form, which has checksums of its own; all else is covered by one checksum in
 * the header. Lengths are checked against the frame before anything is allocated. The first four bytes and the place of the
 * sender's name are the same in all versions, so that a member can tell who speaks another one. Thread-safe.
 *
 * <pre>
 *   byte 'G'  byte version  byte type  byte length of sender's name  int CRC32C from here to the entries
 *   int  bytes covered      long group's name, hashed   long long group's identity   long admission   long run
 *   sender's name           int version of its messages, {@link org.gorda.jgcs.GroupConfiguration#speaks}
 *   long timeline           body
 * </pre>
 */
final class FrameCodec {

    /**
     * A frame and who sent it.
     *
     * @param history of the sender's group, as far as it knows it
     */
    record Received(MemberId from, long admission, long run, History history, Frame frame) {}

    private static final byte MAGIC = 'G';
    private static final byte VERSION = 5;
    private static final int AT_CRC = 4;
    private static final int AT_COVERED = 8;
    private static final int HEADER_BYTES = 4 + 4 + 4 + 8 + 16 + 8 + 8;

    private static final byte VOTE_REQUEST = 1;
    private static final byte VOTE_REPLY = 2;
    private static final byte APPEND = 3;
    private static final byte APPEND_REPLY = 4;
    private static final byte INSTALL = 5;
    private static final byte TIMEOUT_NOW = 6;
    private static final byte HELLO = 7;
    private static final byte PROPOSE = 8;
    private static final byte OPEN = 9;
    private static final byte EXPECTED = 10;
    private static final byte ASK = 11;
    private static final byte ANSWER = 12;
    private static final byte DIRECT = 13;

    private final int speaks;
    private final long groupName;
    private final byte[] self;
    private final long admission;
    private volatile History history = History.UNKNOWN;
    private long run;

    FrameCodec(String groupName, int speaks, MemberId self, long admission) {
        this.speaks = speaks;
        CRC32C crc = new CRC32C();
        byte[] name = groupName.getBytes(StandardCharsets.UTF_8);
        crc.update(name);
        this.groupName = crc.getValue() << 32 ^ groupName.hashCode();
        this.self = MessageHeader.nameOf(self);
        this.admission = admission;
    }

    /** Numbers the runs of this member; to be told before the first frame. */
    void run(long number) {
        run = number;
    }

    /** The group's history is known now: frames of others are refused. */
    void history(History known) {
        history = known;
    }

    History history() {
        return history;
    }

    // ------------------------------------------------------------------------------------------------------ encode

    byte[] encode(Frame frame) {
        if (frame instanceof Frame.Core core) {
            return encode(core.message());
        } else if (frame instanceof Frame.Propose propose) {
            int bytes = 20;
            for (ByteBuffer payload : propose.payloads()) {
                bytes += 4 + payload.remaining();
            }
            ByteBuffer body = begin(PROPOSE, bytes);
            body.putLong(propose.incarnation()).putLong(propose.firstSequence());
            body.putInt(propose.payloads().size());
            for (ByteBuffer payload : propose.payloads()) {
                body.putInt(payload.remaining()).put(payload.duplicate());
            }
            return seal(body);
        } else if (frame instanceof Frame.Open open) {
            return seal(begin(OPEN, 8).putLong(open.incarnation()));
        } else if (frame instanceof Frame.Expected expected) {
            return seal(begin(EXPECTED, 16).putLong(expected.incarnation()).putLong(expected.sequence()));
        } else if (frame instanceof Frame.Ask ask) {
            byte[] about = MessageHeader.nameOf(ask.about());
            return seal(begin(ASK, 10 + about.length)
                    .putLong(ask.number())
                    .put(ask.question().code)
                    .put((byte) about.length)
                    .put(about));
        } else if (frame instanceof Frame.Answer answer) {
            return seal(begin(ANSWER, 16).putLong(answer.number()).putLong(answer.index()));
        } else if (frame instanceof Frame.Direct direct) {
            return seal(begin(DIRECT, direct.payload().remaining())
                    .put(direct.payload().duplicate()));
        }
        throw new AssertionError(frame);
    }

    private byte[] encode(RaftMessage message) {
        if (message instanceof RaftMessage.Append append) {
            int entryBytes = 0;
            for (Entry entry : append.entries()) {
                entryBytes += entry.length();
            }
            ByteBuffer body = begin(APPEND, 61 + entryBytes);
            body.putLong(append.term()).putLong(append.prevIndex()).putLong(append.prevTerm());
            body.putLong(append.commitIndex()).putLong(append.storedIndex());
            body.putLong(append.round()).putLong(append.run()).put(flag(append.urgent()));
            body.putInt(append.entries().size());
            int covered = body.position();
            putEntries(body, append.entries());
            return seal(body, covered);
        } else if (message instanceof RaftMessage.AppendReply reply) {
            return seal(begin(APPEND_REPLY, 41)
                    .putLong(reply.term())
                    .put(flag(reply.success()))
                    .putLong(reply.index())
                    .putLong(reply.prevIndex())
                    .putLong(reply.conflictTerm())
                    .putLong(reply.round()));
        } else if (message instanceof RaftMessage.VoteRequest request) {
            return seal(begin(VOTE_REQUEST, 26)
                    .putLong(request.term())
                    .putLong(request.lastIndex())
                    .putLong(request.lastTerm())
                    .put(flag(request.pre()))
                    .put(flag(request.transfer())));
        } else if (message instanceof RaftMessage.VoteReply reply) {
            return seal(begin(VOTE_REPLY, 11)
                    .putLong(reply.term())
                    .put(flag(reply.granted()))
                    .put(flag(reply.pre()))
                    .put(flag(reply.uncertain())));
        } else if (message instanceof RaftMessage.Install install) {
            byte[] checkpoint = install.checkpoint().encode();
            return seal(begin(INSTALL, 16 + checkpoint.length)
                    .putLong(install.term())
                    .putLong(install.round())
                    .put(checkpoint));
        } else if (message instanceof RaftMessage.TimeoutNow timeout) {
            return seal(begin(TIMEOUT_NOW, 8).putLong(timeout.term()));
        } else if (message instanceof RaftMessage.Hello hello) {
            byte[] configuration = hello.configuration().encode();
            return seal(begin(HELLO, 10 + configuration.length)
                    .putLong(hello.term())
                    .put(flag(hello.fresh()))
                    .put(flag(hello.answer()))
                    .put(configuration));
        }
        throw new AssertionError(message);
    }

    private static void putEntries(ByteBuffer body, List<Entry> entries) {
        int i = 0;
        while (i < entries.size()) {
            // A batch lies in one array: one copy for all of it.
            Entry first = entries.get(i);
            int length = 0;
            while (i < entries.size()
                    && entries.get(i).bytes() == first.bytes()
                    && entries.get(i).offset() == first.offset() + length) {
                length += entries.get(i).length();
                i++;
            }
            body.put(first.bytes(), first.offset(), length);
        }
    }

    private static byte flag(boolean value) {
        return (byte) (value ? 1 : 0);
    }

    private ByteBuffer begin(byte type, int bodyBytes) {
        ByteBuffer buffer = ByteBuffer.allocate(HEADER_BYTES + self.length + Integer.BYTES + Long.BYTES + bodyBytes);
        buffer.put(MAGIC)
                .put(VERSION)
                .put(type)
                .put((byte) self.length)
                .putInt(0)
                .putInt(0);
        History known = history;
        return buffer.putLong(groupName)
                .putLong(known.group().high())
                .putLong(known.group().low())
                .putLong(admission)
                .putLong(run)
                .put(self)
                .putInt(speaks)
                .putLong(known.timeline());
    }

    private static byte[] seal(ByteBuffer buffer) {
        return seal(buffer, buffer.position());
    }

    private static byte[] seal(ByteBuffer buffer, int covered) {
        assert !buffer.hasRemaining() : "frame too long by " + buffer.remaining();
        buffer.putInt(AT_COVERED, covered);
        buffer.putInt(AT_CRC, checksum(buffer.array(), covered));
        return buffer.array();
    }

    private static int checksum(byte[] bytes, int covered) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 0, AT_CRC);
        crc.update(bytes, AT_COVERED, covered - AT_COVERED);
        return (int) crc.getValue();
    }

    // ------------------------------------------------------------------------------------------------------ decode

    /**
     * Decodes what {@link #encode} of another member made.
     *
     * @throws CorruptEntryException if the bytes are not a whole, unharmed frame of this version and this group
     */
    Received decode(byte[] bytes) {
        try {
            ByteBuffer buffer = ByteBuffer.wrap(bytes);
            byte magic = buffer.get();
            byte version = buffer.get();
            if (magic != MAGIC) {
                throw new CorruptEntryException("not a frame of this protocol");
            }
            if (version != VERSION) {
                throw new CorruptEntryException("a frame of " + unverifiedSender(bytes) + " in protocol version "
                        + version + ", this member speaks version " + VERSION
                        + ": run the same release on all members");
            }
            byte type = buffer.get();
            buffer.position(AT_CRC);
            int crc = buffer.getInt();
            int covered = buffer.getInt();
            if (covered < HEADER_BYTES || covered > bytes.length || checksum(bytes, covered) != crc) {
                throw new CorruptEntryException("a frame's checksum does not match");
            }
            long sendersGroupName = buffer.getLong();
            GroupId sendersGroup = new GroupId(buffer.getLong(), buffer.getLong());
            long sendersAdmission = buffer.getLong();
            long sendersRun = buffer.getLong();
            byte[] name = MessageHeader.readName(buffer, bytes[3] & 0xff);
            MemberId from = new MemberId(new String(name, StandardCharsets.UTF_8));
            int sendersVersion = buffer.getInt();
            History senders = new History(sendersGroup, buffer.getLong());
            if (sendersVersion != speaks) {
                throw new CorruptEntryException(
                        "a frame of " + from + ", whose messages are of version " + sendersVersion
                                + ", this member's are of version " + speaks + ": run the same release on all members");
            }
            if (sendersGroupName != groupName) {
                throw new CorruptEntryException("a frame of " + from
                        + ", whose group has another name: set group to the same on all members, or take it off the list "
                        + "of members");
            }
            refuseOtherHistory(from, senders, type);
            return new Received(from, sendersAdmission, sendersRun, senders, body(type, buffer));
        } catch (BufferUnderflowException | IllegalArgumentException e) {
            throw new CorruptEntryException("a frame is cut short or malformed: " + e.getMessage());
        }
    }

    private void refuseOtherHistory(MemberId from, History senders, byte type) {
        History known = history;
        if (known.timeline() > 0 && !senders.isKnown() && type != HELLO) {
            // Who belongs here remembers it, or learns it from the first that its leader sends. An answer would carry
            // this timeline's terms to another one.
            throw new CorruptEntryException("a frame of " + from + ", which does not know of timeline "
                    + known.timeline()
                    + " of the group, on which this member went on alone: delete its database and its "
                    + "directory, and add it again");
        }
        if (!senders.isKnown() || !known.isKnown() || senders.equals(known)) {
            return;
        }
        if (!senders.group().equals(known.group())) {
            throw new CorruptEntryException("a frame of " + from + ", whose group of the same name has another "
                    + "history (" + senders.group() + ", here " + known.group() + "): it was formed separately");
        }
        throw new CorruptEntryException("a frame of " + from + ", which is on timeline " + senders.timeline()
                + " of the group, here " + known.timeline() + ": one of the two was told to go on alone; delete the "
                + "database and the directory of the one that shall follow the other, and add it again");
    }

    /** Whom a frame that cannot be checked says it is of. */
    private static String unverifiedSender(byte[] bytes) {
        int length = bytes.length > HEADER_BYTES ? bytes[3] & 0xff : 0;
        String name = length > bytes.length - HEADER_BYTES
                ? ""
                : new String(bytes, HEADER_BYTES, length, StandardCharsets.UTF_8);
        return name.matches("[\\w.:\\[\\]-]+") ? name : "another process";
    }

    private static Frame body(byte type, ByteBuffer in) {
        return switch (type) {
            case APPEND ->
                new Frame.Core(new RaftMessage.Append(
                        in.getLong(),
                        in.getLong(),
                        in.getLong(),
                        in.getLong(),
                        in.getLong(),
                        in.getLong(),
                        in.getLong(),
                        isSet(in),
                        entries(in)));
            case APPEND_REPLY ->
                new Frame.Core(new RaftMessage.AppendReply(
                        in.getLong(), isSet(in), in.getLong(), in.getLong(), in.getLong(), in.getLong()));
            case VOTE_REQUEST ->
                new Frame.Core(
                        new RaftMessage.VoteRequest(in.getLong(), in.getLong(), in.getLong(), isSet(in), isSet(in)));
            case VOTE_REPLY -> new Frame.Core(new RaftMessage.VoteReply(in.getLong(), isSet(in), isSet(in), isSet(in)));
            case INSTALL -> {
                long term = in.getLong();
                long round = in.getLong();
                yield new Frame.Core(new RaftMessage.Install(term, Checkpoint.decode(in), round));
            }
            case TIMEOUT_NOW -> new Frame.Core(new RaftMessage.TimeoutNow(in.getLong()));
            case HELLO -> {
                long term = in.getLong();
                boolean fresh = isSet(in);
                boolean answer = isSet(in);
                yield new Frame.Core(new RaftMessage.Hello(term, fresh, Configuration.decode(in), answer));
            }
            case PROPOSE -> propose(in);
            case OPEN -> new Frame.Open(in.getLong());
            case EXPECTED -> new Frame.Expected(in.getLong(), in.getLong());
            case ASK -> new Frame.Ask(in.getLong(), question(in.get()), MessageHeader.readMember(in));
            case ANSWER -> new Frame.Answer(in.getLong(), in.getLong());
            case DIRECT -> new Frame.Direct(in.slice());
            default -> throw new CorruptEntryException("a frame of unknown type " + type);
        };
    }

    private static boolean isSet(ByteBuffer in) {
        return in.get() != 0;
    }

    private static Question question(byte code) {
        for (Question question : Question.values()) {
            if (question.code == code) {
                return question;
            }
        }
        throw new CorruptEntryException("unknown question " + code);
    }

    private static List<Entry> entries(ByteBuffer in) {
        int count = in.getInt();
        if (count < 0 || count > in.remaining() / Entry.HEADER_BYTES) {
            throw new CorruptEntryException("a frame of " + in.remaining() + " bytes claims " + count + " entries");
        }
        List<Entry> entries = new ArrayList<>(count);
        int offset = in.position();
        for (int i = 0; i < count; i++) {
            Entry entry = Entry.decode(in.array(), offset, in.limit());
            entries.add(entry);
            offset += entry.length();
        }
        return entries;
    }

    private static Frame propose(ByteBuffer in) {
        long incarnation = in.getLong();
        long firstSequence = in.getLong();
        int count = in.getInt();
        if (count < 0 || count > in.remaining() / Integer.BYTES) {
            throw new CorruptEntryException("a frame of " + in.remaining() + " bytes claims " + count + " messages");
        }
        List<ByteBuffer> payloads = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            int length = in.getInt();
            if (length < 0 || length > in.remaining()) {
                throw new CorruptEntryException("a message of " + length + " bytes is beyond its frame");
            }
            payloads.add(in.slice(in.position(), length));
            in.position(in.position() + length);
        }
        return new Frame.Propose(incarnation, firstSequence, payloads);
    }
}
