package org.gorda.replicator.engine;

import static java.time.Duration.ofMillis;
import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatCode;
import static org.awaitility.Awaitility.await;

import java.io.IOException;
import java.lang.reflect.Field;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.CopyOnWriteArrayList;
import java.util.concurrent.CountDownLatch;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadFactory;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicInteger;
import java.util.function.Predicate;
import org.gorda.gapi.ReflectionException;
import org.gorda.jgcs.MemberId;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A donor and what it tells who wants its database. */
@Timeout(60)
class TransferDonorTest {

    private static final MemberId SELF = new MemberId("db1:7800");
    private static final MemberId JOINER = new MemberId("db2:7800");

    @TempDir
    private Path directory;

    private final BlockingQueue<DirectMessage> told = new LinkedBlockingQueue<>();

    /** Whose copy takes until it is let go on. */
    private static class Held implements TransferDonor.Source {
        final CountDownLatch goesOn = new CountDownLatch(1);
        final AtomicInteger copies = new AtomicInteger();
        volatile @Nullable String obstacle;
        volatile @Nullable String standstill;

        @Override
        public boolean isOfOtherKind(DirectMessage.Want want) {
            return want.loads().equals("other");
        }

        @Override
        public @Nullable String obstacle() {
            return obstacle;
        }

        @Override
        public @Nullable String standstill() {
            return standstill;
        }

        @Override
        public void write(Path target, DirectMessage.Want want) throws IOException {
            copies.incrementAndGet();
            try {
                goesOn.await();
            } catch (InterruptedException e) {
                throw new IOException(e);
            }
            Files.writeString(target.resolve("rows"), "all of them");
        }
    }

    private TransferDonor donor(Held source) {
        return new TransferDonor(
                SELF, directory.resolve("given"), source, (to, message) -> told.add(message), Duration.ZERO);
    }

    private DirectMessage ask(TransferDonor donor) throws InterruptedException {
        donor.received(JOINER, new DirectMessage.Want(1, "derby"));
        return told.take();
    }

    @Test
    void whoseDatabaseStandsStillSaysSoAndGivesItWhenItGoesOn() throws Exception {
        Held source = new Held();
        try (TransferDonor donor = donor(source)) {
            assertThat(ask(donor)).isEqualTo(new DirectMessage.Wait(true, "it copies its database"));
            assertThat(ask(donor))
                    .isInstanceOfSatisfying(
                            DirectMessage.Wait.class,
                            wait -> assertThat(wait.begun()).isTrue());
            source.standstill = "the database has not answered for 10 s";
            assertThat(ask(donor)).isEqualTo(new DirectMessage.Wait(false, "the database has not answered for 10 s"));
            source.standstill = null;
            source.obstacle = "it is CATCHING_UP itself"; // it is no worse a donor for that, once it has begun
            assertThat(ask(donor))
                    .isInstanceOfSatisfying(
                            DirectMessage.Wait.class,
                            wait -> assertThat(wait.begun()).isTrue());
            source.goesOn.countDown();
            assertThat(awaitOffer(donor).files())
                    .extracting(DirectMessage.FileOffered::name)
                    .containsExactly("rows");
        }
    }

    @Test
    void whoComesBackLaterThanItsCopyIsKeptGetsTheNextOneAndNoMoreAreMade() throws Exception {
        Held source = new Held();
        source.goesOn.countDown();
        try (TransferDonor donor = donor(source)) {
            DirectMessage.Offer first = awaitOffer(donor);
            donor.expire();
            awaitAnswer(donor, new DirectMessage.Wait(true, "it copies its database (begun 2 times)")::equals);
            DirectMessage.Offer next = awaitOffer(donor);
            assertThat(next.transfer()).isNotEqualTo(first.transfer());
            assertThat(ask(donor)).isEqualTo(next);
            assertThat(source.copies).hasValue(2);
            donor.received(JOINER, new DirectMessage.Done(next.transfer()));
            awaitAnswer(donor, new DirectMessage.Wait(true, "it copies its database")::equals);
        }
    }

