package org.gorda.replicator.engine;

import java.io.IOException;
import java.net.SocketException;
import java.nio.ByteBuffer;
import java.sql.SQLException;
import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CompletionException;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import org.gorda.gapi.Capability;
import org.gorda.gapi.DivergenceException;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.Restraint;
import org.gorda.gapi.StoredPosition;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupCounts;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.History;
import org.gorda.jgcs.LogSession;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MembershipSession;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.View;
import org.gorda.replicator.core.ReplicaCore;
import org.gorda.replicator.core.ReplicaMessage;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.StoredHistory.MustReceiveException;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * The shell around the {@link ReplicaCore}: its parts, their start and end, and what the group tells. The group's delivery thread does the {@link
 * Delivery}, in clients' threads run {@link LocalTransactions}, and a thread of its own does the {@linkplain Checkpointer upkeep}. Thread-safe.
 */
final class ReplicaEngine implements GroupListener {

    private static final Logger LOG = LoggerFactory.getLogger(ReplicaEngine.class);

    private static final Duration MAINTENANCE = Duration.ofSeconds(5);
    private static final Duration SEND_WAIT = Duration.ofSeconds(2);
    private static final Duration LEASE_SEND_WAIT = Duration.ofMillis(20);
    private static final Duration STOP_WAIT = Duration.ofSeconds(30);
    private static final Duration CLOSE_WAIT = Duration.ofSeconds(60);

    /** Of one that is known not to answer, where nothing depends on it any more. */
    private static final Duration SILENT_CLOSE_WAIT = Duration.ofSeconds(5);

    private static final int END_TRIES_MAX = 100;
    private static final long END_PAUSE_NANOS = TimeUnit.MILLISECONDS.toNanos(100);

    /** How often a replica that leads and is far behind has another one lead, until it has come nearer. */
    private static final int YIELDS_MAX = 5;

    /** A busy backup commits at most once in so long: what has come meanwhile is one local transaction, and less work. */
    private static final long GATHER_NANOS = TimeUnit.MILLISECONDS.toNanos(10);

    private final ReplicaConfiguration configuration;
    private final Set<Capability> capabilities;
    private final Runnable reopen;

    /** Guards the delivery, and the history. */
    private final ReentrantLock order = new ReentrantLock();

    private final Standing standing;
    private final StoredHistory history;
    private final @Nullable GroupId continued;
    private final Delivery delivery;
    private final Restraint restraint = new Restraint();
    private String toldToWaitFor = ""; // by the maintenance alone
    private final Checkpointer checkpointer;
    private final ChunkSender chunkSender;
    private final SchemaTurns schemaTurns;
    private final StateTransfer transfer;
    private final FlowControl flow;
    private final DatabaseWatch watch;
    private final GeneratorLeases leases;
    private final LocalTransactions local;
    private final GroupRequests requests;
    private final ScheduledExecutorService maintenance;

    /** Sends what the delivery must not wait for. Apart from the maintenance, which may wait for the disk: without it nobody becomes the primary. */
    private final ScheduledExecutorService sender;

    /** There from the beginning: who fails may get no thread any more. */
    private final Thread stopper;

    private final Backlog toShow = new Backlog();
    private final Backlog toDecide = new Backlog();

    /** Of a replica that has failed. */
    private final CountDownLatch ended = new CountDownLatch(1);

    private volatile boolean hasEnded;

    /** Why it has failed; null if it has not. */
    private volatile @Nullable String failed;

    /** Since this replica was far behind; by the thread of the flow control alone, like when that was the last time. */
    private int yields;

    private long yieldedNanos = System.nanoTime();

    private @Nullable ReflectedDatabase database;
    private @Nullable Group group;
    private @Nullable Future<?> maintained;
    private boolean announced;

    /** What is delivered is of what will be replaced, by what holds it, too. */
    private volatile boolean passesOver;

    /** Null if they are off, so that nobody looks at the clock for them. */
    private volatile @Nullable Probes probes;

