package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.time.Duration;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.TimeUnit;
import org.awaitility.Awaitility;
import org.gorda.gapi.ReflectionException;
import org.gorda.jgcs.MemberId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(20)
class DatabaseWatchTest {

    private static final MemberId SELF = new MemberId("self:1");
    private static final Duration PATIENCE = Duration.ofSeconds(10);
    private static final Duration ROUND = Duration.ofMillis(100);

    private final CountDownLatch asked = new CountDownLatch(1);
    private final CountDownLatch answered = new CountDownLatch(1);
    private long now = System.nanoTime();

    private void look(DatabaseWatch watch, Duration time) {
        for (long passed = 0; passed < time.toNanos(); passed += ROUND.toNanos()) {
            now += ROUND.toNanos();
            watch.look(now);
        }
    }

    private void ask() {
        asked.countDown();
        try {
            answered.await();
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }

    @Test
    void databaseThatDoesNotAnswerForAsLongAsItsPatienceIsSilentUntilItDoes() throws Exception {
        try (DatabaseWatch watch = new DatabaseWatch(SELF, this::ask, PATIENCE)) {
            watch.start();
            asked.await();
            look(watch, PATIENCE);
            assertThat(watch.isSilent()).isFalse();
            look(watch, Duration.ofSeconds(2));
            assertThat(watch.isSilent()).isTrue();
            assertThat(watch.explanation()).isEqualTo("the database has not answered for 11 s");
            answered.countDown();
            Awaitility.await().atMost(Duration.ofMinutes(1)).until(() -> {
                look(watch, ROUND);
                return !watch.isSilent();
            });
        }
    }

    @Test
    void errorIsAnAnswer() throws Exception {
        CountDownLatch twice = new CountDownLatch(2);
        Runnable fails = () -> {
            twice.countDown();
            throw new ReflectionException("too many clients already");
        };
        try (DatabaseWatch watch = new DatabaseWatch(SELF, fails, PATIENCE)) {
            watch.start();
            assertThat(twice.await(10, TimeUnit.SECONDS)).isTrue();
        }
    }

    @Test
    void oneLongCommitIsSilenceAndManyShortOnesAreNot() {
        DatabaseWatch watch = new DatabaseWatch(SELF, () -> {}, PATIENCE);
        DatabaseWatch.Work commits = watch.commits();
        for (int i = 0; i < 200; i++) {
            commits.begin();
            look(watch, ROUND);
            commits.end();
        }
        assertThat(watch.isSilent()).isFalse();
        commits.begin();
        look(watch, PATIENCE.plusSeconds(1));
        assertThat(watch.isSilent()).isTrue();
        commits.end();
        look(watch, ROUND);
        assertThat(watch.isSilent()).isFalse();
    }

    @Test
    void whoHasStoodStillItselfHasNotWaited() {
        DatabaseWatch watch = new DatabaseWatch(SELF, () -> {}, PATIENCE);
        watch.commits().begin();
        look(watch, Duration.ofSeconds(1));
        now += Duration.ofMinutes(5).toNanos();
        look(watch, Duration.ofSeconds(1));
        assertThat(watch.isSilent()).isFalse();
    }
}
