package org.gorda.jgcs.raft.member;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;
import java.util.Map;
import java.util.TreeMap;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.raft.core.CorruptEntryException;
import org.gorda.jgcs.raft.core.Entry;
import org.jspecify.annotations.Nullable;

/**
 * Which message of each member the log takes next: the one that follows the last of the member's open incarnation. A leader
 * appends nothing else, so that a message is in the log once however often it was sent, and members check it as they store.
 * Follows the log as it grows and shrinks. Confined to one thread.
 */
public final class Incarnations {

    /** A member's open incarnation and the last message of it. */
    public record Last(long incarnation, long sequence) {

        /** Of a member that has never spoken. */
        static final Last NONE = new Last(0, 0);
    }

    private record Step(long index, MemberId member, Last before) {}

    private final TreeMap<MemberId, Last> last = new TreeMap<>();
    private final Deque<Step> undecided = new ArrayDeque<>();

    public Last last(MemberId member) {
        return last.getOrDefault(member, Last.NONE);
    }

    /** Whether {@code incarnation} is the open one of {@code member}, and is so for ever in the log. */
    public boolean isDecided(MemberId member, long incarnation) {
        for (Step step : undecided) {
            if (step.member().equals(member) && step.before().incarnation() < incarnation) {
                return false;
            }
        }
        return last(member).incarnation() == incarnation;
    }

    /** The last message of that incarnation of {@code member} that is decided, 0 if there is none. */
    long decidedSequence(MemberId member, long incarnation) {
        Last decided = last(member);
        Iterator<Step> newestFirst = undecided.descendingIterator();
        while (newestFirst.hasNext()) {
            Step step = newestFirst.next();
            if (step.member().equals(member)) {
                decided = step.before();
            }
        }
        return decided.incarnation() == incarnation ? decided.sequence() : 0;
    }

    /** Takes up an entry that is appended to the log. */
    public void append(Entry entry) {
        if (entry.kind() != Entry.Kind.MESSAGE && entry.kind() != Entry.Kind.INCARNATION) {
            return;
        }
        MessageId id = MessageHeader.read(entry.payload());
        Last before = last(id.member());
        boolean legal = entry.kind() == Entry.Kind.MESSAGE
                ? id.incarnation() == before.incarnation() && id.sequence() == before.sequence() + 1
                : id.incarnation() > before.incarnation() && id.sequence() == 0;
        if (!legal) {
            throw new IllegalStateException("entry " + entry + " carries " + id + " after " + before);
        }
        last.put(id.member(), new Last(id.incarnation(), id.sequence()));
        undecided.addLast(new Step(entry.index(), id.member(), before));
    }

    /** Entries up to {@code index} are decided and will not be truncated. */
    public void decided(long index) {
        while (!undecided.isEmpty() && undecided.getFirst().index() <= index) {
            undecided.removeFirst();
        }
    }

    /** The log loses the entries from {@code fromIndex} on. */
    public void truncate(long fromIndex) {
        while (!undecided.isEmpty() && undecided.getLast().index() >= fromIndex) {
            Step step = undecided.removeLast();
            if (step.before().equals(Last.NONE)) {
                last.remove(step.member());
            } else {
                last.put(step.member(), step.before());
            }
        }
    }

    /** Starts over from what {@link #encode} made, nothing if {@code state} is null. */
    public void reset(@Nullable ByteBuffer state) {
        last.clear();
        undecided.clear();
        if (state == null || !state.hasRemaining()) {
            return;
        }
        try {
            ByteBuffer buffer = state.duplicate();
            int count = buffer.getShort() & 0xffff;
            for (int i = 0; i < count; i++) {
                byte[] name = MessageHeader.readName(buffer, buffer.getShort() & 0xffff);
                MemberId member = new MemberId(new String(name, StandardCharsets.UTF_8));
                last.put(member, new Last(buffer.getLong(), buffer.getLong()));
            }
        } catch (BufferUnderflowException | IllegalArgumentException e) {
            throw new CorruptEntryException("not a table of incarnations: " + e.getMessage());
        }
    }

    /** The table, for a checkpoint. */
    public ByteBuffer encode() {
        int size = Short.BYTES;
        for (MemberId member : last.keySet()) {
            size += Short.BYTES + 2 * Long.BYTES + member.name().getBytes(StandardCharsets.UTF_8).length;
        }
        ByteBuffer buffer = ByteBuffer.allocate(size).putShort((short) last.size());
        for (Map.Entry<MemberId, Last> entry : last.entrySet()) {
            byte[] name = entry.getKey().name().getBytes(StandardCharsets.UTF_8);
            buffer.putShort((short) name.length).put(name);
            buffer.putLong(entry.getValue().incarnation())
                    .putLong(entry.getValue().sequence());
        }
        return buffer.flip().asReadOnlyBuffer();
    }
}
