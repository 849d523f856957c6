package org.gorda.replicator.simulator;

import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.TransactionId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.simulated.Simulation;

/**
 * Sees everything and forgets nothing: what was delivered, decided, committed and answered, and whether it fits together. Whatever
 * comes first is the truth that all others are held to. Confined to one thread.
 */
final class Witness {

    private record Decision(TransactionId id, boolean committed) {}

    private final Simulation simulation;
    private final TreeMap<Long, Message> history = new TreeMap<>();
    private final TreeMap<Long, Decision> decisions = new TreeMap<>();

    /** All committed transactions, and the fingerprints after each. */
    private final SimulatedBank truth = new SimulatedBank();

    private final TreeMap<Long, Long> fingerprints = new TreeMap<>();
    private final Map<TransactionId, Boolean> told = new LinkedHashMap<>();
    private final Set<TransactionId> risked = new HashSet<>();
    private final Set<Long> epochs = new HashSet<>();

    /** Of transactions that are to be committed. */
    private final Map<TransactionId, Long> places = new HashMap<>();

    /** What any client had been told before each transaction began, by the last place in the order. */
    private final Map<TransactionId, Long> toldBefore = new HashMap<>();

    private long acknowledgedIndex;
    private int strongReads;

    Witness(Simulation simulation) {
        this.simulation = simulation;
        fingerprints.put(0L, 0L);
    }

    int messages() {
        return history.size();
    }

    /** The last place in the order that anybody has taken a message from. */
    long lastIndex() {
        return history.isEmpty() ? 0 : history.lastKey();
    }

    int schemaChanges() {
        return (int) truth.schema();
    }

    int epochs() {
        return epochs.size();
    }

    /** To how many transactions' clients this was the last word. */
    int answered(boolean committed) {
        return (int) told.values().stream().filter(each -> each == committed).count();
    }

    /** Log agreement: at one position, one message. */
    void delivered(MemberId member, Message message) {
        Position position = message.position();
        Message first = history.get(position.index());
        if (first == null) {
            if (position.index() < lastIndex()) {
                simulation.broken(member + " gets " + message.id() + " at " + position + ", which others passed over");
            }
            history.put(position.index(), message);
        } else if (!first.position().equals(position)
                || !first.id().equals(message.id())
                || !first.payload().equals(message.payload())) {
            simulation.broken(member + " gets " + message.id() + " at " + position + ", another one got " + first.id()
                    + " at " + first.position());
        }
    }

    /** All cores decide the same about a transaction at a position. */
    void decided(MemberId member, long index, TransactionId id, boolean committed) {
        Decision decision = new Decision(id, committed);
        Decision first = decisions.putIfAbsent(index, decision);
        if (first != null && !first.equals(decision)) {
            simulation.broken(member + " decides " + decision + " at " + index + ", another one decided " + first);
        }
    }

    /** A transaction is to be committed, told before any database has it. */
    void ordered(MemberId member, Position position, Transfer transfer) {
        decided(member, position.index(), transfer.intent().id(), true);
        if (fingerprints.containsKey(position.index())) {
            return;
        }
        try {
            truth.apply(position, transfer);
            truth.commit();
        } catch (DivergenceException e) {
            simulation.broken("transactions do not follow each other: " + e.getMessage());
        }
        fingerprints.put(position.index(), truth.fingerprint());
        places.put(transfer.intent().id(), position.index());
        long before = toldBefore.getOrDefault(transfer.intent().id(), 0L);
        if (position.index() <= before) {
            simulation.broken(
                    transfer + " is ordered at " + position + ", but began after a client was told of " + before);
        }
    }

    void proclaimed(long epoch) {
        epochs.add(epoch);
    }

    /** A database has committed: it holds what is committed up to its position, all of that, and nothing else. */
    void committed(MemberId member, Position stored, long fingerprint, boolean balanced) {
        Long expected = fingerprints.get(stored.index());
        if (expected == null || expected != fingerprint) {
            simulation.broken(member + " holds another content at " + stored + " than others did there");
        }
        if (!balanced) {
            simulation.broken(member + " has lost or made money at " + stored);
        }
    }

    /** A client begins a transaction: it must come after all that any client was told. */
    void begins(TransactionId id) {
        toldBefore.put(id, acknowledgedIndex);
    }

    /** The last place in the order of a transaction whose client was told for certain that it is committed. */
    long acknowledgedIndex() {
        return acknowledgedIndex;
    }

    int strongReads() {
        return strongReads;
    }

    /**
     * A strong read has been answered.
     *
     * @param before what had been acknowledged when it began
     * @param seen up to where it has seen everything
     */
    void read(MemberId member, long before, long seen) {
        strongReads++;
        if (seen < before) {
            simulation.broken("a strong read on " + member + " sees everything up to " + seen
                    + " only, a client was told before of " + before);
        }
    }

    /** An asynchronous primary is about to tell a client that this is committed, which it may lose. */
    void risked(TransactionId id) {
        risked.add(id);
    }

    /** How many transactions were lost of which their clients were told that they are committed. */
    int lost() {
        return (int) risked.stream()
                .filter(id -> told.getOrDefault(id, false) && !truth.holds(id))
                .count();
    }

    /** A client was told what became of its transaction, for certain. */
    void told(TransactionId id, boolean committed) {
        if (committed && risked.contains(id)) {
            told.putIfAbsent(id, true);
            return;
        }
        if (committed) {
            acknowledgedIndex = Math.max(acknowledgedIndex, places.getOrDefault(id, 0L));
        }
        Boolean before = told.putIfAbsent(id, committed);
        if (before != null && before != committed && !risked.contains(id)) {
            simulation.broken("the client of " + id + " was told committed=" + before + ", then " + committed);
        }
        if (!committed && truth.holds(id)) {
            simulation.broken("the client of " + id + " was told that it is not committed, but it is");
        }
    }

    /** The end: what was acknowledged is in this database, what was denied is not, nothing is missing, and its constraints hold. */
    void checkFinal(MemberId member, SimulatedBank bank) {
        for (Map.Entry<TransactionId, Boolean> each : told.entrySet()) {
            boolean mayBeLost = each.getValue() && risked.contains(each.getKey());
            if (bank.holds(each.getKey()) != each.getValue() && !mayBeLost) {
                simulation.broken("the client of " + each.getKey() + " was told committed=" + each.getValue() + ", but "
                        + member + " has it: " + bank.holds(each.getKey()));
            }
        }
        if (!bank.keepsConstraints()) {
            simulation.broken(member + " holds a name twice, or an account of a branch that is not there");
        }
        if (bank.fingerprint() != truth.fingerprint()) {
            simulation.broken(
                    member + " holds everything up to " + bank.stored() + " only, the end is " + truth.stored());
        }
    }
}
