package org.gorda.replicator.engine;

import java.util.List;
import java.util.Optional;
import java.util.function.BooleanSupplier;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.StoredPosition;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.LogSession;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.Recovery;
import org.jspecify.annotations.Nullable;

/**
 * Whether what this replica's database holds is part of the group's history. If it is not, only what the group itself has made may be replaced;
 * anything else is for a person to look at. Guarded by the order's lock, but for {@link #mayBeAhead()} and {@link #stored()}.
 */
final class StoredHistory {

    static final StoredPosition NOTHING = new StoredPosition(0, 0, 0, 0);

    /** What this replica holds cannot be gone on with; another one's database can. */
    static final class MustReceiveException extends RuntimeException {
        private static final long serialVersionUID = 1L;

        MustReceiveException(String message) {
            super(message);
        }
    }

    private final ReplicaConfiguration configuration;
    private volatile StoredPosition stored = NOTHING;
    private boolean found;
    private volatile boolean mayBeAhead;

    StoredHistory(ReplicaConfiguration configuration) {
        this.configuration = configuration;
    }

    /** The database was opened, and holds this. */
    void opened(StoredPosition holds) {
        stored = holds;
        found = holds.index() == 0;
    }

    /** The replica goes on from a checkpoint. */
    void restored(CheckpointFile.Checkpoint checkpoint) {
        if (checkpoint.stored().index() > stored.index()) {
            throw new ReplicaException("the database at " + configuration.location() + " holds "
                    + (stored.index() == 0 ? "nothing of any group" : "everything up to " + stored)
                    + ", but the replica's checkpoint in " + configuration.directory()
                    + " was made when it held everything up to " + checkpoint.stored()
                    + ": either this is another database than the one that belongs to that directory, then name the right one;"
                    + " or it was replaced by an older one, then "
                    + (isAlone(configuration)
                            ? "no other replica has what is missing: to begin a new group with what it holds, move that directory"
                                    + " away and see 'gorda recover' with --new-group"
                            : "move both away, and the replica will be brought up to date by the group"));
        }
        found |= checkpoint.stored().equals(stored);
    }

    /**
     * Before a database is opened that is not there, and would be made: it may only have another name now.
     *
     * @throws ReplicaException if the replica's directory tells that it held something
     */
    static void requireNone(ReplicaConfiguration configuration) {
        CheckpointFile.Checkpoint checkpoint = load(new CheckpointFile(configuration.directory()), configuration);
        if (checkpoint != null && checkpoint.stored().index() > 0) {
            throw new ReplicaException("the database " + configuration.location()
                    + " is not there, and the replica's checkpoint in " + configuration.directory()
                    + " was made when it held everything up to " + checkpoint.stored()
                    + ". Nothing was made in its place: if it was renamed, rename it back or name it; if it is lost, "
                    + (isAlone(configuration)
                            ? "no other replica has what it held: move that directory away, put a backup in the database's place, and"
                                    + " see 'gorda recover' with --new-group"
                            : "move that directory away, and the replica will be brought up to date by the group"));
        }
    }

    /**
     * Before a database is written to that no group is told of.
     *
     * @throws ReplicaException if it is a replica of one
     */
    static void requireNone(ReflectedDatabase database, ReplicaConfiguration configuration) {
        Optional<StoredPosition> stored = database.storedPosition();
        if (stored.isPresent()) {
            throw new ReplicaException("the database " + configuration.location()
                    + " is a replica and holds what its group has ordered up to " + stored.get()
                    + ": with protocol=loopback it would take what the others never get. Leave that setting out; to take it out of"
                    + " its group for good see 'gorda recover' with --new-group");
        }
    }

    /** The replica's checkpoint; null if there is none. */
    static CheckpointFile.@Nullable Checkpoint load(CheckpointFile file, ReplicaConfiguration configuration) {
        return file.load(
                isAlone(configuration)
                        ? "no other replica has what the database at " + configuration.location()
                                + " holds: to begin a new group with that, move the directory "
                                + configuration.directory() + " away and see 'gorda recover' with --new-group"
                        : CheckpointFile.BY_THE_GROUP);
    }

    private static boolean isAlone(ReplicaConfiguration configuration) {
        return configuration.members().equals(List.of(configuration.self()));
    }

    /** Whether the database had this when it was opened. */
    boolean holds(long index) {
        return index <= stored.index();
    }

    /** What the database held when it was opened. */
    StoredPosition stored() {
        return stored;
    }

    /** Whether what the database held when it was opened has been met in the group's history. */
    boolean isFound() {
        return found;
    }

    /** Whether the database may hold what this replica, or the one that it was received from, committed before a majority had it. */
    boolean mayBeAhead() {
        return mayBeAhead;
    }

    /** By a primary that does not wait for the others. */
    void risksToBeAhead() {
        mayBeAhead = true;
    }

