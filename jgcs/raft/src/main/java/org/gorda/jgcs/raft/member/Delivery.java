package org.gorda.jgcs.raft.member;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.raft.core.Checkpoint;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.raft.core.RaftCore;
import org.jspecify.annotations.Nullable;

/**
 * Hands decided entries to the listener as messages, in order, from any position the log holds: the log is the queue between
 * ordering and its user, so that a slow user costs no memory. {@link #deliver} and {@link #hasWork} are confined to one thread, all else
 * is thread-safe.
 *
 * <p>Told to go ahead, it also delivers what is {@linkplain RaftCore#heldIndex held} and not decided. If another leader's entries take the place
 * of those, it tells of a gap.
 */
public final class Delivery {

    /** What a delivery means to the member. */
    public enum Outcome {
        NOTHING,
        /** Messages of this member were delivered: there is room for others. */
        ROOM,
        /** The place in the log has changed: {@link Member#passedOver}. */
        MOVED
    }

    private static final int STRETCH_BYTES = 1 << 20;

    private final Storage storage;
    private final Member member;
    private final Outbox outbox;
    private volatile @Nullable Position joinAfter;
    private volatile boolean delivers;
    private volatile long deliveredIndex;
    private volatile long decidedIndex;
    private volatile long heldIndex;
    private volatile boolean goesAhead;

    /** Up to here something may have been delivered that was not decided. */
    private volatile long aheadIndex;

    /** Whether some of that was truncated. */
    private volatile boolean lost;

    public Delivery(Storage storage, Member member, Outbox outbox) {
        this.storage = storage;
        this.member = member;
        this.outbox = outbox;
    }

    /** From now on delivers what follows {@code after}. */
    public void join(Position after) {
        joinAfter = after;
    }

    /** Everything up to here is decided. */
    public void decided(long index) {
        decidedIndex = index;
    }

    public long decidedIndex() {
        return decidedIndex;
    }

    /** {@link RaftCore#heldIndex} has changed. */
    public void held(long index) {
        heldIndex = index;
    }

    /**
     * The log was cut off before an index, and nothing came in its place yet. If some of that was delivered ahead, this member's user is told so, and
     * nothing that it had sent and was not delivered will be sent any more: it may have been answered from what is lost.
     */
    public void truncated(long fromIndex) {
        heldIndex = 0;
        if (aheadIndex >= Math.max(fromIndex, decidedIndex + 1)) {
            lost = true;
            outbox.abandon(new GroupException(
                    GroupException.Disposition.RECONNECT,
                    "what was delivered here from " + fromIndex
                            + " on, before a majority had it, is lost: open the group anew"));
        }
    }

    /** As {@link org.gorda.jgcs.LogSession#deliverAhead} says. */
    public void goAhead(boolean ahead) {
        goesAhead = ahead;
    }

    private long deliverableIndex() {
        return goesAhead ? Math.max(decidedIndex, heldIndex) : decidedIndex;
    }

    /** Everything up to here was delivered or, not being a message, passed over. */
    public long deliveredIndex() {
        return deliveredIndex;
    }

    /** Up to here this member's user may have been shown anything, decided or not. */
    public long shownIndex() {
        return Math.max(deliveredIndex, aheadIndex);
    }

    /** Whether {@link #deliver} would do anything. */
    public boolean hasWork() {
        Position after = joinAfter;
        if (after != null) {
            long decided = decidedIndex;
            return after.index() <= decided || isLost(after, decided);
        }
        return delivers && (lost || deliveredIndex < deliverableIndex());
    }

    /**
     * Whether a position beyond what is decided can never become part of it: terms do not go back, so what was decided in an
     * earlier term than the newest decided entry would lie before it. Otherwise this member may only be behind.
     */
    private boolean isLost(Position after, long decided) {
        List<Entry> newest = storage.read(decided, decided, 0);
        return !newest.isEmpty() && newest.get(0).term() > after.term();
    }

