package org.gorda.jgcs.raft.core;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.Iterator;

/**
 * The term of every entry of the log, kept as runs: a log has few terms and many entries. Confined to the core's caller.
 */
final class Terms {

    private record Run(long firstIndex, long term) {}

    private final Deque<Run> runs = new ArrayDeque<>();
    private long baseIndex;
    private long baseTerm;
    private long lastIndex;

    /** Starts over behind a checkpoint: {@code index} and {@code term} are of the last entry that is not held. */
    void reset(long index, long term) {
        runs.clear();
        baseIndex = index;
        baseTerm = term;
        lastIndex = index;
    }

    void append(long index, long term) {
        assert index == lastIndex + 1 : "append of " + index + " after " + lastIndex;
        if (runs.isEmpty() || runs.getLast().term() != term) {
            assert term >= lastTerm() : "term goes back from " + lastTerm() + " to " + term;
            runs.addLast(new Run(index, term));
        }
        lastIndex = index;
    }

    /** Forgets entries from {@code fromIndex} on. */
    void truncate(long fromIndex) {
        while (!runs.isEmpty() && runs.getLast().firstIndex() >= fromIndex) {
            runs.removeLast();
        }
        lastIndex = Math.min(lastIndex, fromIndex - 1);
    }

    /** Forgets entries up to {@code index}. */
    void compact(long index) {
        baseTerm = at(index);
        baseIndex = index;
        while (runs.size() > 1) {
            Run first = runs.removeFirst();
            if (runs.getFirst().firstIndex() > index + 1) {
                runs.addFirst(first);
                break;
            }
        }
        if (lastIndex == index) {
            runs.clear();
        }
    }

    long lastIndex() {
        return lastIndex;
    }

    long lastTerm() {
        return runs.isEmpty() ? baseTerm : runs.getLast().term();
    }

    long baseIndex() {
        return baseIndex;
    }

    /** The term at {@code index}, or -1 if the log does not hold it (the base itself is known). */
    long at(long index) {
        if (index == baseIndex) {
            return baseTerm;
        }
        if (index < baseIndex || index > lastIndex) {
            return -1;
        }
        Iterator<Run> newestFirst = runs.descendingIterator();
        while (newestFirst.hasNext()) {
            Run run = newestFirst.next();
            if (run.firstIndex() <= index) {
                return run.term();
            }
        }
        return -1;
    }

    /** The first index held of the term that {@code index} has. */
    long firstIndexOfTermAt(long index) {
        long first = index;
        for (Run run : runs) {
            if (run.firstIndex() <= index) {
                first = run.firstIndex();
            }
        }
        return Math.max(first, baseIndex + 1);
    }

    /** The last index whose term is at most {@code term}, or the base. */
    long lastIndexAtOrBelow(long term) {
        Iterator<Run> newestFirst = runs.descendingIterator();
        long end = lastIndex;
        while (newestFirst.hasNext()) {
            Run run = newestFirst.next();
            if (run.term() <= term) {
                return end;
            }
            end = run.firstIndex() - 1;
        }
        return baseIndex;
    }
}
