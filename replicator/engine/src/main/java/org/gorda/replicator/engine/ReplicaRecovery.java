package org.gorda.replicator.engine;

import java.io.IOException;
import java.net.InetSocketAddress;
import java.net.Socket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.Map;
import java.util.function.Function;
import org.gorda.gapi.Applier;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.InstalledBinding;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.StoredPosition;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Recovery;
import org.jspecify.annotations.Nullable;

/**
 * A replica that does not run, looked at by a person who must decide with which one to go on after a majority was lost for good, or all logs were. Its
 * database is opened and closed as at a start. Confined to one thread.
 */
public final class ReplicaRecovery implements AutoCloseable {

    /**
     * What is left of the replica. Immutable.
     *
     * @param log what its log holds, null if there is none
     * @param stored up to where its database holds everything, null if it holds nothing that was replicated
     * @param obstacle why it cannot go on alone even if the log's group lets it, null if it can
     */
    public record Remains(
            Recovery.@Nullable Remains log,
            @Nullable StoredPosition stored,
            @Nullable String obstacle) {}

    private static final int ANSWER_MILLIS = 2000;

    private final DatabaseBinding binding;
    private final DatabaseConfiguration database;
    private final Path directory;

    /** Nobody has named the directory, and it is not there. */
    private final boolean isGuessed;

    private final @Nullable Recovery log;
    private @Nullable StoredPosition stored;

    /** From where the log is needed. */
    private final CheckpointFile.@Nullable Checkpoint checkpoint;

    /** Why there is none though its file is there; null if that is whole. */
    private final @Nullable String damage;

    private ReplicaRecovery(
            DatabaseBinding binding,
            DatabaseConfiguration database,
            Path directory,
            boolean isGuessed,
            @Nullable Recovery log) {
        this.binding = binding;
        this.database = database;
        this.directory = directory;
        this.isGuessed = isGuessed;
        this.log = log;
        if (new ReceivedDatabase(directory).isToBeInstalled()) {
            throw new ReplicaException(
                    "the replica at " + database.location() + " has received a database, which its next start puts in "
                            + "place: start it, stop it, and look again");
        }
        stored = isThere() ? with(opened -> opened.storedPosition().orElse(null)) : null;
        CheckpointFile.Checkpoint found = null;
        String unreadable = null;
        try {
            found = new CheckpointFile(directory)
                    .load(
                            "go on with another replica; or, if no other one is left, leave its database where it is, move the"
                                    + " directory away, and begin a new group with what it holds (--new-group)");
        } catch (ReplicaException e) {
            unreadable = e.getMessage();
        }
        checkpoint = found;
        damage = unreadable;
    }

    /**
     * Looks at what a replica keeps.
     *
     * @param attributes what the database needs to be opened, for instance a user
     * @param directory null for the one that a replica of this database has if nothing else is configured; a server's has none
     * @throws ReplicaException if there is no replica, if it runs, or if what it keeps is damaged, but for the checkpoint, which is an obstacle
     */
    public static ReplicaRecovery open(
            String bindingName, String location, Map<String, String> attributes, @Nullable Path directory) {
        DatabaseBinding binding = Replica.binding(bindingName);
        if (directory == null && binding instanceof InstalledBinding) {
            throw new ReplicaException(
                    "directory is not set: say where this replica keeps its log and checkpoints, because " + location
                            + " is a server's database, which has no path");
        }
        Path kept = directory == null ? ReplicaConfiguration.standardDirectory(location) : directory;
        boolean isGuessed = directory == null && !Files.exists(kept);
        DatabaseConfiguration database =
                new DatabaseConfiguration(location, attributes, Duration.ofSeconds(1), 1L << 30, kept.resolve("spool"));
        Path files = kept.resolve(ReplicaConfiguration.LOG);
        Recovery log = null;
        try {
            if (Files.exists(files)) {
                log = Replica.toolkit(ReplicaConfiguration.RAFT).recovery(files);
            }
            ReplicaRecovery opened = new ReplicaRecovery(binding, database, kept, isGuessed, log);
            if (opened.log() == null && opened.stored == null) {
                throw new ReplicaException(
                        opened.isThere()
                                ? location + " belongs to no group: start it"
                                : kept + " is no replica's directory, and " + location
                                        + " no replica's database: name another one");
            }
            return opened;
        } catch (ReflectionException | GroupException e) {
            close(log);
            throw new ReplicaException(String.valueOf(e.getMessage()), e);
        } catch (RuntimeException e) {
            close(log);
            throw e;
        }
    }

    /** Opening one of this process would create it. */
    private boolean isThere() {
        return binding instanceof InstalledBinding || Files.exists(Path.of(database.location()));
    }

    private <T> T with(Function<ReflectedDatabase, T> work) {
        try (ReflectedDatabase opened = binding.open(database, new LoopbackListener())) {
            return work.apply(opened);
        }
    }

    /** What there is now. */
    public Remains remains() {
        return new Remains(log(), stored, obstacle());
    }

    /** Null if there is none, or only what a start that found none has made. */
    private Recovery.@Nullable Remains log() {
        Recovery.Remains found = log == null ? null : log.remains();
        boolean isNew =
                found == null || (found.lastIndex() == 0 && found.voters().isEmpty());
        return isNew ? null : found;
    }

    private @Nullable String obstacle() {
        Recovery.Remains found = log();
        if (found == null) {
            return "there is nothing of its group's log in " + directory;
        }
        if (damage != null) {
            return damage;
        }
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
        String obstacle = obstacle();
        Recovery.Remains found = log();
        if (obstacle != null || found == null || log == null) {
            throw new ReplicaException(
                    (found == null ? database.location() : found.member()) + " cannot go on alone: " + obstacle);
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

    /**
     * Has the database, whose group's log is lost, be that of no group: one that is formed later begins with its rows, and clients of the one before go
     * on with it.
     *
     * @throws ReplicaException if there is a log, or nothing to be forgotten; nothing was changed then. Or if the database fails
     */
    public void beginNewGroup() {
        if (log() != null || checkpoint != null || damage != null) {
            throw new ReplicaException(
                    directory + " holds " + (log() == null ? "a checkpoint" : "the log")
                            + " of the group that " + database.location()
                            + " belongs to: start the replica; or, if that group is never to work again, move the directory away");
        }
        StoredPosition holds = stored;
        if (holds == null) {
            throw new ReplicaException(database.location() + " belongs to no group: start it");
        }
        if (isGuessed) {
            throw new ReplicaException(
                    "there is no " + directory + ", the directory of a replica whose settings name none:"
                            + " give the one that it had (--directory), also if that is lost");
        }
        try {
            ForgottenGroup.write(directory, new GroupId(holds.groupHigh(), holds.groupLow()));
            stored = with(opened -> {
                Applier applier = opened.applier(); // which knows how far the others' generated keys are
                opened.takeOver();
                applier.close();
                opened.forget();
                return null;
            });
        } catch (ReflectionException e) {
            throw new ReplicaException(String.valueOf(e.getMessage()), e);
        } catch (IOException e) {
            throw new ReplicaException(directory + " cannot be written to (" + e + "); nothing was changed", e);
        }
    }

    @Override
    public void close() {
        close(log);
    }

    private static void close(@Nullable Recovery log) {
        if (log != null) {
            log.close();
        }
    }
}
