package org.gorda.replicator.engine.isolation;

import java.util.List;
import java.util.Set;
import java.util.function.Predicate;

/**
 * A schedule of up to three transactions and the anomaly that it would show. Most are those of Hermitage (M. Kleppmann,
 * "Hermitage: Testing the I in ACID", 2014), named as by A. Adya, "Weak Consistency" (1999). Immutable.
 *
 * @param name as in the table
 * @param meaning what goes wrong, for people
 * @param steps each the number of a transaction, a blank, and its statement
 * @param anomaly whether it did go wrong
 */
public record IsolationCase(String name, String meaning, List<String> steps, Predicate<Interleaving> anomaly) {

    /** What is there once. */
    public static final List<String> TABLES = List.of(
            "CREATE TABLE APP.T (ID INTEGER NOT NULL PRIMARY KEY, V INTEGER NOT NULL)",
            "CREATE TABLE APP.P (ID INTEGER NOT NULL PRIMARY KEY)",
            "CREATE TABLE APP.C (ID INTEGER NOT NULL PRIMARY KEY, P INTEGER REFERENCES APP.P)",
            "CREATE TABLE APP.GATE (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER)",
            "INSERT INTO APP.GATE VALUES (0, 0)");

    /** What each begins with: the rows 1=10 and 2=20, and a parent 1 without children. */
    static final List<String> RESET = List.of(
            "DELETE FROM APP.T",
            "DELETE FROM APP.C",
            "DELETE FROM APP.P",
            "INSERT INTO APP.T VALUES (1, 10), (2, 20)",
            "INSERT INTO APP.P VALUES (1)");

    public static final IsolationCase LOST_SENT = new IsolationCase(
            "lost SENT",
            "who loses its locks on its way through the order is told something else than what happened",
            List.of(
                    "1 UPDATE APP.T SET V = 11 WHERE ID = 1",
                    "2 LOCK TABLE APP.T IN EXCLUSIVE MODE",
                    "2 UPDATE APP.T SET V = 22 WHERE ID = 2",
                    "1 COMMIT",
                    "2 COMMIT"),
            run -> run.committed(1) != run.end().contains("1=11")
                    || run.committed(2) != run.end().contains("2=22"));

