package org.gorda.replicator.engine;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
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
import org.gorda.jgcs.MemberId;
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

    private static final int ANSWER_MILLIS = 2000;

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
     * @param attributes what the database needs to be opened, for instance a user
     * @param directory null for the one that a replica of this database has if nothing else is configured
     * @throws ReplicaException if there is no replica, if it runs, or if what it keeps is damaged
     */
    public static ReplicaRecovery open(
            String bindingName, String location, Map<String, String> attributes, @Nullable Path directory) {
        Path kept = directory == null ? ReplicaConfiguration.standardDirectory(location) : directory;
        Recovery log;
        try {
            log = Replica.toolkit(ReplicaConfiguration.RAFT).recovery(kept.resolve(ReplicaConfiguration.LOG));
        } catch (GroupException e) {
            throw new ReplicaException(String.valueOf(e.getMessage()), e);
        }
        try {
            if (new ReceivedDatabase(kept).isToBeInstalled()) {
                throw new ReplicaException(
                        "the replica at " + location + " has received a database, which its next start puts in "
                                + "place: start it, stop it, and look again");
            }
            StoredPosition stored = stored(bindingName, location, attributes, kept);
            return new ReplicaRecovery(log, stored, new CheckpointFile(kept).load());
        } catch (ReflectionException e) {
            log.close();
            throw new ReplicaException(String.valueOf(e.getMessage()), e);
        } catch (RuntimeException e) {
            log.close();
            throw e;
        }
    }

    private static @Nullable StoredPosition stored(
            String bindingName, String location, Map<String, String> attributes, Path directory) {
        DatabaseBinding binding = Replica.binding(bindingName);
        DatabaseConfiguration database = new DatabaseConfiguration(
                location, attributes, Duration.ofSeconds(1), 1L << 30, directory.resolve("spool"));
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
     * @throws ReplicaException if that cannot be, or if another voter answers at its address; nothing was changed then. Or if the disk
     *     fails, and it is not known whether the step was taken
     */
    public void goOnAlone() {
        Recovery.Remains found = log.remains();
        String obstacle = obstacle();
        if (obstacle != null) {
            throw new ReplicaException(found.member() + " cannot go on alone: " + obstacle);
        }
        for (MemberId voter : found.voters()) {
            if (!voter.equals(found.member()) && answers(voter)) {
                throw new ReplicaException(found.member() + " cannot go on alone: " + voter
                        + " answers at its address. Stop it, if the group is lost all the same");
            }
        }
        try {
            log.goOnAlone();
        } catch (GroupException e) {
            throw new ReplicaException(String.valueOf(e.getMessage()), e);
        }
    }

    /** A last look before what cannot be undone: who is lost does not answer. Who does not answer may be cut off from here. */
    private static boolean answers(MemberId member) {
        try (Socket socket = new Socket()) {
            socket.connect(new InetSocketAddress(member.host(), member.port()), ANSWER_MILLIS);
            return true;
        } catch (IOException e) {
            return false;
        }
    }

    @Override
    public void close() {
        log.close();
    }
}
