package org.gorda.bindings.triggers;

import java.util.Iterator;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.function.Consumer;
import org.gorda.gapi.DivergenceException;
import org.jspecify.annotations.Nullable;

/**
 * Rows whose new unique keys another row of the same statement may have yet: they are put into their tables at its end. What changes one of them meanwhile takes it
 * back, because nobody else need have left its place by then. Confined to the applier's thread.
 */
public final class MovedRows<R> {

    private final Map<Object, R> moved = new LinkedHashMap<>();
    private final Consumer<R> addition;

    /** @param addition puts a row into its table; it may fail, and be asked again */
    public MovedRows(Consumer<R> addition) {
        this.addition = addition;
    }

    /** The row has left its place, and waits for the other one. */
    public void add(R row) {
        add(new Object(), row);
    }

    /** As {@link #add(Object)}, to be {@linkplain #take taken} by the place for which it waits. */
    public void add(Object place, R row) {
        if (moved.putIfAbsent(place, row) != null) {
            throw new DivergenceException("two rows come to have one key: " + place);
        }
    }

    /** The row that waits for a place, and now does not any more; null if none does. */
    public @Nullable R take(Object place) {
        return moved.remove(place);
    }

    public boolean isEmpty() {
        return moved.isEmpty();
    }

    /** Puts all into their tables. */
    public void settle() {
        for (Iterator<R> next = moved.values().iterator(); next.hasNext(); ) {
            addition.accept(next.next());
            next.remove();
        }
    }

    /** Forgets them. */
    public void clear() {
        moved.clear();
    }
}
