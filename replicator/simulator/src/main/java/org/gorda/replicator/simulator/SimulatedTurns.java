package org.gorda.replicator.simulator;

import java.util.LinkedHashMap;
import java.util.Map;
import org.gorda.gapi.TransactionId;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.simulated.Simulation;

/** Whose turn it is to change the schema, one after the other, as one replica knows. Confined to one thread. */
final class SimulatedTurns {

    private static final long UNRENEWED_NANOS = 3_000_000_000L;

    private final Simulation simulation;

    /** With when each is over unless it is renewed. */
    private final Map<TransactionId, Long> turns = new LinkedHashMap<>();

    private long moved;

    SimulatedTurns(Simulation simulation) {
        this.simulation = simulation;
    }

    void delivered(TransactionId id, Position position, boolean ends) {
        if (ends) {
            turns.remove(id);
        } else {
            turns.put(id, simulation.now() + UNRENEWED_NANOS);
        }
        moved = position.index();
    }

    void clear() {
        turns.clear();
    }

    /** @param visible up to where everything is visible here */
    boolean isTurnOf(TransactionId id, long visible) {
        return visible >= moved && hasTurn() && turns.keySet().iterator().next().equals(id);
    }

    /** Whether nobody's turn keeps others from sending. */
    boolean isRoom(long visible) {
        return visible >= moved && !hasTurn();
    }

    private boolean hasTurn() {
        turns.values().removeIf(end -> simulation.now() >= end);
        return !turns.isEmpty();
    }
}
