package org.gorda.replicator.simulator;

import java.time.Duration;

/**
 * What happened in a run in which nothing was violated. Immutable.
 *
 * @param hash stands for all events and their order; the same for the same seed
 * @param virtualTime how long the run took for those in it
 * @param members how many members formed the group
 * @param messages how many the group ordered
 * @param acknowledged transactions whose clients were told that they are committed, in the end or at once
 * @param aborted transactions whose clients were told that they did not happen
 * @param inDoubt transactions whose clients had to ask another time for the outcome
 * @param schemaChanges transactions that changed the schema and were committed
 * @param protocolChanges how often the group changed its protocol
 * @param lost transactions that an asynchronous primary told their clients were committed, and that were lost with it
 * @param epochs how often a primary was proclaimed
 * @param faults how many were drawn
 * @param crashes how often a replica's process was killed or failed
 * @param partitions how often links were cut
 * @param amnesias how often a disk lost something that it had acknowledged
 * @param deadlocks transactions that a database rolled back because clients waited for each other
 * @param gaveWay transactions that a database rolled back for ordered ones, before they were sent
 * @param violations transactions that a database refused because of a unique or a foreign key
 * @param failedCommits commits of which a database could not tell whether they were made, upon which its replica stopped
 * @param strongReads reads that had to see all that any client was told before
 * @param transfers how often a replica was brought up to date by a copy of another one
 * @param membershipChanges how many members were added or removed
 */
public record SimulationResult(
        long seed,
        long hash,
        Duration virtualTime,
        int members,
        int messages,
        int acknowledged,
        int aborted,
        int inDoubt,
        int schemaChanges,
        int protocolChanges,
        int lost,
        int epochs,
        int faults,
        int crashes,
        int partitions,
        int amnesias,
        int deadlocks,
        int gaveWay,
        int violations,
        int failedCommits,
        int strongReads,
        int transfers,
        int membershipChanges) {}
