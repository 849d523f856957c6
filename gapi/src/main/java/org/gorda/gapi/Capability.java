package org.gorda.gapi;

/** What a binding can reflect. A protocol states what it needs, and a mismatch is refused at start. */
public enum Capability {
    /** The rows a transaction changed, before its commit; the commit waits for an answer. */
    WRITE_SETS,
    /** Schema changes, in their place among the row changes of their transaction. */
    SCHEMA_CHANGES,
    /** The keys a transaction wrote, removed and referenced, so that conflicts can be decided elsewhere. */
    CERTIFICATION_KEYS,
    /** What a SERIALIZABLE transaction has read, by the same keys. */
    READ_SETS,
    /** Changes of others are applied together with their position in one transaction, without triggers and cascades. */
    APPLY,
    /** A local transaction can be rolled back from another thread, whatever it is doing. */
    ABORT,
    /** The database tells up to which position it would come back after a crash. */
    DURABLE_POSITION,
    /** A copy of the database, or of its rows alone, can be made while clients write, and a database of the former. */
    SNAPSHOT,
    /** The database can be reached by clients of its own over the network. */
    NETWORK_SERVER
}
