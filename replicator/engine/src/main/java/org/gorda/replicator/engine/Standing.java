package org.gorda.replicator.engine;

import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.View;
import org.gorda.replicator.core.ReplicationProtocol;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Where a replica stands, as all its threads see it: its state, its place in the group and its place in the order. Only the delivery moves it on, but
 * where a method says otherwise. Thread-safe.
 */
final class Standing {

    private static final Logger LOG = LoggerFactory.getLogger(Standing.class);

    private final MemberId self;
    private final Progress progress = new Progress();

    private volatile ReplicaState state = ReplicaState.STARTING;
    private volatile String explanation = "starting";
    private volatile @Nullable Throwable failure;

    private volatile View view = View.NOTHING;
    private volatile @Nullable ReplicationProtocol followed;
    private volatile boolean executesHere;
    private volatile boolean everywhere;
    private volatile long epoch;
    private volatile @Nullable MemberId primary;

    private volatile long visible;
    private volatile long executed;
    private volatile long schemaChanged;

    Standing(MemberId self) {
        this.self = self;
    }

    // ------------------------------------------------------------------------------------------------------- state

    ReplicaState state() {
        return state;
    }

    boolean is(ReplicaState wanted) {
        return state == wanted;
    }

    String explanation() {
        return explanation;
    }

    /** By any thread. Who has stopped does nothing any more, whatever another thread is about to tell. */
    synchronized void explain(ReplicaState next, String why) {
        if (state == ReplicaState.STOPPED) {
            return;
        }
        boolean changed = state != next;
        state = next;
        explanation = why;
        if (changed) {
            if (failure == null) { // otherwise it was told as an error
                LOG.info("{}: {}: {}", self, next, why);
            }
            progress.signal();
        }
    }

    /** As {@link #explain}, unless another thread has found something else meanwhile. */
    synchronized boolean explain(ReplicaState expected, ReplicaState next, String why) {
        if (state != expected) {
            return false;
        }
        explain(next, why);
        return true;
    }

    /** By any thread: false if it has failed before, or was stopped. */
    synchronized boolean fail(Throwable cause) {
        if (failure != null || state == ReplicaState.STOPPED) {
            return false;
        }
        failure = cause;
        return true;
    }

    /** Why the replica has stopped by itself; null if it has not. */
    @Nullable
    Throwable failure() {
        return failure;
    }

    // ------------------------------------------------------------------------------------------------------- group

    View view() {
        return view;
    }

    void view(View next) {
        view = next;
    }

    /** The group's protocol; null until it has one. */
    @Nullable
    ReplicationProtocol followed() {
        return followed;
    }

    void follow(ReplicationProtocol protocol) {
        followed = protocol;
    }

    /** Whether local transactions may write: as the primary, or everywhere. */
    boolean executesHere() {
        return executesHere;
    }

    /** By any thread, to forbid it. */
    void executesHere(boolean may) {
        executesHere = may;
    }

    /** Whether every replica takes writes. */
    boolean isEverywhere() {
        return everywhere;
    }

    void everywhere(boolean is) {
        everywhere = is;
    }

    long epoch() {
        return epoch;
    }

    /** Null if there is none, or if every replica takes writes. */
    @Nullable
    MemberId primary() {
        return primary;
    }

    void epoch(long next, @Nullable MemberId leads) {
        primary = leads;
        epoch = next;
    }

    // ------------------------------------------------------------------------------------------------------- order

    /** Up to where the database shows everything. */
    long visible() {
        return visible;
    }

    void visible(long index) {
        executed = Math.max(executed, index);
        if (index > visible) {
            visible = index;
            progress.signal();
        }
    }

    /** All up to here has run in the database; moved on before the commit that lets others have its locks. */
    long executed() {
        return executed;
    }

    /** By the delivery, or whoever commits for it. */
    void executed(long index) {
        executed = index;
    }

    /** Where the schema was last changed. */
    long schemaChanged() {
        return schemaChanged;
    }

    void schemaChanged(long index) {
        schemaChanged = index;
    }

    /** Signalled when {@link #visible} has moved on and when the state is another; and by others for what they change. */
    Progress progress() {
        return progress;
    }
}
