package org.gorda.replicator.engine;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import org.gorda.jgcs.MemberId;
import org.gorda.replicator.core.ReplicationProtocol;
import org.jspecify.annotations.Nullable;

/**
 * How a replica is set up. Immutable; made by {@link Replica.Builder}.
 *
 * @param binding the kind of database, by the name of its binding
 * @param location the database itself, in the binding's own way
 * @param attributes the database's own settings
 * @param protocol how it replicates
 * @param group the group's name
 * @param toolkit what orders the group's messages, by its name
 * @param self this replica's member of the group
 * @param members all members that form the group
 * @param directory where the log and the checkpoints are kept
 * @param durability when a commit is answered
 * @param strongReads whether every statement first makes sure to see everything that was committed anywhere before it began
 * @param commitTimeout how long a commit may wait to be ordered before its client is told that its outcome is unknown, 100 ms to
 *     10 minutes
 * @param readGrace how long transactions that only read may hold up ordered changes, 0 to 10 minutes
 * @param lagMax how many transactions a replica may be behind the others before they wait for it, 10 to 1,000,000,000
 * @param lagPatience how long they do so, 100 ms to 10 minutes
 * @param electionTimeout how long a silent leader is believed in
 * @param writeSetBytesMax the largest transaction, 64 KiB to 64 GiB
 * @param logRetainBytes how much of the log is kept, and twice as much while a member lacks it, 1 MiB to 1 TiB; who lacks more receives
 *     the whole database from another
 * @param transferBytesPerSecond at most so much of a database is received in a second, 64 KiB to 1 TiB
 * @param tls by which all is encrypted that leaves the process, null if nothing is
 */
public record ReplicaConfiguration(
        String binding,
        String location,
        Map<String, String> attributes,
        ReplicationProtocol protocol,
        String group,
        String toolkit,
        MemberId self,
        List<MemberId> members,
        Path directory,
        Durability durability,
        boolean strongReads,
        Duration commitTimeout,
        Duration readGrace,
        long lagMax,
        Duration lagPatience,
        Duration electionTimeout,
        long writeSetBytesMax,
        long logRetainBytes,
        long transferBytesPerSecond,
        @Nullable Tls tls) {

    /** The group toolkit that is always there. */
    static final String RAFT = "raft";

    /** The log's directory in {@link #directory}. */
    static final String LOG = "log";

    public ReplicaConfiguration {
        attributes = Map.copyOf(attributes);
        members = List.copyOf(members);
        range("commit-timeout", commitTimeout.toMillis(), 100, 600_000, "ms");
        range("read-grace", readGrace.toMillis(), 0, 600_000, "ms");
        range("lag-max", lagMax, 10, 1_000_000_000, "transactions");
        range("lag-patience", lagPatience.toMillis(), 100, 600_000, "ms");
        range("write-set-bytes-max", writeSetBytesMax, 64 << 10, 64L << 30, "bytes");
        range("log-retain-bytes", logRetainBytes, 1 << 20, 1L << 40, "bytes");
        range("transfer-bytes-per-second", transferBytesPerSecond, 64 << 10, 1L << 40, "bytes");
    }

    /** Where a replica keeps its log and checkpoints if nothing else is configured. */
    static Path standardDirectory(String location) {
        Path database = Path.of(location); // which may end in a slash
        return database.resolveSibling(database.getFileName() + ".gorda");
    }

    private static void range(String key, long value, long min, long max, String unit) {
        if (value < min || value > max) {
            throw new ReplicaException(key + " is " + value + " but must be " + min + " to " + max + " " + unit);
        }
    }
}
