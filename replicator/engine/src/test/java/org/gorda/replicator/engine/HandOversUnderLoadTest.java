package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.Callable;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.Future;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.concurrent.atomic.AtomicLong;
import org.gorda.gapi.Generator;
import org.gorda.gapi.GeneratorState;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.WriteSetWriter;
import org.gorda.jgcs.DataSession;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MessageId;
import org.gorda.replicator.core.LeasedRange;
import org.gorda.replicator.core.ReplicaMessage;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Many clients and one delivery, in real time: the model checker takes a wait that has an end for one that ends at once. */
@Timeout(60)
class HandOversUnderLoadTest {

    private static final int CLIENTS = 8;
    private static final Duration PATIENCE = Duration.ofSeconds(15);
    private static final int CHUNKS_ON_THEIR_WAY_MAX = 8;

    @TempDir
    Path directory;

    private final ExecutorService threads = Executors.newCachedThreadPool();

    @AfterEach
    void stop() {
        threads.shutdownNow();
    }

    private List<Future<?>> clients(Callable<?> work) {
        List<Future<?>> clients = new ArrayList<>();
        for (int i = 0; i < CLIENTS; i++) {
            clients.add(threads.submit(work));
        }
        return clients;
    }

    private static void end(List<Future<?>> clients) throws Exception {
        for (Future<?> client : clients) {
            client.get();
        }
    }

    /** Waits, and fails if that took about as long as it does for who is not woken. */
    private static <T> T promptly(Callable<T> wait) throws Exception {
        long begin = System.nanoTime();
        T result = wait.call();
        assertThat(Duration.ofNanos(System.nanoTime() - begin)).as("woken").isLessThan(PATIENCE.dividedBy(2));
        return result;
    }

    private static <T> T next(BlockingQueue<T> queue) throws InterruptedException {
        T next = queue.poll(PATIENCE.toNanos(), TimeUnit.NANOSECONDS);
        assertThat(next).as("nobody did anything").isNotNull();
        return next;
    }

    @Test
    void whoWaitsForAPositionIsWokenWhenItIsVisible() throws Exception {
        Progress progress = new Progress();
        AtomicLong visible = new AtomicLong();
        AtomicLong wanted = new AtomicLong();
        BlockingQueue<Long> sent = new LinkedBlockingQueue<>();
        int each = 2_000;
        List<Future<?>> clients = clients(() -> {
            for (int i = 0; i < each; i++) {
                long index = wanted.incrementAndGet();
                sent.add(index);
                long deadline = System.nanoTime() + PATIENCE.toNanos();
                assertThat(promptly(() -> progress.await(() -> visible.get() >= index, deadline)))
                        .isTrue();
            }
            return null;
        });
        for (int i = CLIENTS; i <= CLIENTS * each; i += CLIENTS) {
            for (int client = 0; client < CLIENTS; client++) {
                next(sent);
            }
            visible.set(i);
            progress.signal();
        }
        end(clients);
    }

    @Test
    void whoIsKeptOutByAGateIsWokenWhenItOpens() throws Exception {
        WriteGate gate = new WriteGate(new Progress());
        AtomicInteger inside = new AtomicInteger();
        AtomicInteger left = new AtomicInteger(200);
        CountDownLatch begun = new CountDownLatch(CLIENTS);
        List<Future<?>> clients = clients(() -> {
            begun.countDown();
            while (left.get() > 0) {
                assertThat(promptly(gate::awaitOpen)).isTrue();
                if (gate.enter()) {
                    inside.incrementAndGet();
                    inside.decrementAndGet();
                    gate.leave();
                }
            }
            return null;
        });
        begun.await();
        while (left.getAndDecrement() > 0) {
            gate.close();
            assertThat(inside).as("who writes while the gate is closed").hasValue(0);
            gate.open();
        }
        end(clients);
    }

    @Test
    void everybodyGetsValuesOfAGeneratorAndEachIsGivenOnce() throws Exception {
        BlockingQueue<ReplicaMessage.Lease> ordered = new LinkedBlockingQueue<>();
        AtomicInteger tries = new AtomicInteger();
        GeneratorLeases leases = new GeneratorLeases(
                request -> {
                    if (tries.incrementAndGet() % 5 == 0) {
                        throw new GroupException(GroupException.Disposition.RETRY, "no room just now");
                    }
                    ordered.add(request);
                },
                0,
                PATIENCE);
        GeneratorState generator = new GeneratorState(new Generator(false, "APP", "G"), 1, 1, 0, Long.MAX_VALUE);
        Set<Long> given = ConcurrentHashMap.newKeySet();
        int each = 2_000;
        List<Future<?>> clients = clients(() -> {
            for (int i = 0; i < each; i++) {
                OptionalLong value = leases.take("G");
                long taken = value.isPresent()
                        ? value.getAsLong()
                        : promptly(() -> leases.await("G", generator, 0)).orElseThrow();
                assertThat(given.add(taken)).as("not given before: " + taken).isTrue();
            }
            return null;
        });
        long first = 0;
        int changes = 0;
        while (given.size() < CLIENTS * each) {
            ReplicaMessage.Lease request = ordered.poll(1, TimeUnit.MILLISECONDS);
            if (request != null && ++changes % 50 == 0) {
                leases.clear(); // and what was asked for before counts no more
            }
            if (request != null) {
                leases.granted(request.request(), new LeasedRange(first, 10, 1));
                first += 10;
            }
            assertThat(clients).noneMatch(HandOversUnderLoadTest::hasFailed);
        }
        end(clients);
    }

