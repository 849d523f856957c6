package org.gorda.replicator.simulator;

import java.util.List;
import java.util.SplittableRandom;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.gorda.replicator.core.Outcome;
import org.gorda.replicator.simulator.ClientTransaction.Answer;
import org.jspecify.annotations.Nullable;

/**
 * Moves money, one transaction after the other, on the replica that it takes for the primary. When it is in doubt about one, it asks
 * any replica until it knows. Confined to one thread.
 */
final class SimulatedClient {

    private static final long THINK_NANOS_MAX = 60_000_000L;
    private static final long ANSWER_NANOS = 4_000_000_000L;
    private static final long ASK_AGAIN_NANOS = 1_500_000_000L;
    private static final long DOUBT_NANOS_MAX = 3_000_000_000L;
    private static final int CHANGES_SCHEMA_OF = 12;
    private static final int READS_OF = 3;
    private static final int COUNTS_OF = 4;
    private static final List<Intent.Change> CHANGES =
            List.of(Intent.Change.NOTHING, Intent.Change.RENAME, Intent.Change.MOVE, Intent.Change.OPEN);
    private static final double GIVES_UP_NAME = 0.5;

    /** Often, because a branch cannot be closed before all have left it. */
    private static final double LEAVES_BRANCH = 0.75;

    private static final double ANSWER_LOST = 0.01;
    private static final double ASKS_ANYWAY = 0.02;

    private final SimulatedCluster cluster;
    private final SplittableRandom random;
    private final SplittableRandom schemaRandom;
    private final SplittableRandom readRandom;
    private final SplittableRandom countRandom;
    private final SplittableRandom changeRandom;
    private final SessionId session;
    private SimulatedHost target;
    private long number;

    /** Tells answers apart: only the one to the latest question counts. */
    private long question;

    private @Nullable TransactionId current;
    private boolean succeeded;

    SimulatedClient(SimulatedCluster cluster, int number) {
        this.cluster = cluster;
        this.random = cluster.simulation.random("client " + number);
        this.schemaRandom = cluster.simulation.random("schema " + number);
        this.readRandom = cluster.simulation.random("reads " + number);
        this.countRandom = cluster.simulation.random("counts " + number);
        this.changeRandom = cluster.simulation.random("changes " + number);
        this.session = new SessionId(random.nextLong(), random.nextLong());
        this.target = cluster.anyHost(random);
    }

    /** Whether the latest transaction's outcome is known. */
    boolean isSure() {
        return current == null;
    }

    boolean hasSucceeded() {
        return succeeded;
    }

    /** Goes on until the cluster is calm. */
    void run() {
        cluster.simulation.schedule(random.nextLong(THINK_NANOS_MAX), "client", () -> {
            if (cluster.chaos && cluster.lastTransaction < cluster.scenario.last()) {
                if (++cluster.lastTransaction < cluster.scenario.first()) {
                    run();
                } else {
                    begin(this::run);
                }
            }
        });
    }

    /** Tries until one transaction is committed. */
    void succeed() {
        succeeded = false;
        cluster.simulation.schedule(random.nextLong(THINK_NANOS_MAX), "last", () -> begin(this::succeedUnlessDone));
    }

    private void succeedUnlessDone() {
        if (!succeeded) {
            succeed();
        }
    }

    private void begin(Runnable next) {
        TransactionId id = new TransactionId(session, ++number);
        current = id;
        cluster.witness.begins(id);
        Intent intent = intent(id);
        long asked = ++question;
        SimulatedReplica replica = target.replica;
        if (replica == null) {
            target = cluster.anyHost(random);
            end(id, false, next);
            return;
        }
        replica.execute(
                intent,
                answer -> reply(() -> {
                    if (question == asked) {
                        answered(id, answer, next);
                    }
                }));
        cluster.simulation.schedule(ANSWER_NANOS, "no answer", () -> {
            if (question == asked) {
                ask(id, next);
            }
        });
    }

