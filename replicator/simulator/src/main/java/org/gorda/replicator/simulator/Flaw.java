package org.gorda.replicator.simulator;

/** Mistakes that the shell around the core, or the database, can be made to make, to show that the checks would notice. */
enum Flaw {
    NONE,
    /** A client is told that its transaction is committed when it is only sent. */
    ACKNOWLEDGES_BEFORE_ORDERED,
    /** The leader of the order executes, without locks, before it has everything up to its own entry. */
    EXECUTES_BEFORE_OWN_ENTRY,
    /** A transaction of unknown outcome lets go of its locks, and the epoch goes on. */
    GIVES_UP_WITHOUT_NEW_EPOCH,
    /** After a restart, what the database has already is applied again. */
    APPLIES_WHAT_IS_STORED,
    /** The log is released up to the checkpoint although the database is not on disk that far. */
    CHECKPOINTS_WITHOUT_FLUSH,
    /** A client in doubt takes "not known here" for "not committed". */
    TAKES_UNKNOWN_FOR_ABORTED,
    /** The log is released up to the checkpoint although chunks of a transaction that is not decided lie before it. */
    RELEASES_OPEN_CHUNKS,
    /** A large transaction that is given up half-sent leaves its chunks to be kept for ever. */
    LEAVES_CHUNKS_OPEN,
    /** Where every replica executes: what is sent to be certified does not say which rows it wrote. */
    CERTIFIES_WITHOUT_KEYS,
    /** Where every replica executes: what is sent to be certified says which rows it wrote, but nothing of its unique names. */
    CERTIFIES_WITHOUT_UNIQUE_KEYS,
    /** Where every replica executes: what is sent to be certified does not say to which parents its rows refer. */
    CERTIFIES_WITHOUT_PARENTS,
    /** Where every replica executes: what a foreign key's check has seen is compared from where the commit was asked for. */
    CERTIFIES_FROM_ONE_WATERMARK,
    /** Where every replica executes: what is sent to be certified does not say which rows it has read. */
    CERTIFIES_WITHOUT_READS,
    /** Where every replica executes: what is sent to be certified does not say of which table it has looked for rows, or changed some. */
    CERTIFIES_WITHOUT_COUNTS,
    /** Where every replica executes: what is sent to be certified does not say that it depends on the schema. */
    CERTIFIES_WITHOUT_SCHEMA,
    /** Where every replica executes: a schema change takes no turn, and asks to be compared only with what is ordered after it was sent. */
    CHANGES_SCHEMA_BESIDE_ROWS,
    /** Where every replica executes: a commit asks to be compared only with what is ordered after it was sent, whatever had run. */
    CLAIMS_TO_HAVE_EXECUTED_ALL,
    /** Where every replica executes: a transaction that gave way to another's change is taken for aborted, although it was sent. */
    TAKES_GIVING_WAY_FOR_ABORTED,
    /** Where every replica executes: what gave way and is certified is made again beside transactions that hold its rows by now. */
    REPLAYS_WITHOUT_PRIORITY,
    /** A replica's own transaction is committed in its database before others that precede it. */
    SHOWS_OWN_FIRST,
    /** What was executed in an epoch that is over is committed in the next one. */
    IGNORES_THE_EPOCH,
    /** Whether a transaction says what it has read and written goes by the protocol that the group began with, not by that of now. */
    CAPTURES_FOR_THE_FIRST_PROTOCOL,
    /** A primary goes ahead of the majority whatever the protocol. */
    DELIVERS_AHEAD_FOR_ALL,
    /** An asynchronous primary's checkpoint counts for its next start although a majority never had what it is made of. */
    CHECKPOINTS_WHAT_IS_NOT_DECIDED,
    /** A replica goes on from its database without looking whether that is part of the group's history. */
    IGNORES_WHERE_ITS_DATABASE_ENDS,
    /** The first message after a restart is passed over. */
    SKIPS_ONE_AFTER_RESTART,
    /** The position is brought to the database behind the rows, not with them. */
    STORES_POSITION_AFTERWARDS,
    /** A client that asks for an outcome is answered from what one replica holds, without the order. */
    TELLS_OUTCOME_WITHOUT_ORDER,
    /** A member that is started again does not know in which term it was and for whom it has voted. */
    FORGETS_ITS_VOTE,
    /** A member that is started again numbers its messages like its run before. */
    REUSES_ITS_INCARNATION,
    /** A member that has lost its log does not notice, and votes. */
    VOTES_ALTHOUGH_IT_FORGOT,
    /** What is ordered waits for a client's lock as clients wait for each other's. */
    APPLIES_WITHOUT_PRIORITY,
    /** Where every replica executes: a running transaction whose locks were needed for what is ordered goes on without them. */
    GOES_ON_AFTER_GIVING_WAY,
    /** A transaction's locks are let go when it is sent, not when it is committed with its position. */
    LETS_GO_WHEN_SENT,
    /** The client of a deadlock's victim is told that its transaction is committed. */
    ACKNOWLEDGES_DEADLOCKED,
    /** Whether a name is free is looked up without a lock on the unique index's entry. */
    TAKES_NAMES_WITHOUT_LOCKS,
    /** A row refers to its parent without a lock on that and on its own entry in the foreign key's index. */
    REFERS_WITHOUT_LOCKS,
    /** The locks of a transaction whose commit is refused are not let go. */
    KEEPS_LOCKS_OF_REFUSED,
    /** A strong read does not ask how far the group is. */
    READS_WITHOUT_ASKING
}
