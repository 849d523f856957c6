package org.gorda.replicator.engine;

import java.util.EnumSet;
import java.util.Set;
import org.gorda.gapi.Capability;

/** How a replica replicates. */
public enum ReplicationProtocol {
    /** One replica executes, the others follow; a commit is answered when a majority has it. */
    PRIMARY_BACKUP("primary-backup"),
    /** Every replica executes; a commit is answered when a majority has it and no other won against it. */
    CERTIFICATION("certification"),
    /** No group: write sets are captured and encoded, and answered at once. Shows what capture costs. */
    LOOPBACK("loopback");

    private final String key;

    ReplicationProtocol(String key) {
        this.key = key;
    }

    /**
     * By the name it is configured by.
     *
     * @throws ReplicaException if there is none of that name, naming those that there are
     */
    public static ReplicationProtocol named(String key) {
        return Setting.one("protocol", key, values(), ReplicationProtocol::key);
    }

    /** The name it is configured by. */
    public String key() {
        return key;
    }

    /** What a binding must be able to do and cannot. */
    Set<Capability> missing(Set<Capability> available) {
        Set<Capability> missing = EnumSet.noneOf(Capability.class);
        missing.addAll(needs());
        missing.removeAll(available);
        return missing;
    }

    private Set<Capability> needs() {
        return switch (this) {
            case PRIMARY_BACKUP ->
                Set.of(
                        Capability.WRITE_SETS,
                        Capability.SCHEMA_CHANGES,
                        Capability.APPLY,
                        Capability.ABORT,
                        Capability.DURABLE_POSITION);
            case CERTIFICATION ->
                Set.of(
                        Capability.WRITE_SETS,
                        Capability.SCHEMA_CHANGES,
                        Capability.CERTIFICATION_KEYS,
                        Capability.APPLY,
                        Capability.ABORT,
                        Capability.DURABLE_POSITION);
            case LOOPBACK -> Set.of(Capability.WRITE_SETS);
        };
    }

    @Override
    public String toString() {
        return key;
    }
}