    /**
     * Delivers the next stretch, or tells of a gap.
     *
     * @return what the member must hear of
     */
    public Outcome deliver(GroupListener listener) {
        long decided = decidedIndex;
        Position after = joinAfter;
        if (after != null && (after.index() <= decided || isLost(after, decided))) {
            joinAfter = null;
            String obstacle = obstacle(after);
            delivers = obstacle == null;
            if (obstacle != null) {
                listener.onGap(firstHeld(), obstacle);
            } else {
                deliveredIndex = after.index();
            }
            return Outcome.MOVED;
        }
        if (delivers && lost) {
            return gap(listener, "others were ordered in the place of what was delivered up to " + aheadIndex);
        }
        long deliverable = deliverableIndex();
        if (!delivers || deliveredIndex >= deliverable) {
            return Outcome.NOTHING;
        }
        if (deliverable > decided) {
            aheadIndex = deliverable; // before it is read: who truncates what was read sees that
        }
        List<Entry> entries = storage.read(deliveredIndex + 1, deliverable, STRETCH_BYTES);
        if (lost) {
            return Outcome.NOTHING; // just now: what was read may be another leader's, and is for after the gap
        }
        if (entries.isEmpty()) {
            return deliveredIndex >= decidedIndex
                    ? Outcome.NOTHING // just truncated
                    : gap(listener, "the log no longer holds what follows " + deliveredIndex);
        }
        Entry last = entries.get(entries.size() - 1);
        long own = 0;
        for (Message message : messages(entries)) {
            listener.onMessage(message);
            if (member.isOwn(message.id())) {
                own = message.id().sequence();
            }
        }
        deliveredIndex = last.index();
        if (last.index() >= deliverableIndex()) {
            listener.onCaughtUp(new Position(member.group(), last.term(), last.index()));
        }
        if (own > 0) {
            outbox.delivered(own);
        }
        return own > 0 ? Outcome.ROOM : Outcome.NOTHING;
    }

    private Outcome gap(GroupListener listener, String reason) {
        delivers = false;
        listener.onGap(firstHeld(), reason);
        return Outcome.MOVED;
    }

    private List<Message> messages(List<Entry> entries) {
        GroupId group = member.group();
        List<Message> messages = new ArrayList<>(entries.size());
        for (Entry entry : entries) {
            if (entry.kind() == Entry.Kind.MESSAGE) {
                ByteBuffer payload = entry.payload();
                MessageId id = MessageHeader.read(payload);
                messages.add(new Message(new Position(group, entry.term(), entry.index()), id, payload.slice()));
            }
        }
        return messages;
    }

    /**
     * Reads one message as {@link org.gorda.jgcs.LogSession#at} does.
     *
     * @throws GroupException if the log does not hold it
     */
    public Message at(long index) {
        long readable = Math.max(decidedIndex, aheadIndex);
        List<Entry> found = index > readable ? List.of() : storage.read(index, index, 0);
        List<Message> messages = messages(found);
        if (messages.isEmpty()) {
            throw new GroupException(
                    GroupException.Disposition.CORRECT,
                    "cannot read: the log, which is decided up to " + decidedIndex + " and begins after "
                            + firstHeld().index() + ", holds no message at " + index);
        }
        return messages.get(0);
    }

    /** The position before the first entry held. */
    public Position firstHeld() {
        Checkpoint checkpoint = storage.checkpoint();
        return new Position(member.group(), checkpoint.term(), checkpoint.index());
    }

    /** Why the log cannot be continued from {@code after}, which must be decided; null if it can. */
    private @Nullable String obstacle(Position after) {
        GroupId group = member.group();
        if (after.group().isKnown() && !after.group().equals(group)) {
            return "position " + after + " is of a group with another history (" + after.group() + ", this is " + group
                    + ")";
        }
        Checkpoint checkpoint = storage.checkpoint();
        if (after.index() < checkpoint.index()) {
            return "the log here begins after " + checkpoint.index() + ", asked for was what follows " + after;
        }
        long term = checkpoint.term();
        if (after.index() > checkpoint.index()) {
            List<Entry> found = storage.read(after.index(), after.index(), 0);
            term = found.isEmpty() ? -1 : found.get(0).term();
        }
        return term == after.term()
                ? null
                : "the group's history has term " + term + " at index " + after.index()
                        + ", asked for was what follows " + after + ", which is not part of it";
    }
}
