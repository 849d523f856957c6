package org.gorda.replicator.engine;

import java.time.Duration;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.TimeoutException;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.concurrent.locks.ReentrantLock;
import java.util.function.BooleanSupplier;
import java.util.stream.Stream;
import org.gorda.gapi.Capability;
import org.gorda.gapi.TransactionId;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.View;
import org.gorda.replicator.core.Outcome;
import org.gorda.replicator.core.ReplicaMessage;
import org.gorda.replicator.core.ReplicationProtocol;

/** What people and drivers ask of the group through this replica, each answered at its place in the order. Thread-safe. */
final class GroupRequests {

    private static final Duration SEND_WAIT = Duration.ofSeconds(2);
    private static final Duration PROTOCOL_WAIT = Duration.ofSeconds(20);

    /** Each ONLINE replica tells the others several times in it. */
    private static final Duration CAPABILITIES_WAIT = Duration.ofSeconds(10);

    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(5);

    private final ReplicaConfiguration configuration;
    private final Standing standing;
    private final Checkpointer checkpointer;
    private final ReentrantLock order;
    private final WriteGate gate;
    private final ReplicaEngine engine;

    private final AtomicLong last = new AtomicLong(firstNumber());
    private final Map<Long, CompletableFuture<Outcome>> closing = new ConcurrentHashMap<>();
    private final Verifications verifications = new Verifications();

    /** Whether one is asked for here. */
    private final AtomicBoolean verifying = new AtomicBoolean();

    /** What other replicas have told of their databases since the protocol was last to be changed here. */
    private final Map<MemberId, Set<Capability>> told = new ConcurrentHashMap<>();

    /**
     * Connects it with the other parts of the replica.
     *
     * @param order guards what changes with the epoch
     * @param gate closed while the primary verifies
     */
    GroupRequests(
            ReplicaConfiguration configuration,
            Standing standing,
            Checkpointer checkpointer,
            ReentrantLock order,
            WriteGate gate,
            ReplicaEngine engine) {
        this.configuration = configuration;
        this.standing = standing;
        this.checkpointer = checkpointer;
        this.order = order;
        this.gate = gate;
        this.engine = engine;
    }

    /** Where a run begins to number what it asks for, so that it does not take an answer to an earlier one for its own. */
    static long firstNumber() {
        return ThreadLocalRandom.current().nextLong() >>> 2;
    }

    /**
     * The outcome of a transaction; one that has none yet is aborted by being asked for.
     *
     * @param since an index the group had reached before the transaction asked to be committed
     */
    CompletableFuture<Outcome> close(TransactionId id, long since) {
        long request = last.incrementAndGet();
        CompletableFuture<Outcome> outcome = new CompletableFuture<>();
        closing.put(request, outcome);
        return ask(new ReplicaMessage.Close(id, since, request), outcome)
                .orTimeout(configuration.commitTimeout().toMillis(), TimeUnit.MILLISECONDS)
                .whenComplete((found, failed) -> closing.remove(request));
    }

    /**
     * Has all replicas compare what they hold. Local transactions that write wait meanwhile; if every replica takes writes, those in
     * the way are rolled back.
     *
     * @param wait how long at most; this replica's own reading of its tables, once begun, is waited for all the same
     * @throws ReplicaException if this replica is not the primary, or transactions do not end in time, or one is under way
     */
    Verification verify(Duration wait) {
        if (!standing.executesHere()) {
            throw new ReplicaException("a verification is led by the primary, which is " + standing.primary());
        }
        if (isReading() || !verifying.compareAndSet(false, true)) { // all commits would wait for that one, too
            throw new ReplicaException("another verification is under way: wait until it has ended");
        }
        try {
            return verifyAlone(wait);
        } finally {
            verifying.set(false);
        }
    }

