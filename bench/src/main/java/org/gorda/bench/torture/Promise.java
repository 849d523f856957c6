package org.gorda.bench.torture;

import java.util.List;
import java.util.stream.Stream;

/** What transactions are held to besides what holds everywhere, by how their databases keep them apart. */
enum Promise {
    /** Each level is what it is whatever the others are; at REPEATABLE READ a row that was not there may appear. */
    LOCKS,
    /**
     * At REPEATABLE READ nothing that was read changes, nor appears; SERIALIZABLE transactions are so among themselves: what one has read
     * a transaction at another level may overwrite without being noticed (Ports and Grittner, VLDB 2012).
     */
    SNAPSHOTS,
    /** As {@link #SNAPSHOTS}, but what a SERIALIZABLE transaction has read is compared with what all others have written. */
    CERTIFIED_SNAPSHOTS,
    /** As {@link #SNAPSHOTS}, without SERIALIZABLE: as in H2 and HSQLDB, where that level is no more than a snapshot. */
    SNAPSHOTS_ONLY;

    boolean isSerializable() {
        return this != SNAPSHOTS_ONLY;
    }

    /** What may be asked for. */
    List<Isolation> levels() {
        return Stream.of(Isolation.values())
                .filter(level -> isSerializable() || level != Isolation.SERIALIZABLE)
                .toList();
    }

    /** Whether a transaction that has not found a row does not find it later, either. */
    boolean keepsAbsence(Isolation reader) {
        return reader == Isolation.SERIALIZABLE || (this != LOCKS && reader == Isolation.REPEATABLE_READ);
    }

    /** Whether who overwrites what another one has read must come after that in one order of all. */
    boolean ordersAfter(Isolation reader, Isolation writer) {
        return reader == Isolation.SERIALIZABLE && (this != SNAPSHOTS || writer == Isolation.SERIALIZABLE);
    }
}
