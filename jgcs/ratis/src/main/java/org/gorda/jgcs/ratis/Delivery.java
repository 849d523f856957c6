package org.gorda.jgcs.ratis;

import java.io.IOException;
import java.util.function.LongConsumer;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.raftlog.RaftLog;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.Position;
import org.jspecify.annotations.Nullable;

/**
 * Hands decided entries to the listener as messages, in order, from any position that the log holds: the log is the queue between
 * ordering and its user, so that a slow user costs no memory. {@link #deliver} is confined to one thread, all else is thread-safe.
 */
final class Delivery {

    private static final int STRETCH_BYTES = 1 << 20;

    private final OrderedLog order;
    private final Ratis ratis;
    private final LongConsumer own;
    private final java.util.function.Predicate<MessageId> isOwn;
    private volatile @Nullable Position joinAfter;
    private volatile @Nullable Position delivered;

    /**
     * @param isOwn whether this process has sent a message
     * @param own is told the sequence of the last of these that was delivered
     */
    Delivery(OrderedLog order, Ratis ratis, java.util.function.Predicate<MessageId> isOwn, LongConsumer own) {
        this.order = order;
        this.ratis = ratis;
        this.isOwn = isOwn;
        this.own = own;
    }

    /** From now on delivers what follows {@code after}. */
    void join(Position after) {
        joinAfter = after;
    }

    /** Whether {@link #deliver} would do anything. */
    boolean hasWork() {
        if (!ratis.isOpen()) {
            return false;
        }
        Position decided = order.decided();
        Position after = joinAfter;
        if (after != null) {
            // Terms do not go back: what was decided in an earlier one than the newest would lie before it.
            return after.index() <= decided.index() || decided.term() > after.term();
        }
        Position last = delivered;
        return last != null && last.index() < decided.index();
    }

    /**
     * Delivers the next stretch, or tells of a gap.
     *
     * @return whether it begins at another place now, so that own messages may have been passed over
     */
    boolean deliver(GroupListener listener) throws IOException {
        Position after = joinAfter;
        if (after != null) {
            joinAfter = null;
            String obstacle = obstacle(after);
            delivered = obstacle == null ? after : null;
            if (obstacle != null) {
                listener.onGap(order.firstHeld(), obstacle);
            }
            return true;
        }
        Position last = delivered;
        if (last == null) {
            return false;
        }
        OrderedLog.Stretch stretch = order.read(ratis.log(), last, order.decided(), STRETCH_BYTES);
        if (stretch == null) {
            delivered = null;
            listener.onGap(order.firstHeld(), "the log no longer holds what follows " + last);
            return true;
        }
        long sequence = 0;
        for (Message message : stretch.messages()) {
            listener.onMessage(message);
            if (isOwn.test(message.id())) {
                sequence = message.id().sequence();
            }
        }
        delivered = stretch.last();
        if (stretch.last().index() >= order.decided().index()) {
            listener.onCaughtUp(stretch.last());
        }
        if (sequence > 0) {
            own.accept(sequence);
        }
        return false;
    }

    /** How far its user has got, 0 if that is not known. */
    long deliveredIndex() {
        Position last = delivered;
        return last == null ? 0 : last.index();
    }

    /** As {@link org.gorda.jgcs.LogSession#at} says. */
    Message at(long index) {
        Position decided = order.decided();
        if (index > order.firstHeld().index() && index <= decided.index()) {
            try {
                Position before = new Position(decided.group(), 0, index - 1);
                OrderedLog.Stretch found =
                        order.read(ratis.log(), before, new Position(decided.group(), 0, index), Integer.MAX_VALUE);
                if (found != null && !found.messages().isEmpty()) {
                    return found.messages().get(0);
                }
            } catch (IOException e) {
                throw new GroupException(GroupException.Disposition.CORRECT, "cannot read: " + e, e);
            }
        }
        throw new GroupException(
                GroupException.Disposition.CORRECT,
                "cannot read: the log, which is decided up to " + decided.index() + " and begins after "
                        + order.firstHeld().index() + ", holds no message at " + index);
    }

    /** Why the log cannot be continued from {@code after}; null if it can. */
    private @Nullable String obstacle(Position after) {
        Position first = order.firstHeld();
        if (after.group().isKnown() && !after.group().equals(first.group())) {
            return "position " + after + " is of a group with another history (" + after.group() + ", this is "
                    + first.group() + ")";
        }
        if (after.index() < first.index()) {
            return "the log here begins after " + first.index() + ", asked for was what follows " + after;
        }
        long term = first.term();
        if (after.index() > first.index()) {
            RaftLog log = ratis.log();
            TermIndex found = log.getTermIndex(after.index() - 1);
            term = found == null ? -1 : found.getTerm();
        }
        return term == after.term()
                ? null
                : "the group's history has term " + term + " at index " + after.index()
                        + ", asked for was what follows " + after + ", which is not part of it";
    }
}
