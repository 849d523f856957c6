package org.gorda.jgcs.jgroups;

import java.io.DataInput;
import java.io.DataOutput;
import java.io.IOException;
import java.util.function.Supplier;
import org.jgroups.Header;
import org.jgroups.Message;
import org.jgroups.conf.ClassConfigurator;
import org.jspecify.annotations.Nullable;

/** Which of its sender's messages a message is. Beside the payload and not before it, so that this need not be copied. Confined to one thread. */
public final class SequenceHeader extends Header {

    /** Of headers of applications, of which JGroups wants more than 1024. */
    private static final short MAGIC = 7_201;

    /** Under which messages carry it; JGroups wants more than 512. */
    private static final short ID = 7_201;

    static {
        ClassConfigurator.add(MAGIC, SequenceHeader.class);
    }

    private long incarnation;
    private long sequence;

    /** For JGroups, which reads what has arrived into it. */
    public SequenceHeader() {}

    private SequenceHeader(long incarnation, long sequence) {
        this.incarnation = incarnation;
        this.sequence = sequence;
    }

    /** Makes JGroups know it; before the first message can arrive. */
    static void register() {
        // By the initialisation of the class.
    }

    static void put(Message message, long incarnation, long sequence) {
        message.putHeader(ID, new SequenceHeader(incarnation, sequence));
    }

    /** That of a message, null if the message is none of ours. */
    static @Nullable SequenceHeader of(Message message) {
        return message.getHeader(ID);
    }

    long incarnation() {
        return incarnation;
    }

    long sequence() {
        return sequence;
    }

    @Override
    public short getMagicId() {
        return MAGIC;
    }

    @Override
    public Supplier<? extends Header> create() {
        return SequenceHeader::new;
    }

    @Override
    public int serializedSize() {
        return 2 * Long.BYTES;
    }

    @Override
    public void writeTo(DataOutput out) throws IOException {
        out.writeLong(incarnation);
        out.writeLong(sequence);
    }

    @Override
    public void readFrom(DataInput in) throws IOException {
        incarnation = in.readLong();
        sequence = in.readLong();
    }
}