    private DirectMessage.Offer awaitOffer(TransferDonor donor) throws InterruptedException {
        return (DirectMessage.Offer) awaitAnswer(donor, answer -> answer instanceof DirectMessage.Offer);
    }

    private DirectMessage awaitAnswer(TransferDonor donor, Predicate<DirectMessage> wanted)
            throws InterruptedException {
        DirectMessage answer = ask(donor);
        while (!wanted.test(answer)) {
            TimeUnit.MILLISECONDS.sleep(5);
            answer = ask(donor);
        }
        return answer;
    }

    /** Its caller is the group's, which would stop. */
    @Test
    void whoGetsNoThreadAnswersOnceThereIsOne() throws Exception {
        try (TransferDonor donor = donor(new Held())) {
            Field field = TransferDonor.class.getDeclaredField("executor");
            field.setAccessible(true);
            ThreadPoolExecutor executor = (ThreadPoolExecutor) field.get(donor);
            ThreadFactory threads = executor.getThreadFactory();
            executor.setKeepAliveTime(1, TimeUnit.MILLISECONDS);
            await().until(() -> executor.getPoolSize() == 0);
            executor.setThreadFactory(task -> {
                throw new OutOfMemoryError("unable to create native thread");
            });
            assertThatCode(() -> donor.received(JOINER, new DirectMessage.Want(1, "derby")))
                    .doesNotThrowAnyException();
            executor.setThreadFactory(threads);
            assertThat(ask(donor)).isEqualTo(new DirectMessage.Wait(true, "it copies its database"));
        }
    }

    @Test
    void aCopyThatEndsInAnErrorIsTriedAgainAndKeepsNobodyFromAnother() throws Exception {
        Held source = new Held() {
            @Override
            public void write(Path target, DirectMessage.Want want) throws IOException {
                if (copies.get() == 0) {
                    copies.incrementAndGet();
                    throw new OutOfMemoryError("planted");
                }
                super.write(target, want);
            }
        };
        source.goesOn.countDown();
        try (TransferDonor donor = donor(source)) {
            ask(donor);
            DirectMessage.Wait failed = (DirectMessage.Wait) awaitAnswer(
                    donor, answer -> answer instanceof DirectMessage.Wait wait && !wait.begun());
            assertThat(failed.why()).isEqualTo("its database could not be copied: java.lang.OutOfMemoryError: planted");
            assertThat(awaitOffer(donor).files()).hasSize(1);
            assertThat(source.copies).hasValue(2);
        }
    }

    /** Nor is it out of the joiner's explanation while the next copy is made. */
    @Test
    void aCopyThatFailsIsNotTriedAgainAtOnce() throws Exception {
        List<Long> tries = new CopyOnWriteArrayList<>();
        Held source = new Held() {
            @Override
            public void write(Path target, DirectMessage.Want want) {
                tries.add(System.nanoTime());
                throw new ReflectionException("no snapshot can be made of aggregate my(integer)");
            }
        };
        try (TransferDonor donor = donor(source)) {
            ask(donor);
            await().until(() -> ask(donor) instanceof DirectMessage.Wait wait && !wait.begun());
            while (tries.size() < 3) {
                assertThat(ask(donor))
                        .isInstanceOfSatisfying(
                                DirectMessage.Wait.class,
                                wait -> assertThat(wait.why()).contains("no snapshot can be made of aggregate"));
                TimeUnit.MILLISECONDS.sleep(5);
            }
            assertThat(Duration.ofNanos(tries.get(1) - tries.get(0))).isBetween(ofMillis(1000), ofMillis(1900));
            assertThat(Duration.ofNanos(tries.get(2) - tries.get(1))).isGreaterThan(Duration.ofSeconds(2));
            assertThat(told).isEmpty();
            donor.received(JOINER, new DirectMessage.Want(1, "h2")); // of another kind, which may be given
            assertThat(told.take()).isEqualTo(new DirectMessage.Wait(true, "it copies its database (begun 4 times)"));
            await().until(() -> tries.size() == 4); // it would write among what is deleted
        }
    }
}
