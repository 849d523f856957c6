package org.gorda.replicator.core;

import java.util.EnumSet;
import java.util.Set;
import org.gorda.gapi.Capability;

/** How a replica replicates; that of a group is decided in its order, and the same at all its members. */
public enum ReplicationProtocol {
    /** One replica executes, the others follow; a commit is answered when a majority has it. */
    PRIMARY_BACKUP("primary-backup"),
    /**
     * One replica executes, the others follow; a commit is answered when the one that executes has it. If that one fails, what no majority had is
     * lost.
     */
    ASYNCHRONOUS("asynchronous"),
    /** Every replica executes; a commit is answered when a majority has it and no other won against it. */
    CERTIFICATION("certification"),
    /** No group: write sets are captured and encoded, and answered at once. Shows what capture costs. */
    LOOPBACK("loopback");

    private final String key;

    ReplicationProtocol(String key) {
        this.key = key;
    }

    /** The name it is configured by. */
    public String key() {
        return key;
    }

    /** Whether every member of the group executes, and what they send is certified. */
    public boolean isEverywhere() {
        return this == CERTIFICATION;
    }

    /** What a binding must be able to do and cannot. */
    public Set<Capability> missing(Set<Capability> available) {
        Set<Capability> missing = EnumSet.noneOf(Capability.class);
        missing.addAll(needs());
        missing.removeAll(available);
        return missing;
    }

    private Set<Capability> needs() {
        return switch (this) {
            case PRIMARY_BACKUP, ASYNCHRONOUS ->
                Set.of(
                        Capability.WRITE_SETS,
                        Capability.SCHEMA_CHANGES,
                        Capability.APPLY,
                        Capability.ABORT,
                        Capability.DURABLE_POSITION,
                        Capability.SNAPSHOT);
            case CERTIFICATION ->
                Set.of(
                        Capability.WRITE_SETS,
                        Capability.SCHEMA_CHANGES,
                        Capability.CERTIFICATION_KEYS,
                        Capability.APPLY,
                        Capability.ABORT,
                        Capability.DURABLE_POSITION,
                        Capability.SNAPSHOT);
            case LOOPBACK -> Set.of(Capability.WRITE_SETS);
        };
    }

    @Override
    public String toString() {
        return key;
    }
}
