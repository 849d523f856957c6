package org.gorda.replicator.engine;

import java.time.Duration;
import java.util.List;
import java.util.OptionalLong;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.atomic.AtomicInteger;
import org.gorda.gapi.Generator;
import org.gorda.gapi.GeneratorState;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.gorda.jgcs.MemberId;
import org.gorda.replicator.core.LeasedRange;
import org.gorda.replicator.core.ReplicaMessage;
import org.jetbrains.lincheck.Lincheck;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** What clients' threads and the delivery share, in all orders that few switches between them make. */
class InterleavingsTest {

    private static final int INVOCATIONS = 300;
    private static final TransactionId ID = new TransactionId(new SessionId(1, 1), 1);

    /** Without a library's assertions, which the model checker would look into. */
    private static void check(boolean holds, String otherwise) {
        if (!holds) {
            throw new AssertionError(otherwise);
        }
    }

    /** A thread whose failure is the test's. */
    private static final class Beside {
        private final Thread thread;
        private volatile @Nullable Throwable failure;

        Beside(Runnable work) {
            thread = new Thread(() -> {
                try {
                    work.run();
                } catch (Throwable e) {
                    failure = e;
                }
            });
            thread.start();
        }

        void end() {
            try {
                thread.join();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            Throwable thrown = failure;
            if (thrown != null) {
                throw new AssertionError(thrown.getMessage(), thrown);
            }
        }
    }

    /** The delivery of one turn. */
    private static final class OneTurn {
        final SchemaTurns turns = new SchemaTurns(any -> {}, Duration.ofSeconds(20));
        volatile long executed;

        void deliver() {
            turns.delivered(ID, 1, false);
            executed = 1;
            turns.delivered(ID, 2, true);
            executed = 2;
        }
    }

    @Test
    void thereIsRoomOnlyForWhoHasSeenWhatTheLastTurnChanged() {
        Lincheck.runConcurrentTest(INVOCATIONS, () -> {
            OneTurn turn = new OneTurn();
            Beside delivery = new Beside(turn::deliver);
            long seen = turn.executed;
            check(!turn.turns.isRoom(seen) || seen != 1, "room in the middle of a turn");
            delivery.end();
        });
    }

    /** A gate, and whether it keeps everybody out. */
    private static final class Gated {
        final WriteGate gate = new WriteGate(new Progress());
        volatile boolean verifying;

        void write() {
            if (gate.enter()) {
                check(!verifying, "entered a closed gate");
                check(!verifying, "was inside when the gate was closed");
                gate.leave();
            }
        }

        void verify() {
            try {
                gate.close();
            } catch (InterruptedException e) {
                throw new AssertionError(e);
            }
            verifying = true;
            verifying = false;
            gate.open();
        }
    }

    @Test
    void nobodyIsInsideAClosedGate() {
        Lincheck.runConcurrentTest(INVOCATIONS, () -> {
            Gated gated = new Gated();
            Beside writer = new Beside(gated::write);
            gated.verify();
            writer.end();
            check(gated.gate.enter(), "closed for ever");
        });
    }

    @Test
    void nothingIsReadOnceAVerificationIsForgotten() {
        Lincheck.runConcurrentTest(INVOCATIONS, () -> {
            Verifications verifications = new Verifications();
            AtomicInteger forgotten = new AtomicInteger();
            Beside delivery = new Beside(() -> verifications.make(1, true, () -> {
                check(forgotten.get() == 0, "read although it was forgotten");
                Verification made = new Verification(1, new MemberId("a:1"), "", List.of());
                check(forgotten.get() == 0, "forgotten while it was read");
                return made;
            }));
            verifications.await(1);
            verifications.forget(1);
            forgotten.set(1);
            delivery.end();
        });
    }

    /** The leases of one generator in ranges of two values, each granted by whoever asks for it. */
    private static final class TwoByTwo {
        private static final GeneratorState STATE =
                new GeneratorState(new Generator(false, "S", "G"), 1, 1, 0, Long.MAX_VALUE);

        final GeneratorLeases leases = new GeneratorLeases(this::grant, 0, Duration.ofSeconds(20));
        private final Set<Long> given = new TreeSet<>();

        private void grant(ReplicaMessage.Lease request) {
            leases.granted(request.request(), new LeasedRange(2 * request.request(), 2, 1));
        }

        void take() {
            OptionalLong at = leases.take("G");
            long value = at.isPresent()
                    ? at.getAsLong()
                    : leases.await("G", STATE, 0).getAsLong();
            synchronized (given) {
                check(given.add(value), "given twice");
            }
        }
    }

    @Test
    void noValueOfAGeneratorIsGivenTwice() {
        Lincheck.runConcurrentTest(INVOCATIONS, () -> {
            TwoByTwo generator = new TwoByTwo();
            Beside other = new Beside(() -> {
                generator.take();
                generator.take();
            });
            generator.take();
            generator.take();
            other.end();
        });
    }

    @Test
    void nothingThatWasLeasedBeforeAChangeOfTheSchemaIsGivenAfterIt() {
        Lincheck.runConcurrentTest(INVOCATIONS, () -> {
            TwoByTwo generator = new TwoByTwo();
            generator.take();
            Beside other = new Beside(generator::take);
            generator.leases.clear();
            check(generator.leases.take("G").isEmpty() || generator.given.size() > 1, "given from before");
            other.end();
        });
    }
}
