package org.gorda.bench.gcs;

import java.nio.ByteBuffer;
import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.gorda.bench.workload.BenchException;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.Protocol;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.View;
import org.jspecify.annotations.Nullable;

/** A toolkit through jGCS. Thread-safe. */
final class GroupSide extends Side implements GroupListener {

    private static final Duration WAIT = Duration.ofSeconds(60);
    /** Of a log, so that old files go. */
    private static final long RELEASE_EVERY = 20_000;

    private final GroupConfiguration configuration;
    private final Group group;
    private final CountDownLatch viewed = new CountDownLatch(1);
    private volatile @Nullable View view;
    private long sinceRelease;

    GroupSide(GroupConfiguration configuration, Protocol protocol, Service required) {
        super(configuration, required.order());
        this.configuration = configuration;
        this.group = protocol.open(configuration, required, this);
    }

    @Override
    void join() {
        group.control().join(Position.START);
        try {
            // One with a log has a view when a majority is there, others when they are alone.
            if (group.log().isEmpty() && !viewed.await(WAIT.toSeconds(), TimeUnit.SECONDS)) {
                throw new BenchException(group.self() + " has no view within " + WAIT.toSeconds() + " s");
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new BenchException("interrupted", e);
        }
    }

    @Override
    boolean formed() {
        View now = view;
        return now != null
                && now.working()
                && now.members().size() == configuration.members().size();
    }

    @Override
    boolean leads() {
        View now = view;
        return now != null && now.isLeader(group.self());
    }

    @Override
    void multicast(byte[] payload) {
        group.data().multicast(ByteBuffer.wrap(payload), WAIT);
    }

    @Override
    public void onMessage(Message message) {
        delivered(message.payload().duplicate());
        if (++sinceRelease == RELEASE_EVERY) {
            sinceRelease = 0;
            group.log().ifPresent(log -> log.release(message.position()));
        }
    }

    @Override
    public void onCaughtUp(Position upTo) {}

    @Override
    public void onView(View changed) {
        view = changed;
        viewed.countDown();
    }

    @Override
    public void onGap(Position firstHeld, String reason) {
        throw new BenchException(group.self() + " lacks messages: " + reason);
    }

    @Override
    public void onStop(GroupException cause) {
        view = null;
    }
}