    /**
     * This is about to be executed.
     *
     * @throws MustReceiveException if the database holds what the group has lost
     * @throws ReplicaException if the database holds what is not the group's
     */
    void delivered(Position position) {
        GroupId identity = position.group();
        boolean isOfGroup = isOf(identity, stored);
        // Terms do not go back: what was ordered in a later term before it shows already that it is not part of the
        // history.
        boolean isBefore = isOfGroup && position.index() < stored.index() && position.term() <= stored.term();
        if (found || isBefore) {
            return;
        }
        found = isOfGroup && position.index() == stored.index() && position.term() == stored.term();
        if (!found) {
            if (isAheadOnly(identity, position.term(), stored)) {
                throw lostTail(stored, "");
            }
            throw notPartOfHistory("the group has " + position + " there");
        }
    }

    /** As {@link #delivered}: all that is decided has been delivered. */
    void caughtUp(Position upTo) {
        if (!found && upTo.term() > stored.term() && upTo.index() < stored.index()) {
            if (isAheadOnly(upTo.group(), upTo.term(), stored)) {
                throw lostTail(stored, "");
            }
            throw notPartOfHistory("it ends at " + upTo);
        }
    }

    /**
     * Whether the log, which begins too late to go on from what was executed here, tells by now if what the database holds is part of the group's
     * history: it does not while it has to come as far yet.
     */
    static boolean isTold(StoredPosition holds, Position last, Position firstHeld, Position decided) {
        return last.index() >= firstHeld.index()
                || holds.index() <= Math.max(firstHeld.index(), decided.index())
                || holds.term() < decided.term()
                || !isOf(firstHeld.group(), holds)
                || !Recovery.mayShareTimeline(holds.term(), firstHeld.term());
    }

    private static boolean isOf(GroupId group, StoredPosition holds) {
        return holds.groupHigh() == group.high() && holds.groupLow() == group.low();
    }

    /** Whether others were ordered in the place of what the database holds, as far as the log tells. */
    private static boolean isReplaced(StoredPosition holds, Position firstHeld, LogSession log) {
        if (holds.index() <= firstHeld.index()) {
            return holds.term() > firstHeld.term();
        }
        try {
            return log.at(holds.index()).position().term() != holds.term();
        } catch (GroupException e) {
            return holds.index() > log.firstHeld().index(); // it does not come so far, or no message is there
        }
    }

    /**
     * The log no longer holds what follows the last that was executed here.
     *
     * @param holds what the database holds, of which {@link #isTold} whether it is part of the history
     * @param last what was executed last
     * @param firstHeld behind which the log begins
     * @param log the group's, here
     * @param reason why, for people
     * @param hasRows asked if the database holds nothing of the group
     * @throws MustReceiveException if another replica's database can take this one's place
     * @throws ReplicaException if the database holds what is not the group's
     */
    void cutOff(
            StoredPosition holds,
            Position last,
            Position firstHeld,
            LogSession log,
            String reason,
            BooleanSupplier hasRows) {
        boolean sameGroup = isOf(firstHeld.group(), holds);
        boolean replaced = sameGroup && isReplaced(holds, firstHeld, log);
        if (isAheadOnly(firstHeld.group(), log.lastCommitted().term(), holds)
                && (last.index() >= firstHeld.index() || replaced)) {
            throw lostTail(holds, " (" + reason + ")");
        }
        if (last.index() >= firstHeld.index() || (holds.index() > 0 && !sameGroup)) {
            throw notPartOfHistory(reason);
        }
        // What the log no longer holds cannot be compared, and may be all that is left of another timeline.
        if (holds.index() > 0 && !Recovery.mayShareTimeline(holds.term(), firstHeld.term())) {
            throw notPartOfHistory("that was told to go on alone, and begins after " + firstHeld);
        }
        if (replaced) {
            throw notPartOfHistory("others are ordered in their place; the log begins after " + firstHeld
                    + " and comes to " + log.lastCommitted());
        }
        if (holds.index() == 0 && hasRows.getAsBoolean()) {
            throw new ReplicaException("the database at " + configuration.location()
                    + " holds rows, but nothing of this group, whose log no longer holds its beginning (" + reason
                    + "). Move that database away, and the replica will receive the group's");
        }
        throw new MustReceiveException(reason);
    }

    /**
     * Whether a position that is not part of the group's history is one that an asynchronous primary reached before a majority did, which it
     * was told to risk.
     *
     * @param term of the group's history
     */
    private boolean isAheadOnly(GroupId identity, long term, StoredPosition position) {
        return mayBeAhead && isOf(identity, position) && Recovery.mayShareTimeline(position.term(), term);
    }

    private static MustReceiveException lostTail(StoredPosition position, String detail) {
        return new MustReceiveException("the end of what it holds, up to " + position
                + ", is lost: an asynchronous primary has committed it, and no majority had it when another primary began"
                + detail);
    }

    private ReplicaException notPartOfHistory(String detail) {
        return new ReplicaException("the database at " + configuration.location() + " holds changes up to " + stored
                + ", which are not part of the group's history (" + detail + "). Move the database and the directory "
                + configuration.directory() + " away, and the replica will be brought up to date by the group."
                + " If this comes after all machines had lost their power, do so only once you have compared what each replica holds: 'gorda recover "
                + configuration.location()
                + "' tells, and the one that holds most can begin a new group (--new-group)");
    }
}
