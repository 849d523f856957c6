package org.gorda.jgcs.raft.member;

import java.util.function.Consumer;
import org.jspecify.annotations.Nullable;

/** A queue of things numbered without holes, reached by number in constant time. Not thread-safe. */
public final class IndexedRing<T> {

    private @Nullable Object[] slots = new @Nullable Object[64];
    private long first = 1;
    private int size;

    public boolean isEmpty() {
        return size == 0;
    }

    public int size() {
        return size;
    }

    /** The number of the first element; if there is none, of the next one expected. */
    public long first() {
        return first;
    }

    /** The number behind the last element. */
    public long end() {
        return first + size;
    }

    /** Adds the element numbered {@code number}, which must follow the last one unless the ring is empty. */
    public void add(long number, T element) {
        if (size == 0) {
            first = number;
        } else if (number != end()) {
            throw new IllegalStateException(number + " does not follow " + (end() - 1));
        }
        if (size == slots.length) {
            @Nullable Object[] larger = new @Nullable Object[size * 2];
            for (long n = first; n < end(); n++) {
                larger[(int) (n & (larger.length - 1))] = slots[slot(n)];
            }
            slots = larger;
        }
        slots[slot(number)] = element;
        size++;
    }

    private int slot(long number) {
        return (int) (number & (slots.length - 1));
    }

    /** The element numbered {@code number}, which must be held. */
    @SuppressWarnings("unchecked") // only add() stores
    public T get(long number) {
        Object element = number >= first && number < end() ? slots[slot(number)] : null;
        if (element == null) {
            throw new IllegalStateException(number + " is not held, " + first + " to " + (end() - 1) + " are");
        }
        return (T) element;
    }

    public T removeFirst() {
        T element = get(first);
        slots[slot(first)] = null;
        first++;
        size--;
        return element;
    }

    /** Removes the elements numbered {@code number} and higher, the highest first, handing each to {@code removed}. */
    public void truncate(long number, Consumer<T> removed) {
        while (size > 0 && end() > number) {
            T last = get(end() - 1);
            slots[slot(end() - 1)] = null;
            size--;
            removed.accept(last);
        }
    }
}