    /**
     * An engine that has no database yet.
     *
     * @param capabilities of its databases
     * @param reopen called once the database was received anew: retires this engine and begins with another
     */
    ReplicaEngine(ReplicaConfiguration configuration, Set<Capability> capabilities, Runnable reopen) {
        this.configuration = configuration;
        this.capabilities = capabilities;
        this.reopen = reopen;
        this.standing = new Standing(configuration.self());
        this.history = new StoredHistory(configuration);
        this.continued = ForgottenGroup.read(configuration.directory());
        this.watch = new DatabaseWatch(configuration.self(), () -> database().ping(), standstill(configuration));
        this.delivery = new Delivery(configuration, standing, history, watch.commits(), this);
        this.checkpointer = new Checkpointer(configuration, standing, history, delivery, order, this);
        this.chunkSender = new ChunkSender(configuration.commitTimeout());
        this.schemaTurns = new SchemaTurns(this::trySend, configuration.commitTimeout());
        this.transfer = new StateTransfer(configuration, checkpointer, this);
        this.flow = new FlowControl(
                configuration.self(),
                new Lags(configuration.lagMax(), configuration.lagPatience()),
                standing::view,
                standing::visible,
                () -> standing.is(ReplicaState.ONLINE),
                capabilities,
                this::send,
                this::round,
                this::fallBehind);
        this.leases = new GeneratorLeases(this::ask, GroupRequests.firstNumber(), configuration.commitTimeout());
        this.local = new LocalTransactions(configuration, standing, flow, leases, schemaTurns, chunkSender, this);
        this.requests = new GroupRequests(configuration, standing, checkpointer, order, local.gate(), this);
        this.maintenance = Executors.newSingleThreadScheduledExecutor(task -> thread(task, "maintenance"));
        this.sender = Executors.newSingleThreadScheduledExecutor(task -> thread(task, "sender"));
        this.stopper = thread(this::endOnceFailed, "stop");
    }

    private Thread thread(Runnable task, String role) {
        Thread thread = new Thread(task, "gorda-" + role + "-" + configuration.self());
        thread.setDaemon(true);
        return thread;
    }

    /** After so long without an answer the database stands still: then commits are not known to happen any more, either. */
    private static Duration standstill(ReplicaConfiguration configuration) {
        Duration commits = configuration.commitTimeout();
        return commits.compareTo(DatabaseWatch.PATIENCE_LEAST) > 0 ? commits : DatabaseWatch.PATIENCE_LEAST;
    }

    // ----------------------------------------------------------------------------------------------- start and stop

    /** Called once, before {@link #join}. */
    void database(ReflectedDatabase opened) {
        database = opened;
        StoredPosition stored = opened.storedPosition().orElse(StoredHistory.NOTHING);
        history.opened(stored);
        checkpointer.opened(stored.index());
        delivery.opened(opened.applier());
        if (stored.index() == 0) {
            delivery.beginsAnew();
        }
    }

    /** With what an earlier group has made none begins by itself: of replicas that have all lost their logs nobody knows who holds most. */
    @Override
    public boolean mayForm() {
        return history.stored().index() == 0;
    }

    /** Takes part in the group, from where checkpoint and database left off. */
    void join(Group opened) {
        startStopper();
        group = opened;
        standing.explain(ReplicaState.JOINING, opened.explanation());
        Position after = Position.START;
        CheckpointFile.Checkpoint checkpoint = checkpointer.restore();
        if (checkpoint != null) {
            after = checkpoint.position();
            delivery.restored(after);
        }
        opened.control().join(after);
        flow.start();
        watch.start();
        long period = MAINTENANCE.toMillis();
        maintained = maintenance.scheduleWithFixedDelay(this::maintain, period, period, TimeUnit.MILLISECONDS);
    }

    /** What this replica's database can do. */
    Set<Capability> capabilities() {
        return capabilities;
    }

    ReflectedDatabase database() {
        return java.util.Objects.requireNonNull(database);
    }

    Group group() {
        return java.util.Objects.requireNonNull(group);
    }

    LogSession log() {
        return group().log().orElseThrow();
    }

    /** Leaves in order. If it has failed, waits until what that ends is ended, so that the database can be opened again. */
    void stop() {
        if (standing.is(ReplicaState.STOPPED)) {
            awaitEnd();
            return;
        }
        LOG.info("{}: stopping", configuration.self());
        end(ReplicaState.STOPPED, "stopped in order");
    }

    /**
     * Leaves in order, and makes room for an engine that begins anew.
     *
     * @throws ReflectionException if the database does not close: nothing may be put in its place then
     */
    void retire(String why) {
        endMaintenance();
        awaitMaintenance(); // while what is ordered is passed over still
        end(ReplicaState.STARTING, why);
    }

