package org.gorda.bench.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.gorda.bench.torture.ListTransaction.Append;
import org.gorda.bench.torture.ListTransaction.Read;
import org.gorda.bench.torture.ListTransaction.Step;
import org.junit.jupiter.api.Test;

/** Histories made by hand, each with the anomaly that its name says, or none. */
class ListCheckerTest {

    private static final String SNAPSHOT = "not snapshot isolation (G-single, G-nonadjacent)";
    private static final String SERIAL = "not serializable (G2)";

    private final List<Recorded> history = new ArrayList<>();

    private void transaction(Isolation isolation, Outcome outcome, Step... steps) {
        int number = history.size();
        history.add(new Recorded(
                "list-append",
                new ListTransaction(isolation, false, List.of(steps)),
                number,
                number,
                number + 1L,
                outcome,
                outcome == Outcome.OK ? null : "40001"));
    }

    private void ok(Isolation isolation, Step... steps) {
        transaction(isolation, Outcome.OK, steps);
    }

    private static Step append(int key, int value) {
        return new Append(key, value);
    }

    private static Step read(int key, int... seen) {
        Read read = new Read(key, false);
        read.seen = seen;
        return read;
    }

    private Map<String, Long> found(Map<Integer, int[]> lists) {
        return found(Promise.LOCKS, lists);
    }

    private Map<String, Long> found(Promise promise, Map<Integer, int[]> lists) {
        Findings findings = new Findings();
        new ListChecker(history, lists, promise, findings).check();
        return findings.counts();
    }

    private static int[] list(int... elements) {
        return elements;
    }

    @Test
    void aSerialHistoryIsFine() {
        ok(Isolation.SERIALIZABLE, append(1, 1), read(1, 1));
        ok(Isolation.SERIALIZABLE, read(1, 1), append(1, 2), read(1, 1, 2), append(2, 3));
        ok(Isolation.READ_COMMITTED, read(1, 1), read(1, 1, 2), read(2, 3));
        transaction(Isolation.SERIALIZABLE, Outcome.FAILED, append(1, 4), read(7, 9));
        transaction(Isolation.SERIALIZABLE, Outcome.UNKNOWN, append(1, 5));
        transaction(Isolation.SERIALIZABLE, Outcome.UNKNOWN, append(1, 6), append(3, 7));

        assertThat(found(Map.of(1, list(1, 2, 6), 2, list(3), 3, list(7)))).isEmpty();
    }

    @Test
    void whatWasAcknowledgedAndIsMissingIsLost() {
        ok(Isolation.SERIALIZABLE, append(1, 1));
        ok(Isolation.SERIALIZABLE, append(1, 2), append(2, 3));

        assertThat(found(Map.of(1, list(1), 2, list(3)))).containsOnly(Map.entry(Findings.LOST, 1L));
    }

    @Test
    void whatIsThereTwiceIsDuplicated() {
        ok(Isolation.SERIALIZABLE, append(1, 1));

        assertThat(found(Map.of(1, list(1, 1)))).containsOnly(Map.entry(Findings.DUPLICATED, 1L));
    }

    @Test
    void whatWasRefusedAndIsThereIsResurrected() {
        transaction(Isolation.SERIALIZABLE, Outcome.FAILED, append(1, 1));

        assertThat(found(Map.of(1, list(1)))).containsOnly(Map.entry("resurrected", 1L));
    }

    @Test
    void ofWhatIsUnknownHalfIsTooLittle() {
        transaction(Isolation.SERIALIZABLE, Outcome.UNKNOWN, append(1, 1), append(2, 2));

        assertThat(found(Map.of(1, list(1)))).containsOnly(Map.entry("half of a transaction", 1L));
    }

    @Test
    void whatNobodyAppendedIsFromNowhere() {
        assertThat(found(Map.of(1, list(1)))).containsOnly(Map.entry("from nowhere", 1L));
    }

    @Test
    void whatIsInAnotherListIsFromNowhere() {
        ok(Isolation.SERIALIZABLE, append(1, 1));

        assertThat(found(Map.of(2, list(1)))).containsOnly(Map.entry("from nowhere", 1L));
    }