    private static boolean hasFailed(Future<?> client) {
        try {
            if (client.isDone()) {
                client.get();
            }
            return false;
        } catch (Exception e) {
            return true;
        }
    }

    /** A group that now and then has no room, and counts what is on its way. */
    private static final class CountingSession implements DataSession {
        static final ThreadLocal<TransactionId> SENDING = new ThreadLocal<>();

        final AtomicInteger onTheirWay = new AtomicInteger();
        final AtomicInteger most = new AtomicInteger();
        final AtomicInteger tries = new AtomicInteger();
        volatile boolean alwaysHasRoom;
        final BlockingQueue<TransactionId> sent = new LinkedBlockingQueue<>();

        @Override
        public MessageId multicast(ByteBuffer payload, Duration wait) {
            if (!alwaysHasRoom && tries.incrementAndGet() % 11 == 0) {
                throw new GroupException(GroupException.Disposition.RETRY, "no room just now");
            }
            most.accumulateAndGet(onTheirWay.incrementAndGet(), Math::max);
            sent.add(SENDING.get());
            return new MessageId(new MemberId("a:1"), 1, 1);
        }
    }

    private WriteSet large() {
        TableShape table = new TableShape(
                "APP",
                "T",
                List.of(new TableShape.Column("ID", SqlType.BIGINT), new TableShape.Column("B", SqlType.BLOB)),
                List.of(1));
        WriteSetWriter writer = new WriteSetWriter(ReplicaMessage.WRITE_SET_HEADER_BYTES, 64 << 20, directory);
        byte[] value = new byte[700_000];
        for (int id = 0; id < 3; id++) {
            writer.insert(table, 2);
            writer.putInteger(SqlType.BIGINT, id);
            writer.putBytes(SqlType.BLOB, value, 0, value.length);
        }
        return writer.finish();
    }

    @Test
    void chunksThatAreDeliveredOrNotSentMakeRoomForOthersAndNoMore() throws Exception {
        WriteSet writeSet = large();
        int chunks = (int) (writeSet.precedingLength() / ChunkSender.CHUNK_BYTES) + 1;
        assertThat(chunks).isGreaterThan(3);
        ChunkSender sender = new ChunkSender(PATIENCE);
        CountingSession session = new CountingSession();
        AtomicLong number = new AtomicLong();
        AtomicInteger running = new AtomicInteger(CLIENTS);
        List<Future<?>> clients = clients(() -> {
            try {
                for (int i = 0; i < 10; i++) {
                    TransactionId id = new TransactionId(new SessionId(1, 1), number.incrementAndGet());
                    CountingSession.SENDING.set(id);
                    try {
                        assertThat(sender.send(session, id, 1, 1, writeSet, () -> true, sent -> {}))
                                .isEqualTo(chunks);
                    } catch (GroupException e) {
                        // what it has sent already is delivered all the same
                    }
                }
            } finally {
                running.decrementAndGet();
            }
            return null;
        });
        while (running.get() > 0 || !session.sent.isEmpty()) {
            TransactionId id = session.sent.poll(1, TimeUnit.MILLISECONDS);
            sender.delivered(new TransactionId(new SessionId(2, 2), 1)); // another replica's
            if (id != null) {
                session.onTheirWay.decrementAndGet();
                sender.delivered(id);
            }
        }
        end(clients);
        assertThat(session.most).as("most chunks on their way").hasValueLessThanOrEqualTo(CHUNKS_ON_THEIR_WAY_MAX);
        assertThat(session.onTheirWay).hasValue(0);
        session.alwaysHasRoom = true;
        for (int i = 0; i < CHUNKS_ON_THEIR_WAY_MAX; i++) {
            try {
                TransactionId id = new TransactionId(new SessionId(3, 3), i);
                CountingSession.SENDING.set(id);
                sender.send(
                        session,
                        id,
                        1,
                        1,
                        writeSet,
                        () -> session.onTheirWay.get() < CHUNKS_ON_THEIR_WAY_MAX,
                        sent -> {});
            } catch (RefusedException e) {
                // it is full
            }
        }
        assertThat(session.onTheirWay).as("room after all").hasValue(CHUNKS_ON_THEIR_WAY_MAX);
    }

    @Test
    void whatSeveralClientsMeasureIsCounted() throws Exception {
        Probes probes = new Probes();
        long each = 50_000;
        List<Future<?>> clients = clients(() -> {
            for (int i = 0; i < each; i++) {
                Probes.Probe probe = Probes.begin(probes);
                Probes.end(probe, Stage.COMMIT);
                Probes.count(probe, Stage.COMMIT);
            }
            return null;
        });
        StageTimes before = StageTimes.NONE;
        while (before.count() < CLIENTS * each && !clients.stream().allMatch(Future::isDone)) {
            StageTimes now = probes.times().getOrDefault(Stage.COMMIT, StageTimes.NONE);
            assertThat(now.minus(before).count()).isEqualTo(now.count() - before.count());
            before = now;
        }
        end(clients);
        assertThat(probes.times().get(Stage.COMMIT).count()).isEqualTo(CLIENTS * each);
    }
}