    private void end(ReplicaState next, String why) {
        standing.explain(next, why);
        refuseAll(new Refusal(Refusal.Cause.STOPPED, "this replica is stopping: connect to another one"));
        Group joined = group;
        if (joined != null && next == ReplicaState.STOPPED) {
            awaitAllDecided();
        }
        endMaintenance();
        if (joined != null) {
            handOver(joined.membership().orElseThrow());
            joined.control().leave();
        }
        if (next == ReplicaState.STOPPED) {
            closeDatabase();
        } else {
            awaitClosed(database(), CLOSE_WAIT);
        }
        hasEnded = true;
        LockSupport.unpark(stopper);
        ended.countDown();
    }

    /** To who can be the primary soonest. If that one does not answer, the group, which knows only of logs, takes anybody. */
    private void handOver(MembershipSession membership) {
        MemberId successor = flow.furthest(0);
        if (successor == null || !membership.view().isLeader(configuration.self())) {
            return;
        }
        try {
            membership
                    .transferLeadership(successor)
                    .get(configuration.electionTimeout().toNanos() / 2, TimeUnit.NANOSECONDS);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (ExecutionException | TimeoutException e) {
            LOG.debug("{}: {} did not take over", configuration.self(), successor, e);
        }
    }

    /** An asynchronous primary that is stopped in order loses nothing, as long as a majority takes what it has in time. */
    private void awaitAllDecided() {
        long deadline = System.nanoTime() + STOP_WAIT.toNanos();
        while (checkpointer.decided() < standing.visible()
                && standing.view().working()
                && System.nanoTime() - deadline < 0) {
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(5));
        }
        long left = standing.visible() - checkpointer.decided();
        if (left > 0) {
            LOG.warn(
                    "{}: stops though no majority has the last {} places that it shows: they may be lost",
                    configuration.self(),
                    left);
        }
    }

    /** Stops at once: going on could lose or change what others rely on. Whoever has no memory or stack left to say why has woken who does that, too. */
    void fail(String what, Throwable cause) {
        if (!standing.fail(cause)) {
            return;
        }
        failed = what;
        startStopper();
        LockSupport.unpark(stopper);
        String why = explain(what, cause);
        if (isOfADisk(cause)
                || cause instanceof ReplicaException
                || cause instanceof GroupException
                || (cause instanceof ReflectionException && isOfAServer(cause.getCause()))) {
            LOG.error("{}: the replica stops: {}", configuration.self(), why);
            LOG.debug("{}: the replica stops", configuration.self(), cause);
        } else {
            LOG.error("{}: the replica stops: {}", configuration.self(), why, cause);
        }
    }

    private String explain(String what, Throwable cause) {
        String why = isOfADisk(cause)
                ? what + (what.endsWith(".") ? "" : ".") + " Make room or mend the disk, then start this replica again."
                : what;
        standing.explain(ReplicaState.STOPPED, why);
        return why;
    }

    private synchronized void startStopper() {
        if (stopper.getState() == Thread.State.NEW) {
            stopper.start();
        }
    }

    /** What fails for want of memory is tried again. */
    private void endOnceFailed() {
        String what = failed;
        while (what == null && !hasEnded) {
            LockSupport.park(this);
            what = failed;
        }
        if (what == null) {
            return;
        }
        try {
            boolean isDone = false;
            for (int tries = 1; !isDone && tries <= END_TRIES_MAX; tries++) {
                isDone = endFailed(what);
            }
        } finally {
            ended.countDown();
        }
    }

    /** Each step can be taken twice. */
    private boolean endFailed(String what) {
        try {
            String why = explain(what, java.util.Objects.requireNonNull(standing.failure()));
            refuseAll(new Refusal(Refusal.Cause.STOPPED, "this replica has stopped: " + why));
            endMaintenance();
            Group joined = group;
            if (joined != null) {
                joined.close();
            }
            closeDatabase();
            return true;
        } catch (Error e) {
            LockSupport.parkNanos(END_PAUSE_NANOS);
            return false;
        }
    }