    @Test
    void itsOwnAppendsStandInTheirOrder() {
        ok(Isolation.SERIALIZABLE, append(1, 1), append(1, 2));

        assertThat(found(Map.of(1, list(2, 1)))).containsOnly(Map.entry("incompatible order", 1L));
    }

    @Test
    void whoReadsWhatWasRolledBackIsFound() {
        transaction(Isolation.SERIALIZABLE, Outcome.FAILED, append(1, 1));
        ok(Isolation.READ_COMMITTED, read(1, 1));

        assertThat(found(Map.of())).containsOnly(Map.entry("G1a aborted read", 1L));
    }

    @Test
    void whoReadsTheMiddleOfATransactionIsFound() {
        ok(Isolation.SERIALIZABLE, append(1, 1), append(1, 2));
        ok(Isolation.READ_COMMITTED, read(1, 1));

        assertThat(found(Map.of(1, list(1, 2)))).containsKey("G1b intermediate read");
    }

    @Test
    void whoReadsAnotherOrderThanThatOfTheEndIsFound() {
        ok(Isolation.SERIALIZABLE, append(1, 1));
        ok(Isolation.SERIALIZABLE, append(1, 2));
        ok(Isolation.READ_COMMITTED, read(1, 2));

        assertThat(found(Map.of(1, list(1, 2)))).containsOnly(Map.entry("incompatible order", 1L));
    }

    @Test
    void whoDoesNotSeeItsOwnIsFound() {
        ok(Isolation.READ_COMMITTED, append(1, 1), read(1));

        assertThat(found(Map.of(1, list(1)))).containsOnly(Map.entry("does not see its own", 1L));
    }

    @Test
    void whatIsReadTwiceStaysAsTheLevelPromises() {
        ok(Isolation.SERIALIZABLE, append(1, 1));
        ok(Isolation.READ_COMMITTED, read(1), read(1, 1));
        assertThat(found(Map.of(1, list(1)))).isEmpty();

        ok(Isolation.REPEATABLE_READ, read(1), read(1, 1));
        assertThat(found(Map.of(1, list(1)))).as("a phantom").isEmpty();

        ok(Isolation.SERIALIZABLE, read(1), read(1, 1));
        assertThat(found(Map.of(1, list(1)))).containsKey("non-repeatable read");
        history.remove(3);

        ok(Isolation.READ_COMMITTED, read(1, 1), read(1));
        assertThat(found(Map.of(1, list(1)))).containsOnly(Map.entry("non-monotonic read", 1L));
    }

    @Test
    void twoThatHaveReadEachOthersWritesAreFound() {
        ok(Isolation.READ_COMMITTED, append(1, 1), read(2, 2));
        ok(Isolation.READ_COMMITTED, append(2, 2), read(1, 1));

        assertThat(found(Map.of(1, list(1), 2, list(2)))).containsKey("G1c");
    }

    @Test
    void aLostUpdateIsFoundWhereTheLevelForbidsIt() {
        ok(Isolation.REPEATABLE_READ, append(1, 1));
        ok(Isolation.REPEATABLE_READ, read(1, 1), append(1, 2));
        ok(Isolation.REPEATABLE_READ, read(1, 1), append(1, 3));

        assertThat(found(Map.of(1, list(1, 2, 3)))).containsOnly(Map.entry(SNAPSHOT, 1L));

        history.clear();
        ok(Isolation.REPEATABLE_READ, append(1, 1));
        ok(Isolation.READ_COMMITTED, read(1, 1), append(1, 2));
        ok(Isolation.READ_COMMITTED, read(1, 1), append(1, 3));

        assertThat(found(Map.of(1, list(1, 2, 3)))).isEmpty();
    }

    @Test
    void readSkewIsFound() {
        ok(Isolation.READ_COMMITTED, append(1, 1));
        ok(Isolation.READ_COMMITTED, append(1, 2), append(2, 3));
        ok(Isolation.REPEATABLE_READ, read(1, 1), read(2, 3));

        assertThat(found(Map.of(1, list(1, 2), 2, list(3)))).containsOnly(Map.entry(SNAPSHOT, 1L));
    }