    public static final List<IsolationCase> ALL = List.of(
            new IsolationCase(
                    "G0",
                    "dirty write: of two transactions each one's write of one row stays",
                    List.of(
                            "1 UPDATE APP.T SET V = 11 WHERE ID = 1",
                            "2 UPDATE APP.T SET V = 12 WHERE ID = 1",
                            "1 UPDATE APP.T SET V = 21 WHERE ID = 2",
                            "1 COMMIT",
                            "2 UPDATE APP.T SET V = 22 WHERE ID = 2",
                            "2 COMMIT"),
                    run -> !Set.of("1=11 2=21", "1=12 2=22").contains(run.end())),
            new IsolationCase(
                    "G1a",
                    "aborted read: what was rolled back was read",
                    List.of(
                            "1 UPDATE APP.T SET V = 101 WHERE ID = 1",
                            "2 SELECT ID, V FROM APP.T",
                            "1 ROLLBACK",
                            "2 SELECT ID, V FROM APP.T",
                            "2 COMMIT"),
                    run -> run.reads(2).contains("1=101 2=20")),
            new IsolationCase(
                    "G1b",
                    "intermediate read: what was changed again was read",
                    List.of(
                            "1 UPDATE APP.T SET V = 101 WHERE ID = 1",
                            "2 SELECT ID, V FROM APP.T",
                            "1 UPDATE APP.T SET V = 11 WHERE ID = 1",
                            "1 COMMIT",
                            "2 SELECT ID, V FROM APP.T",
                            "2 COMMIT"),
                    run -> run.reads(2).contains("1=101 2=20")),
            new IsolationCase(
                    "G1c",
                    "circular information flow: two transactions have read each other's writes",
                    List.of(
                            "1 UPDATE APP.T SET V = 11 WHERE ID = 1",
                            "2 UPDATE APP.T SET V = 22 WHERE ID = 2",
                            "1 SELECT ID, V FROM APP.T WHERE ID = 2",
                            "2 SELECT ID, V FROM APP.T WHERE ID = 1",
                            "1 COMMIT",
                            "2 COMMIT"),
                    run -> run.reads(1).contains("2=22") && run.reads(2).contains("1=11")),
            new IsolationCase(
                    "OTV",
                    "observed transaction vanishes: what was seen of a transaction is not seen any more",
                    List.of(
                            "1 UPDATE APP.T SET V = 11 WHERE ID = 1",
                            "1 UPDATE APP.T SET V = 19 WHERE ID = 2",
                            "2 UPDATE APP.T SET V = 12 WHERE ID = 1",
                            "1 COMMIT",
                            "3 SELECT ID, V FROM APP.T",
                            "2 UPDATE APP.T SET V = 18 WHERE ID = 2",
                            "3 SELECT ID, V FROM APP.T",
                            "2 COMMIT",
                            "3 SELECT ID, V FROM APP.T",
                            "3 COMMIT"),
                    run -> run.reads(3).stream().anyMatch(Set.of("1=11 2=18", "1=12 2=19")::contains)),
            new IsolationCase(
                    "PMP",
                    "phantom: a condition that was read has other rows afterwards",
                    List.of(
                            "1 SELECT ID, V FROM APP.T WHERE V = 30",
                            "2 INSERT INTO APP.T VALUES (3, 30)",
                            "2 COMMIT",
                            "1 SELECT ID, V FROM APP.T WHERE MOD(V, 3) = 0",
                            "1 COMMIT"),
                    run -> run.committed(1) && run.reads(1).get(1).equals("3=30")),
            new IsolationCase(
                    "PMP, write",
                    "a condition by which was deleted has rows afterwards",
                    List.of(
                            "1 UPDATE APP.T SET V = V + 10",
                            "2 DELETE FROM APP.T WHERE V = 20",
                            "1 COMMIT",
                            "2 SELECT ID, V FROM APP.T WHERE V = 20",
                            "2 COMMIT"),
                    run -> run.committed(2) && !run.reads(2).get(0).isEmpty()),
            new IsolationCase(
                    "P4",
                    "lost update: two read a row, and both write it from what they read",
                    List.of(
                            "1 SELECT ID, V FROM APP.T WHERE ID = 1",
                            "2 SELECT ID, V FROM APP.T WHERE ID = 1",
                            "1 UPDATE APP.T SET V = 11 WHERE ID = 1",
                            "2 UPDATE APP.T SET V = 11 WHERE ID = 1",
                            "1 COMMIT",
                            "2 COMMIT"),
                    IsolationCase::bothCommitted),
            new IsolationCase(
                    "P4, later",
                    "the same where one is committed before the other one writes",
                    List.of(
                            "1 SELECT ID, V FROM APP.T WHERE ID = 1",
                            "2 SELECT ID, V FROM APP.T WHERE ID = 1",
                            "1 UPDATE APP.T SET V = 11 WHERE ID = 1",
                            "1 COMMIT",
                            "2 UPDATE APP.T SET V = 11 WHERE ID = 1",
                            "2 COMMIT"),
                    IsolationCase::bothCommitted),
            new IsolationCase(
                    "G-single",
                    "read skew: one row is read from before a transaction and one from after it",
                    List.of(
                            "1 SELECT ID, V FROM APP.T WHERE ID = 1",
                            "2 SELECT ID, V FROM APP.T",
                            "2 UPDATE APP.T SET V = 12 WHERE ID = 1",
                            "2 UPDATE APP.T SET V = 18 WHERE ID = 2",
                            "2 COMMIT",
                            "1 SELECT ID, V FROM APP.T WHERE ID = 2",
                            "1 COMMIT"),
                    run -> run.committed(1) && run.reads(1).get(1).equals("2=18")),
            new IsolationCase(
                    "G-single, dependencies",
                    "the same by conditions",
                    List.of(
                            "1 SELECT ID, V FROM APP.T WHERE MOD(V, 5) = 0",
                            "2 UPDATE APP.T SET V = 12 WHERE V = 10",
                            "2 COMMIT",
                            "1 SELECT ID, V FROM APP.T WHERE MOD(V, 3) = 0",
                            "1 COMMIT"),
                    run -> run.committed(1) && run.reads(1).get(1).equals("1=12")),
            new IsolationCase(
                    "G-single, write 1",
                    "the same where the second look is a delete's",
                    List.of(
                            "1 SELECT ID, V FROM APP.T WHERE ID = 1",
                            "2 SELECT ID, V FROM APP.T",
                            "2 UPDATE APP.T SET V = 12 WHERE ID = 1",
                            "2 UPDATE APP.T SET V = 18 WHERE ID = 2",
                            "2 COMMIT",
                            "1 DELETE FROM APP.T WHERE V = 20",
                            "1 COMMIT"),
                    run -> bothCommitted(run) && run.end().equals("1=12 2=18")),
            new IsolationCase(
                    "G-single, write 2",
                    "the same where both write what the other one has read",
                    List.of(
                            "1 SELECT ID, V FROM APP.T WHERE ID = 1",
                            "2 SELECT ID, V FROM APP.T",
                            "2 UPDATE APP.T SET V = 12 WHERE ID = 1",
                            "1 DELETE FROM APP.T WHERE V = 20",
                            "2 UPDATE APP.T SET V = 18 WHERE ID = 2",
                            "1 COMMIT",
                            "2 COMMIT"),
                    IsolationCase::bothCommitted),
            new IsolationCase(
                    "G-single, write 2, later",
                    "the same where one is committed before the other one writes",
                    List.of(
                            "1 SELECT ID, V FROM APP.T WHERE ID = 1",
                            "2 SELECT ID, V FROM APP.T",
                            "2 UPDATE APP.T SET V = 12 WHERE ID = 1",
                            "1 DELETE FROM APP.T WHERE V = 20",
                            "1 COMMIT",
                            "2 UPDATE APP.T SET V = 18 WHERE ID = 2",
                            "2 COMMIT"),
                    IsolationCase::bothCommitted),
            new IsolationCase(
                    "G2-item",
                    "write skew: two read two rows, and each writes another one of them",
                    List.of(
                            "1 SELECT ID, V FROM APP.T",
                            "2 SELECT ID, V FROM APP.T",
                            "1 UPDATE APP.T SET V = 11 WHERE ID = 1",
                            "2 UPDATE APP.T SET V = 21 WHERE ID = 2",
                            "1 COMMIT",
                            "2 COMMIT"),
                    IsolationCase::bothCommitted),
            new IsolationCase(
                    "G2",
                    "the same by a condition: each adds a row that the other one's would have",
                    List.of(
                            "1 SELECT ID, V FROM APP.T WHERE MOD(V, 3) = 0",
                            "2 SELECT ID, V FROM APP.T WHERE MOD(V, 3) = 0",
                            "1 INSERT INTO APP.T VALUES (3, 30)",
                            "2 INSERT INTO APP.T VALUES (4, 42)",
                            "1 COMMIT",
                            "2 COMMIT"),
                    IsolationCase::bothCommitted),
            new IsolationCase(
                    "G2, two edges",
                    "a third one that only reads sees what fits to no order of the two",
                    List.of(
                            "1 SELECT ID, V FROM APP.T",
                            "2 UPDATE APP.T SET V = V + 5 WHERE ID = 2",
                            "2 COMMIT",
                            "3 SELECT ID, V FROM APP.T",
                            "3 COMMIT",
                            "1 UPDATE APP.T SET V = 0 WHERE ID = 1",
                            "1 COMMIT"),
                    run -> bothCommitted(run)
                            && run.reads(1).equals(List.of("1=10 2=20"))
                            && run.reads(3).equals(List.of("1=10 2=25"))),
            new IsolationCase(
                    "orphan child",
                    "a parent is removed while another transaction adds a child to it",
                    List.of(
                            "1 DELETE FROM APP.P WHERE ID = 1",
                            "2 INSERT INTO APP.C VALUES (1, 1)",
                            "1 COMMIT",
                            "2 COMMIT"),
                    IsolationCase::bothCommitted),
            LOST_SENT,
            new IsolationCase(
                    "hot row",
                    "of two that count up one row, a count is lost though both are committed",
                    List.of(
                            "1 UPDATE APP.T SET V = V + 1 WHERE ID = 1",
                            "2 UPDATE APP.T SET V = V + 1 WHERE ID = 1",
                            "1 COMMIT",
                            "2 COMMIT"),
                    run -> !run.end().contains("1=" + (10 + (run.committed(1) ? 1 : 0) + (run.committed(2) ? 1 : 0)))));

    private static boolean bothCommitted(Interleaving run) {
        return run.committed(1) && run.committed(2);
    }
}