    private void awaitEnd() {
        try {
            if (standing.failure() != null && !ended.await(STOP_WAIT.toSeconds(), TimeUnit.SECONDS)) {
                LOG.warn("{}: has not ended after {} s", configuration.self(), STOP_WAIT.toSeconds());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    /** The group tells so itself, and behind a lost connection to a database's server is none of this machine's, nor is a port one. */
    private static boolean isOfADisk(Throwable failure) {
        Throwable at = failure;
        while (at.getCause() != null && !(at instanceof GroupException) && !isOfAConnection(at)) {
            at = at.getCause();
        }
        return at instanceof IOException && !(at instanceof SocketException);
    }

    private static boolean isOfAConnection(Throwable failure) {
        return failure instanceof SQLException lost
                && lost.getSQLState() != null
                && lost.getSQLState().startsWith("08");
    }

    /** Of one that runs by itself, and has ended or left its clients. */
    private static boolean isOfAServer(@Nullable Throwable failure) {
        return failure instanceof SQLException ended
                && ended.getSQLState() != null
                && (isOfAConnection(ended) || ended.getSQLState().startsWith("57P"));
    }

    private void endMaintenance() {
        transfer.close();
        flow.close();
        watch.close();
        Future<?> task = maintained;
        if (task != null) {
            task.cancel(false);
        }
        maintenance.shutdown();
        sender.shutdown();
    }

    /** It may be writing down what is about to be replaced. */
    private void awaitMaintenance() {
        try {
            if (!maintenance.awaitTermination(STOP_WAIT.toSeconds(), TimeUnit.SECONDS)) {
                LOG.warn("{}: its upkeep has not ended after {} s", configuration.self(), STOP_WAIT.toSeconds());
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    private void closeDatabase() {
        ReflectedDatabase opened = database;
        if (opened != null) {
            try {
                awaitClosed(opened, watch.isSilent() ? SILENT_CLOSE_WAIT : CLOSE_WAIT);
            } catch (ReflectionException e) {
                LOG.warn("{}: the database did not close in order: {}", configuration.self(), e.getMessage());
                LOG.debug("{}: the database did not close in order", configuration.self(), e);
            }
        }
    }

    /** By a thread of its own, which nobody waits for for ever: its disk or its server may stand still. */
    private void awaitClosed(ReflectedDatabase opened, Duration wait) {
        CompletableFuture<Void> closed = new CompletableFuture<>();
        Runnable close = () -> {
            try {
                opened.close();
                closed.complete(null);
            } catch (Throwable e) { // of any kind: who waits has to be told
                closed.completeExceptionally(e);
            }
        };
        try {
            thread(close, "close").start();
        } catch (OutOfMemoryError e) { // there is no thread for it
            close.run();
        }
        try {
            closed.orTimeout(wait.toSeconds(), TimeUnit.SECONDS).join(); // which keeps an interrupt for later
        } catch (CompletionException e) {
            Throwable why = e.getCause();
            if (why instanceof TimeoutException) {
                throw new ReflectionException("it has not closed after " + wait.toSeconds()
                        + " s: this process cannot open it again; another one recovers it as after a crash");
            }
            if (why instanceof Error error) {
                throw error;
            }
            throw why instanceof RuntimeException failure ? failure : e;
        }
    }

    private void refuseAll(Refusal refusal) {
        standing.executesHere(false);
        ReflectedDatabase opened = database;
        if (opened != null) {
            opened.abortAll(refusal);
        }
        // After that: what was not aborted is sent, and was in flight before.
        local.leaveAllUnknown(refusal.message());
        GroupException gone =
                new GroupException(GroupException.Disposition.RECONNECT, "this replica does not take part any more");
        requests.giveUp(gone);
    }

    /** Why the replica has stopped by itself, if it has. */
    Optional<Throwable> failure() {
        return Optional.ofNullable(standing.failure());
    }

    // ----------------------------------------------------------------------------------------------- the group tells

    @Override
    public void onMessage(Message message) {
        order.lock();
        try {
            if (passesOver) {
                return; // what is received will hold it
            }
            history.delivered(message.position());
            checkpointer.delivered(message.position().index(), message.payload().remaining());
            delivery.deliver(message);
            checkpointer.takeOverdue();
        } catch (DivergenceException e) {
            fail("it has diverged: " + e.getMessage(), e);
            throw e;
        } catch (MustReceiveException e) {
            beginReceiving(String.valueOf(e.getMessage()));
        } catch (ReplicaException e) {
            fail(String.valueOf(e.getMessage()), e);
            throw e;
        } catch (RuntimeException e) {
            fail("what was ordered at " + message.position() + " could not be processed: " + e.getMessage(), e);
            throw e;
        } catch (Error e) {
            fail("what was ordered at " + message.position() + " could not be processed: " + e, e);
            throw e;
        } finally {
            order.unlock();
        }
        if (standing.is(ReplicaState.CATCHING_UP) && !standing.view().isLeader(configuration.self())) {
            restraint.rest();
        }
    }

    @Override
    public void onDeliverable(long index) {
        Probes on = probes;
        if (on != null) {
            on.ready(index);
        }
    }

    @Override
    public void onCaughtUp(Position upTo) {
        long began = System.nanoTime();
        if (caughtUp(upTo) && !standing.isEverywhere()) {
            standing.progress().rest(began + GATHER_NANOS);
        }
    }

    /** Returns whether several transactions have been committed together: others will follow soon. */
    private boolean caughtUp(Position upTo) {
        order.lock();
        try {
            if (passesOver) {
                return false;
            }
            boolean isGathered = delivery.isGathered();
            try {
                delivery.commitSegment();
                delivery.releaseDurably();
                history.caughtUp(upTo);
            } catch (MustReceiveException e) {
                beginReceiving(String.valueOf(e.getMessage()));
                return false;
            } catch (ReplicaException e) {
                fail(String.valueOf(e.getMessage()), e);
                return false;
            }
            standing.visible(upTo.index());
            if (isUpToDate(standing.view())
                    && !standing.is(ReplicaState.ONLINE)
                    && !standing.is(ReplicaState.STOPPED)) {
                standing.explain(ReplicaState.ONLINE, "has everything up to " + upTo);
                announceRun();
            }
            return isGathered;
        } catch (RuntimeException e) {
            fail("what was ordered up to " + upTo + " could not be committed: " + e.getMessage(), e);
            throw e;
        } finally {
            order.unlock();
        }
    }

    /** Before the group's first epoch nobody has compared with the others' what the database holds. */
    private boolean isUpToDate(View now) {
        return !watch.isSilent()
                && history.isFound()
                && standing.epoch() > 0
                && now.working()
                && standing.visible() >= now.decided();
    }

    /** Where no new epoch tells so, others learn by any message that this run has begun and that of earlier ones nothing will come. */
    private void announceRun() {
        if (standing.isEverywhere() && !announced) {
            announced = true;
            send(new ReplicaMessage.Durable(configuration.self(), checkpointer.restart()));
        }
    }

    @Override
    public void onView(View next) {
        order.lock();
        try {
            boolean began = next.working() && !standing.view().working();
            standing.view(next);
            if (passesOver) {
                yieldLater();
                return;
            }
            if (next.working()
                    && (standing.is(ReplicaState.JOINING) || standing.visible() < next.decided() || watch.isSilent())) {
                standing.explain(
                        ReplicaState.CATCHING_UP,
                        watch.isSilent() ? watch.explanation() : "works off what is ordered and not shown here yet");
            } else if (!next.working() && !standing.is(ReplicaState.STOPPED) && !standing.is(ReplicaState.JOINING)) {
                standing.explain(ReplicaState.ISOLATED, group().explanation());
            }
            if (began && standing.visible() >= log().lastCommitted().index() && isUpToDate(next)) {
                standing.explain(ReplicaState.ONLINE, "has everything up to " + standing.visible());
                announceRun();
            }
            delivery.core().viewChanged(next);
        } finally {
            order.unlock();
        }
    }

    @Override
    public void onGap(Position firstHeld, String reason) {
        order.lock();
        try {
            if (passesOver) {
                return; // what is received will hold it
            }
            receiveDatabase(firstHeld, reason);
        } catch (RuntimeException e) {
            fail(String.valueOf(e.getMessage()), e);
        } finally {
            order.unlock();
        }
    }

    private void receiveDatabase(Position firstHeld, String reason) {
        StoredPosition holds = database().storedPosition().orElse(StoredHistory.NOTHING);
        if (!firstHeld.group().isKnown()
                || !StoredHistory.isTold(holds, delivery.last(), firstHeld, log().lastCommitted())) {
            // Which group that is, its first decided entry tells, and a later one what else there is to know: asked
            // again until then.
            LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
            group().control().join(delivery.last());
            return;
        }
        try {
            history.cutOff(holds, delivery.last(), firstHeld, log(), reason, delivery::hasRows);
        } catch (MustReceiveException e) {
            beginReceiving(String.valueOf(e.getMessage()));
        }
    }

    private void beginReceiving(String reason) {
        passesOver = true;
        log().deliverAhead(false);
        receiving("needs the database from another replica, because " + reason);
        refuseAll(new Refusal(
                Refusal.Cause.STOPPED,
                "this replica lacks too much and receives the database: connect to another one"));
        yieldLeadership();
        boolean isOfNobody = database().storedPosition().isEmpty();
        transfer.receive(isOfNobody && delivery.hasTables(), reopen);
    }

    /** Tells how far the database is that another replica gives. */
    void receiving(String text) {
        standing.explain(ReplicaState.RECEIVING, text);
    }

    /** The others do not wait for this replica any more: nobody is to begin anything here before it has caught up. */
    private void fallBehind() {
        boolean behind = (standing.isEverywhere() || !standing.executesHere())
                && standing.explain(
                        ReplicaState.ONLINE,
                        ReplicaState.CATCHING_UP,
                        "was more than " + configuration.lagMax() / 2 + " transactions behind for "
                                + configuration.lagPatience().toSeconds()
                                + " s, so that the others do not wait for it any more; works off what is ordered");
        if (behind) {
            goOnIfCaughtUp();
        }
    }

    /** It may have caught up just before, and nobody says so again. */
    private void goOnIfCaughtUp() {
        View now = standing.view();
        if (!watch.isSilent()
                && now.working()
                && standing.visible()
                        >= Math.max(now.decided(), log().lastCommitted().index())) {
            standing.explain(
                    ReplicaState.CATCHING_UP, ReplicaState.ONLINE, "has everything up to " + standing.visible());
        }
    }

    /** What people are told while the database does not answer; null if it does. */
    @Nullable
    String silence() {
        return watch.isSilent() ? watch.explanation() : null;
    }

    /** While it stands still another one is to lead, who can become the primary, and nobody is to begin anything here. */
    private void watchDatabase(long nowNanos) {
        boolean wasSilent = watch.isSilent();
        watch.look(nowNanos);
        if (watch.isSilent()) {
            if (!wasSilent) {
                LOG.warn("{}: {}: until it does another replica is to lead", configuration.self(), watch.explanation());
            }
            standing.explain(ReplicaState.ONLINE, ReplicaState.CATCHING_UP, watch.explanation());
            if (nowNanos - yieldedNanos > configuration.electionTimeout().toNanos()) {
                yieldedNanos = nowNanos; // again then: who was to get it may not be there
                yieldLeadership();
            }
        } else if (wasSilent) {
            LOG.info("{}: the database answers again", configuration.self());
            goOnIfCaughtUp();
        }
    }

    /** With a pause: who gets it may have to yield, too. */
    @SuppressWarnings("FutureReturnValueIgnored") // the next view tells
    private void yieldLater() {
        try {
            sender.schedule(
                    this::yieldLeadership, configuration.electionTimeout().toNanos() / 2, TimeUnit.NANOSECONDS);
        } catch (RejectedExecutionException e) {
            LOG.debug("{}: stopped before it yielded", configuration.self(), e);
        }
    }

    /** Who leads should be able to become the primary: who shows most, or any, if nobody has told. */
    private void yieldLeadership() {
        View now = group().membership().orElseThrow().view(); // the delivery may be held up
        List<MemberId> others = now.members().stream()
                .filter(member -> !member.equals(configuration.self()))
                .toList();
        boolean cannot = standing.is(ReplicaState.RECEIVING) || watch.isSilent();
        if (cannot && now.isLeader(configuration.self()) && !others.isEmpty()) {
            MemberId furthest = flow.furthest(0);
            yieldTo(
                    furthest != null
                            ? furthest
                            : others.get(ThreadLocalRandom.current().nextInt(others.size())));
        }
    }

    /**
     * Nobody writes until the leader is the primary, which it is only once it shows everything before that. Not by the delivery, which may be what is
     * held up. To who is less than half as far behind, so that two that are both far behind do not go on and on.
     */
    private void yieldIfFarBehind() {
        long now = System.nanoTime();
        long far = configuration.electionTimeout().toNanos();
        long visible = standing.visible();
        if (toShow.nanos(visible, now) < far) {
            yields = 0;
            return;
        }
        boolean isHeldUp = !standing.isEverywhere()
                && !standing.executesHere()
                && group().membership().orElseThrow().view().isLeader(configuration.self());
        boolean isDue = yields == 0 || (yields < YIELDS_MAX && now - yieldedNanos > far);
        long behind = checkpointer.decided() - visible;
        MemberId furthest = flow.furthest(visible + behind / 2);
        if (isHeldUp && isDue && furthest != null) {
            yields++;
            yieldedNanos = now;
            LOG.info(
                    "{}: leads and is {} places behind for {} s: hands leadership to {}",
                    configuration.self(),
                    behind,
                    seconds(toShow.nanos(visible, now)),
                    furthest);
            yieldTo(furthest);
        }
    }

    @SuppressWarnings("FutureReturnValueIgnored") // the next view tells
    private void yieldTo(MemberId other) {
        group().membership().orElseThrow().transferLeadership(other);
    }

    @Override
    public void onDirect(MemberId from, ByteBuffer payload) {
        try {
            DirectMessage message = DirectMessage.decode(payload);
            if (message instanceof DirectMessage.Shown shown) {
                flow.heard(from, shown);
                requests.heard(from, shown.capabilities());
            } else {
                transfer.received(from, message);
            }
        } catch (GroupException e) {
            LOG.warn("{}: ignored what {} sent: {}", configuration.self(), from, e.getMessage());
        }
    }

    /** Tells another replica something outside the order, or fails to, which it may learn or not. */
    void send(MemberId to, DirectMessage message) {
        group().direct().orElseThrow().send(to, DirectMessage.encode(message));
    }

    @Override
    public void onStop(GroupException cause) {
        fail("its membership of the group has ended: " + cause.getMessage(), cause);
    }

    // ---------------------------------------------------------------------------------------- messages, maintenance

    private void ask(ReplicaMessage.Lease request) {
        // No longer: who asks may hold locks that the delivery waits for, which makes the room.
        group().data().multicast(ReplicaMessage.encode(request), LEASE_SEND_WAIT);
    }

    /** A turn is soon renewed, and over if it is not; of those that cannot be ordered now only the end is worth a place. */
    private void trySend(ReplicaMessage.SchemaTurn message) {
        if (!message.ends() && !standing.view().working()) {
            return;
        }
        try {
            group().data().multicast(ReplicaMessage.encode(message), LEASE_SEND_WAIT);
        } catch (GroupException e) {
            LOG.debug("{}: {} could not be sent", configuration.self(), message, e);
        }
    }

    /** Has another thread send it. */
    void send(ReplicaMessage message) {
        // Not by this thread: it is the one that makes room.
        try {
            sender.execute(() -> multicast(message));
        } catch (RejectedExecutionException e) {
            LOG.debug("{}: stopped before {} was sent", configuration.self(), message, e);
        }
    }

    void multicast(ReplicaMessage message) {
        try {
            group().data().multicast(ReplicaMessage.encode(message), SEND_WAIT);
        } catch (GroupException e) {
            if (e.disposition() == GroupException.Disposition.RETRY && !sender.isShutdown()) {
                send(message);
            }
        } catch (RuntimeException | Error e) { // others would wait for it for ever
            fail(message + " could not be sent: " + e, e);
        }
    }

    private void maintain() {
        try {
            tellWhatItWaitsFor();
            transfer.expire();
            checkpointer.run();
        } catch (RuntimeException e) {
            fail("the database or the checkpoint could not be forced to disk: " + e.getMessage(), e);
        } catch (Error e) {
            fail("the database or the checkpoint could not be forced to disk: " + e, e);
        }
    }

    /** In the log, as often as there is something new: how far a replica is that does not take part yet, or why it goes no further. */
    private void tellWhatItWaitsFor() {
        if (standing.is(ReplicaState.ONLINE) || standing.is(ReplicaState.STOPPED)) {
            return;
        }
        String now = standing.state() + " at " + standing.visible() + " of " + checkpointer.decided() + ": "
                + explanation(standing.view());
        if (!now.equals(toldToWaitFor)) {
            toldToWaitFor = now;
            LOG.info("{}: {}", configuration.self(), now);
        }
    }

    // ------------------------------------------------------------------------------------ between the parts

    LocalTransactions local() {
        return local;
    }

    GeneratorLeases leases() {
        return leases;
    }

    SchemaTurns schemaTurns() {
        return schemaTurns;
    }

    ChunkSender chunkSender() {
        return chunkSender;
    }

    Checkpointer checkpointer() {
        return checkpointer;
    }

    /** What people and drivers ask of the group. */
    GroupRequests requests() {
        return requests;
    }

    Delivery delivery() {
        return delivery;
    }

    /** Whether this is the thread that applies and commits what is ordered. */
    boolean isDelivering() {
        return order.isHeldByCurrentThread();
    }

    /** Null if they are off. */
    @Nullable
    Probes running() {
        return probes;
    }

    /**
     * A transaction that was sent is about to lose its locks before its place in the order is known: what runs here afterwards would
     * not see it and could yet follow it. So nothing is committed here until a new epoch begins, behind it.
     */
    void beginNewEpoch() {
        standing.executesHere(false);
        try {
            // Not by this thread: it is a client's.
            sender.execute(() -> {
                order.lock();
                try {
                    delivery.core().renew();
                    if (delivery.core().isEverywhere()
                            && !standing.is(ReplicaState.STOPPED)
                            && !standing.is(ReplicaState.RECEIVING)) {
                        standing.executesHere(true); // every replica takes writes since it was found overdue
                    }
                } catch (RuntimeException | Error e) { // or it would take no writes any more, without a word
                    fail("a new epoch could not be asked for: " + e, e);
                } finally {
                    order.unlock();
                }
            });
        } catch (RejectedExecutionException e) {
            LOG.debug("{}: stopped before a new epoch was asked for", configuration.self(), e);
        }
    }

    // -------------------------------------------------------------------------------------------- asked from outside

    /** Ten times a second or so, by the thread of the flow control. */
    private void round() {
        look();
        yieldIfFarBehind();
    }

    private void look() {
        long now = System.nanoTime();
        long visible =
                standing.visible(); // first: it is not ahead of what is decided then, but for an asynchronous primary's
        long decided = checkpointer.decided();
        toShow.look(decided, visible, now);
        toDecide.look(visible, decided, now);
        watchDatabase(now);
    }

    private static double seconds(long nanos) {
        return Math.round(nanos / 1e8) / 10.0;
    }

    List<HotRow> hotRows() {
        return local.hotRows();
    }

    long epoch() {
        return standing.epoch();
    }

    ReplicaState state() {
        return standing.state();
    }

    View view() {
        return standing.view();
    }

    private String explanation(View now) {
        Group joined = group;
        if (joined != null && !now.working() && !standing.is(ReplicaState.STOPPED)) {
            return joined.explanation() + (hasLostItsLog(now) ? adviceWithoutLog() : "");
        }
        if (standing.is(ReplicaState.CATCHING_UP) && watch.isSilent()) {
            return watch.explanation();
        }
        if (joined != null && standing.is(ReplicaState.ONLINE)) {
            long visible = standing.visible();
            long behind = checkpointer.decided() - visible;
            return behind == 0
                    ? "shows everything that is ordered"
                    : behind > 0
                            ? (behind == 1 ? "1 place" : behind + " places") + " in the order behind"
                            : "shows everything that is ordered, and more";
        }
        return standing.explanation();
    }

    /** The group's identity is in its log: what is decided in there, and who its members are, is known only later. */
    private boolean hasLostItsLog(View now) {
        return !mayForm() && now.members().isEmpty() && !group().history().isKnown();
    }

    private String adviceWithoutLog() {
        return ": the database holds everything up to " + history.stored()
                + ", but there is nothing of its group's log in "
                + configuration.directory() + ". If no member has it any more, stop this replica, and see"
                + " 'gorda recover " + configuration.location() + " --engine " + configuration.binding()
                + " --directory " + configuration.directory() + "' with the user and the password that it has, if any";
    }

    /** Off, they forget what they have measured. */
    synchronized void probe(boolean on) {
        probes = !on ? null : probes == null ? new Probes() : probes;
    }

    ReplicaProbes probes() {
        Probes on = probes;
        Group joined = group;
        return new ReplicaProbes(
                configuration.self(),
                on != null,
                on == null ? Map.of() : on.times(),
                local.committed(),
                delivery.applied(),
                joined == null ? GroupCounts.NONE : joined.counts(),
                checkpointer.flushes());
    }

    ReplicaStatus status() {
        View now = standing.view();
        Group joined = group;
        ReplicationProtocol groups = standing.followed();
        long nanos = System.nanoTime();
        long visible = standing.visible(); // before what is decided, which it may not be ahead of otherwise
        long decided = joined == null ? 0 : checkpointer.decided();
        return new ReplicaStatus(
                configuration.self(),
                standing.state(),
                explanation(now),
                joined == null ? History.UNKNOWN : joined.history(),
                continued,
                standing.primary(),
                groups == null ? configuration.protocol() : groups,
                standing.executesHere() && (!standing.isEverywhere() || standing.is(ReplicaState.ONLINE)),
                standing.epoch(),
                now.working(),
                now.members(),
                now.learners(),
                decided,
                visible,
                checkpointer.durable(),
                seconds(toShow.nanos(visible, nanos)),
                Math.max(0, visible - decided),
                seconds(toDecide.nanos(decided, nanos)),
                local.suspended(),
                local.committed(),
                delivery.applied(),
                flow.share(),
                flow.slowest(),
                local.refused());
    }
}