    private Verification verifyAlone(Duration wait) {
        long began = System.nanoTime();
        try {
            if (!order.tryLock(wait.toMillis(), TimeUnit.MILLISECONDS)) { // of who processes what is ordered
                throw new TimeoutException();
            }
            long asked;
            boolean alone;
            try {
                asked = standing.epoch();
                alone = !standing.isEverywhere();
            } finally {
                order.unlock();
            }
            Duration left = wait.minusNanos(System.nanoTime() - began);
            if (alone) {
                gate.close();
            }
            try {
                return verify(asked, left);
            } finally {
                if (alone) {
                    gate.open();
                }
            }
        } catch (ExecutionException e) {
            throw new ReplicaException("the verification failed: " + e.getCause(), e);
        } catch (TimeoutException e) {
            throw new ReplicaException(
                    "the verification did not end within " + wait.toMillis() + " ms: "
                            + engine.group().explanation(),
                    e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new ReplicaException("interrupted during the verification", e);
        }
    }

    /** Whether the delivery reads all tables. */
    boolean isReading() {
        return verifications.isReading();
    }

    /** When it last did so, by {@link System#nanoTime}: now, if it does. */
    long lastReadNanos() {
        return verifications.lastReadNanos();
    }

    private Verification verify(long asked, Duration wait)
            throws InterruptedException, ExecutionException, TimeoutException {
        long request = last.incrementAndGet();
        CompletableFuture<Verification> made = verifications.await(request);
        try {
            if (asked != standing.epoch()) { // nobody tells that the message does not count any more
                made.completeExceptionally(new ReplicaException("the primary or the protocol has changed"));
            }
            return ask(new ReplicaMessage.Verify(request, asked), made).get(wait.toMillis(), TimeUnit.MILLISECONDS);
        } finally {
            verifications.forget(request);
        }
    }

    /**
     * What this replica found for a verification, empty if it has not got there.
     *
     * @throws ReplicaException if it does not tell, because it was started again since that was asked for
     */
    Optional<Verification> verification(long request) {
        return verifications.find(request);
    }

    /**
     * Has the group run another protocol, and waits until this replica does.
     *
     * @throws ReplicaException if it cannot, or another member could not follow, or if that is not ordered in time: then it may be yet
     */
    void changeProtocol(ReplicationProtocol wanted) {
        checkFollows(wanted, configuration.self(), engine.capabilities());
        BooleanSupplier runs = () -> standing.followed() == wanted
                && (wanted.isEverywhere() ? standing.executesHere() : standing.primary() != null);
        long deadline = System.nanoTime() + PROTOCOL_WAIT.toNanos();
        while (!runs.getAsBoolean()) {
            if (!standing.view().working()) {
                throw new ReplicaException("the protocol was not changed, because replica " + configuration.self()
                        + " cannot reach a majority of its group: "
                        + engine.group().explanation());
            }
            if (wanted.isEverywhere() && standing.followed() != wanted) {
                checkAllFollow(wanted);
            }
            long current = standing.epoch();
            // Where a change is just being made, the epoch is there before what the group runs in it.
            boolean asks = standing.followed() != wanted;
            try {
                if (asks) {
                    engine.group()
                            .data()
                            .multicast(
                                    ReplicaMessage.encode(new ReplicaMessage.ChangeProtocol(wanted, current)),
                                    SEND_WAIT);
                }
            } catch (GroupException e) {
                throw new ReplicaException("the protocol was not changed: " + e.getMessage(), e);
            }
            BooleanSupplier goesOn = () ->
                    standing.epoch() != current || runs.getAsBoolean() || (!asks && standing.followed() != wanted);
            if (!standing.progress().await(goesOn, deadline)) {
                throw notOrderedYet();
            }
        }
        // An asynchronous primary knows of it before a majority does.
        while (checkpointer.decided() < standing.epoch()) {
            if (System.nanoTime() - deadline > 0) {
                throw notOrderedYet();
            }
            LockSupport.parkNanos(POLL_NANOS);
        }
    }

    /**
     * Who takes part in a group can do what its other protocols need. But who could not follow this one would stop where it is ordered, and there again at each start: so
     * each is to say that it can, now.
     */
    private void checkAllFollow(ReplicationProtocol wanted) {
        told.clear();
        long deadline = System.nanoTime() + CAPABILITIES_WAIT.toNanos();
        for (MemberId member : others(standing.view())) {
            Set<Capability> capabilities = told.get(member);
            while (capabilities == null && System.nanoTime() - deadline < 0) {
                LockSupport.parkNanos(POLL_NANOS);
                capabilities = told.get(member);
            }
            if (capabilities == null) {
                throw new ReplicaException("the protocol was not changed, because replica " + member
                        + " has not told within " + CAPABILITIES_WAIT.toSeconds()
                        + " s whether its database can do what "
                        + wanted + " needs: wait until it is ONLINE, or remove it from the group");
            }
            checkFollows(wanted, member, capabilities);
        }
    }

    private List<MemberId> others(View now) {
        return Stream.concat(now.members().stream(), now.learners().stream())
                .filter(member -> !member.equals(configuration.self()))
                .toList();
    }

    private static void checkFollows(ReplicationProtocol wanted, MemberId member, Set<Capability> capabilities) {
        Set<Capability> missing = wanted.missing(capabilities);
        if (!missing.isEmpty()) {
            throw new ReplicaException("the protocol was not changed: " + wanted + " needs " + missing
                    + ", which the database of replica " + member + " does not have");
        }
    }

    /** Another replica tells what its database can do. */
    void heard(MemberId from, Set<Capability> capabilities) {
        told.put(from, capabilities);
    }

    private ReplicaException notOrderedYet() {
        return new ReplicaException("the change of protocol was not ordered within " + PROTOCOL_WAIT.toSeconds()
                + " s, but may be yet: " + engine.group().explanation());
    }

    private <T> CompletableFuture<T> ask(ReplicaMessage message, CompletableFuture<T> answer) {
        try {
            engine.group().data().multicast(ReplicaMessage.encode(message), SEND_WAIT);
            return answer;
        } catch (GroupException e) {
            answer.completeExceptionally(e);
            return answer;
        }
    }

    // ------------------------------------------------------------------------------------------- the delivery answers

    void answered(long request, Outcome outcome) {
        CompletableFuture<Outcome> waiting = closing.remove(request);
        if (waiting != null) {
            waiting.complete(outcome);
        }
    }

    /**
     * All replicas compare what they hold at this position.
     *
     * @param own whether this run has asked for it
     */
    void verify(long request, Position position, boolean own) {
        // To read takes the locks of those who write here, which only certification makes good. So who leads it keeps
        // them out, until he gives up.
        boolean onlyIfAwaited =
                own || (!standing.isEverywhere() && configuration.self().equals(standing.primary()));
        verifications.make(
                request,
                onlyIfAwaited,
                () -> new Verification(
                        request,
                        configuration.self(),
                        position.toString(),
                        engine.delivery().checksums()));
    }

    /** This run of the replica does not make a verification. */
    void passOver(long request) {
        verifications.passOver(request);
    }

    /** An epoch has begun: nobody will make the verifications that are waited for. */
    void giveUpVerifications(Exception why) {
        verifications.giveUp(why);
    }

    /** This replica takes part no more. */
    void giveUp(Exception why) {
        closing.values().forEach(waiting -> waiting.completeExceptionally(why));
        verifications.giveUp(why);
    }
}