    private Intent intent(TransactionId id) {
        int from = random.nextInt(SimulatedBank.ACCOUNTS);
        int to = (from + 1 + random.nextInt(SimulatedBank.ACCOUNTS - 1)) % SimulatedBank.ACCOUNTS;
        long amount = 1L + random.nextInt(100);
        if (cluster.changesSchema && schemaRandom.nextInt(CHANGES_SCHEMA_OF) == 0) {
            return new Intent(id, from, from, 0, Intent.NONE, Intent.NONE, Intent.Change.NOTHING, Intent.NONE);
        }
        Intent.Change change = CHANGES.get(changeRandom.nextInt(CHANGES.size()));
        return new Intent(id, from, to, amount, read(from, to), counted(), change, subject(change));
    }

    private int subject(Intent.Change change) {
        return switch (change) {
            case NOTHING -> Intent.NONE;
            case RENAME -> subjectOrNone(SimulatedBank.NAMES, GIVES_UP_NAME);
            case MOVE -> subjectOrNone(SimulatedBank.BRANCHES, LEAVES_BRANCH);
            case OPEN, CLOSE -> changeRandom.nextInt(SimulatedBank.BRANCHES);
        };
    }

    private int subjectOrNone(int count, double none) {
        return changeRandom.nextDouble() < none ? Intent.NONE : changeRandom.nextInt(count);
    }

    /** Another account, which is read and must not have changed until the commit; often there is none. */
    private int read(int from, int to) {
        int account = readRandom.nextInt(READS_OF * SimulatedBank.ACCOUNTS);
        return account >= SimulatedBank.ACCOUNTS || account == from || account == to ? Intent.NONE : account;
    }

    private int counted() {
        return countRandom.nextInt(COUNTS_OF) == 0 ? countRandom.nextInt(SimulatedBank.BRANCHES) : Intent.NONE;
    }

    /** An answer is on its way, or lost. */
    private void reply(Runnable arrival) {
        if (!cluster.chaos || random.nextDouble() >= ANSWER_LOST) {
            cluster.simulation.schedule(random.nextLong(1_000_000), "reply", arrival);
        }
    }

    private void answered(TransactionId id, Answer answer, Runnable next) {
        question++;
        cluster.simulation.note(answer.name());
        if (answer == Answer.UNKNOWN && cluster.flaw != Flaw.TAKES_UNKNOWN_FOR_ABORTED) {
            cluster.simulation.schedule(random.nextLong(DOUBT_NANOS_MAX), "in doubt", () -> ask(id, next));
            return;
        }
        if (answer != Answer.COMMITTED) {
            target = cluster.anyHost(random);
        }
        boolean committed = answer == Answer.COMMITTED;
        if (random.nextDouble() < ASKS_ANYWAY) {
            // Whoever knows already is told the same.
            cluster.witness.told(id, committed);
            ask(id, next);
        } else {
            end(id, committed, next);
        }
    }

    private void ask(TransactionId id, Runnable next) {
        cluster.inDoubt++;
        askAgain(id, next);
    }

    private void askAgain(TransactionId id, Runnable next) {
        target = cluster.anyHost(random);
        long asked = ++question;
        SimulatedReplica replica = target.replica;
        if (replica != null) {
            replica.close(
                    id,
                    0,
                    outcome -> reply(() -> {
                        if (question == asked) {
                            question++;
                            closed(id, outcome, next);
                        }
                    }));
        }
        cluster.simulation.schedule(ASK_AGAIN_NANOS, "no outcome", () -> {
            if (question == asked) {
                askAgain(id, next);
            }
        });
    }

    private void closed(TransactionId id, Outcome outcome, Runnable next) {
        cluster.simulation.note(outcome.name());
        if (outcome == Outcome.FORGOTTEN) {
            cluster.simulation.broken("the outcome of " + id + " is forgotten, although it is the last of its session");
        }
        end(id, outcome == Outcome.COMMITTED, next);
    }

    private void end(TransactionId id, boolean committed, Runnable next) {
        question++;
        current = null;
        succeeded |= committed;
        cluster.witness.told(id, committed);
        next.run();
    }
}
