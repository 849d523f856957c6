package org.gorda.bindings.triggers;

import java.util.ArrayDeque;
import java.util.Deque;
import java.util.function.Consumer;

/** Rows whose new unique keys another row of the same statement may have yet: they are put into their tables at its end. Confined to the applier's thread. */
public final class MovedRows<R> {

    private final Deque<R> moved = new ArrayDeque<>();
    private final Consumer<R> addition;

    /** @param addition puts a row into its table; it may fail, and be asked again */
    public MovedRows(Consumer<R> addition) {
        this.addition = addition;
    }

    /** The row has left its place, and waits for the other one. */
    public void add(R row) {
        moved.add(row);
    }

    public boolean isEmpty() {
        return moved.isEmpty();
    }

    /** Puts all into their tables. */
    public void settle() {
        for (R next = moved.peek(); next != null; next = moved.peek()) {
            addition.accept(next);
            moved.remove();
        }
    }

    /** Forgets them. */
    public void clear() {
        moved.clear();
    }
}
