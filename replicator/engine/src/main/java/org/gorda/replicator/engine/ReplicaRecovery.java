package org.gorda.replicator.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.StoredPosition;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.Recovery;
import org.jspecify.annotations.Nullable;

/**
 * A replica that does not run, looked at by a person who must decide with which one to go on after a majority was lost for good. Its
 * database is opened and closed as at a start. Confined to one thread.
 */
public final class ReplicaRecovery implements AutoCloseable {

    /**
     * What is left of the replica. Immutable.
     *
     * @param log what its log holds
     * @param stored up to where its database holds everything, null if it holds nothing that was replicated
     * @param obstacle why it cannot go on alone even if the log's group lets it, null if it can
     */
    public record Remains(
            Recovery.Remains log,
            @Nullable StoredPosition stored,
            @Nullable String obstacle) {}

    private final Recovery log;
    private final @Nullable StoredPosition stored;

    /** From where the log is needed. */
    private final CheckpointFile.@Nullable Checkpoint checkpoint;

    private ReplicaRecovery(
            Recovery log, @Nullable StoredPosition stored, CheckpointFile.@Nullable Checkpoint checkpoint) {
        this.log = log;
        this.stored = stored;
        this.checkpoint = checkpoint;
    }

    /**
     * Looks at what a replica keeps.
     *
     * @param directory null for the one that a replica of this database has if nothing else is configured
     * @throws ReplicaException if there is no replica, if it runs, or if what it keeps is damaged
     */
    public static ReplicaRecovery open(String bindingName, String location, @Nullable Path directory) {
        Path kept = directory == null ? ReplicaConfiguration.standardDirectory(location) : directory;
        Recovery log;
        try {
            log = Replica.groupProtocol().recovery(kept.resolve(ReplicaConfiguration.LOG));
        } catch (GroupException e) {
            throw new ReplicaException(String.valueOf(e.getMessage()), e);
        }
        try {
            return new ReplicaRecovery(log, stored(bindingName, location, kept), new CheckpointFile(kept).load());
        } catch (IOException e) {
            log.close();
            throw new ReplicaException("the directory " + kept + " cannot be used: " + e, e);
        } catch (ReflectionException e) {
            log.close();
            throw new ReplicaException(String.valueOf(e.getMessage()), e);
        } catch (RuntimeException e) {
            log.close();
            throw e;
        }
    }

    private static @Nullable StoredPosition stored(String bindingName, String location, Path directory)
            throws IOException {
        DatabaseBinding binding = Replica.binding(bindingName);
        DatabaseConfiguration database = new DatabaseConfiguration(
                location, Map.of(), Duration.ofSeconds(1), 1L << 30, directory.resolve("spool"), false);
        new ReceivedDatabase(directory).install(binding, database);
        if (!Files.exists(Path.of(location))) {
            return null; // opening would create it
        }
        try (ReflectedDatabase opened = binding.open(database, new LoopbackListener())) {
            return opened.storedPosition().orElse(null);
        }
    }

    /** What there is now. */
    public Remains remains() {
        return new Remains(log.remains(), stored, obstacle());
    }

    private @Nullable String obstacle() {
        Recovery.Remains found = log.remains();
        long holds = stored == null ? 0 : stored.index();
        long begins = checkpoint == null ? 0 : checkpoint.position().index();
        long lacks = checkpoint == null ? 0 : checkpoint.stored().index();
        if (Math.max(holds, begins) > found.lastIndex()) {
            return "it holds everything up to " + Math.max(holds, begins) + ", but its log ends at " + found.lastIndex()
                    + ": take a replica whose log is whole";
        }
        if (begins < found.firstHeld() || holds < lacks) {
            return "its database holds everything up to " + holds + " and its checkpoint is of " + begins
                    + ", but its log begins after " + found.firstHeld() + ": take a replica that lacks nothing";
        }
        return null;
    }

    /**
     * Makes it the group's only replica, as {@link Recovery#goOnAlone} says.
     *
     * @throws ReplicaException if that cannot be; nothing was changed then
     */
    public void goOnAlone() {
        String obstacle = obstacle();
        if (obstacle != null) {
            throw new ReplicaException(log.remains().member() + " cannot go on alone: " + obstacle);
        }
        try {
            log.goOnAlone();
        } catch (GroupException e) {
            throw new ReplicaException(String.valueOf(e.getMessage()), e);
        }
    }

    @Override
    public void close() {
        log.close();
    }
}
