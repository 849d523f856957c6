package org.gorda.replicator.engine;

import org.gorda.jgcs.Service;

/** When a commit is answered, and what it then survives. */
public enum Durability {
    /** When it is ordered and on this replica's own disk: as without GORDA, plus the group. */
    LOCAL("local", Service.Durability.WRITTEN),
    /** When a majority has it in its log file: any number of process kills, and the power loss of a minority at a time. */
    GROUP("group", Service.Durability.WRITTEN),
    /** When a majority has forced it to disk: the power loss of all. */
    GROUP_DISK("group-disk", Service.Durability.SYNCED);

    private final String key;
    private final Service.Durability log;

    Durability(String key, Service.Durability log) {
        this.key = key;
        this.log = log;
    }

    /** The name it is configured by. */
    public String key() {
        return key;
    }

    Service.Durability log() {
        return log;
    }

    @Override
    public String toString() {
        return key;
    }
}