    @Test
    void aLongForkIsFound() {
        ok(Isolation.REPEATABLE_READ, append(1, 1), append(2, 2));
        ok(Isolation.REPEATABLE_READ, append(1, 3));
        ok(Isolation.REPEATABLE_READ, append(2, 4));
        ok(Isolation.REPEATABLE_READ, read(1, 1, 3), read(2, 2));
        ok(Isolation.REPEATABLE_READ, read(1, 1), read(2, 2, 4));

        assertThat(found(Map.of(1, list(1, 3), 2, list(2, 4)))).containsOnly(Map.entry(SNAPSHOT, 1L));
    }

    /** Rows that come into what was read are possible at this level. */
    @Test
    void thatARowWasNotThereIsNotKeptAtRepeatableRead() {
        ok(Isolation.READ_COMMITTED, append(1, 1), append(2, 2));
        ok(Isolation.REPEATABLE_READ, read(1), read(2, 2));
        assertThat(found(Map.of(1, list(1), 2, list(2)))).isEmpty();

        ok(Isolation.SERIALIZABLE, read(1), read(2, 2));
        assertThat(found(Map.of(1, list(1), 2, list(2)))).containsKey(SNAPSHOT);
    }

    @Test
    void ofASnapshotARowThatWasNotThereIsKeptToo() {
        ok(Isolation.READ_COMMITTED, append(1, 1), append(2, 2));
        ok(Isolation.REPEATABLE_READ, read(1), read(2, 2));

        assertThat(found(Promise.SNAPSHOTS, Map.of(1, list(1), 2, list(2)))).containsOnly(Map.entry(SNAPSHOT, 1L));
    }

    @Test
    void whereDatabasesTakeSnapshotsOnlySerializableTransactionsCountAmongThemselves() {
        ok(Isolation.READ_COMMITTED, append(1, 1), append(2, 2));
        ok(Isolation.SERIALIZABLE, read(1, 1), read(3, 5));
        ok(Isolation.SERIALIZABLE, append(1, 3), read(2, 2));
        ok(Isolation.READ_COMMITTED, append(2, 4), append(3, 5));
        Map<Integer, int[]> lists = Map.of(1, list(1, 3), 2, list(2, 4), 3, list(5));

        assertThat(found(Promise.LOCKS, lists)).containsOnly(Map.entry(SERIAL, 1L));
        assertThat(found(Promise.CERTIFIED_SNAPSHOTS, lists)).containsOnly(Map.entry(SERIAL, 1L));
        assertThat(found(Promise.SNAPSHOTS, lists)).isEmpty();

        ok(Isolation.SERIALIZABLE, read(4), append(5, 7));
        ok(Isolation.SERIALIZABLE, read(5), append(4, 6));
        Map<Integer, int[]> skewed = Map.of(1, list(1, 3), 2, list(2, 4), 3, list(5), 4, list(6), 5, list(7));
        assertThat(found(Promise.SNAPSHOTS, skewed)).containsOnly(Map.entry(SERIAL, 1L));
    }

    @Test
    void writeSkewIsFoundOfSerializableTransactionsOnly() {
        ok(Isolation.SERIALIZABLE, read(1), append(2, 2));
        ok(Isolation.SERIALIZABLE, read(2), append(1, 1));

        assertThat(found(Map.of(1, list(1), 2, list(2)))).containsOnly(Map.entry(SERIAL, 1L));

        history.set(1, atRepeatableRead(history.get(1)));

        assertThat(found(Map.of(1, list(1), 2, list(2)))).isEmpty();
    }

    private static Recorded atRepeatableRead(Recorded recorded) {
        ListTransaction transaction = (ListTransaction) recorded.operation();
        return new Recorded(
                recorded.workload(),
                new ListTransaction(Isolation.REPEATABLE_READ, false, transaction.steps()),
                recorded.process(),
                recorded.begunNanos(),
                recorded.endedNanos(),
                recorded.outcome(),
                recorded.state());
    }
}
