package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.time.Duration;
import java.util.List;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.gorda.replicator.core.ReplicaMessage;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** With replicas that die in their turns, which here are told of as the order would. */
@Timeout(60)
class SchemaTurnsTest {

    private static final TransactionId DEAD = new TransactionId(new SessionId(1, 1), 1);
    private static final TransactionId MINE = new TransactionId(new SessionId(2, 2), 1);

    private final List<ReplicaMessage.SchemaTurn> sent = new CopyOnWriteArrayList<>();
    private final AtomicLong visible = new AtomicLong();
    private final SchemaTurns turns = new SchemaTurns(sent::add, Duration.ofSeconds(20));

    private void deliver(TransactionId id, long index, boolean ends) {
        turns.delivered(id, index, ends);
        visible.set(index);
    }

    @Test
    void othersGoOnSoonWhenAReplicaDiesInItsTurn() {
        deliver(DEAD, 5, false);
        long begin = System.nanoTime();
        assertThat(turns.awaitRoom(visible::get, () -> false)).isEqualTo(5);
        assertThat(Duration.ofNanos(System.nanoTime() - begin))
                .isBetween(Duration.ofMillis(2900), Duration.ofSeconds(15));
    }

    @Test
    void aTurnLastsAsLongAsItIsRenewedAndComesAfterTheOneBefore() throws Exception {
        deliver(DEAD, 5, false);
        CompletableFuture<SchemaTurns.Own> taken =
                CompletableFuture.supplyAsync(() -> turns.take(MINE, 5, visible::get));
        while (sent.isEmpty()) {
            Thread.onSpinWait();
        }
        deliver(MINE, 6, false);
        while (sent.size() < 2) {
            TimeUnit.MILLISECONDS.sleep(10); // until it is renewed
        }
        assertThat(taken).isNotDone();
        deliver(MINE, 7, false);
        deliver(DEAD, 8, true);
        SchemaTurns.Own own = taken.get(10, TimeUnit.SECONDS);
        assertThat(own.begun()).as("what the one before did is visible").isEqualTo(8);
        assertThat(own.isNow()).isTrue();
        assertThat(sent).as("renewed while it waits").hasSizeGreaterThanOrEqualTo(2);
        own.end();
        assertThat(sent.get(sent.size() - 1)).isEqualTo(new ReplicaMessage.SchemaTurn(MINE, true));
        int count = sent.size();
        TimeUnit.MILLISECONDS.sleep(1500);
        assertThat(sent).as("not renewed after its end").hasSize(count);
    }

    @Test
    void nobodyWaitsForWhatThisReplicaLagsBehind() throws Exception {
        CompletableFuture<SchemaTurns.Own> taken =
                CompletableFuture.supplyAsync(() -> turns.take(MINE, 5, visible::get));
        TimeUnit.MILLISECONDS.sleep(200);
        assertThat(sent).isEmpty();
        visible.set(5);
        while (sent.isEmpty()) {
            Thread.onSpinWait();
        }
        deliver(MINE, 6, false);
        taken.get(10, TimeUnit.SECONDS).end();
    }

    @Test
    void whoIsInterruptedGivesItsTurnUp() throws Exception {
        Thread waiting = new Thread(() ->
                assertThatThrownBy(() -> turns.take(MINE, 0, visible::get)).isInstanceOf(RefusedException.class));
        waiting.start();
        while (sent.isEmpty()) {
            Thread.onSpinWait();
        }
        waiting.interrupt();
        waiting.join();
        assertThat(sent)
                .containsExactly(new ReplicaMessage.SchemaTurn(MINE, false), new ReplicaMessage.SchemaTurn(MINE, true));
    }
}
