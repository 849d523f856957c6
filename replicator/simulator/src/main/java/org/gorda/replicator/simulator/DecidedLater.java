package org.gorda.replicator.simulator;

import java.util.ArrayDeque;
import java.util.Deque;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.simulated.SimulatedGroup;

/**
 * What the witness is to be told by a replica whose group may go ahead of the majority: each thing once a majority has what it follows from,
 * and never if that is lost. Confined to one thread.
 */
final class DecidedLater {

    private record Ahead(Position position, Runnable telling) {}

    private final SimulatedGroup group;
    private final Deque<Ahead> waiting = new ArrayDeque<>();

    DecidedLater(SimulatedGroup group) {
        this.group = group;
    }

    /** Whether what follows from the message at a place follows from what no majority is known to have yet. */
    boolean isAhead(Position last) {
        return !waiting.isEmpty() || last.index() > group.lastCommitted().index();
    }

    boolean isEmpty() {
        return waiting.isEmpty();
    }

    /** @param last the place of the message that it follows from */
    void tell(Position last, Runnable telling) {
        if (isAhead(last)) {
            waiting.addLast(new Ahead(last, telling));
        } else {
            telling.run();
        }
    }

    /** Tells what is decided by now. */
    void tellDecided() {
        while (!waiting.isEmpty()
                && waiting.getFirst().position().index()
                        <= group.lastCommitted().index()
                && isInTheLog(waiting.getFirst().position())) {
            waiting.removeFirst().telling().run();
        }
    }

    boolean isInTheLog(Position position) {
        try {
            return position.index() <= group.firstHeld().index()
                    || group.at(position.index()).position().equals(position);
        } catch (GroupException e) {
            return false;
        }
    }
}
