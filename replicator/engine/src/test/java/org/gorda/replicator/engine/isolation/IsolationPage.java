package org.gorda.replicator.engine.isolation;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.util.Map;
import java.util.NavigableMap;
import java.util.Set;
import java.util.TreeMap;

/** The tables of docs/isolation.md: which anomalies are possible on what replicas, by the level that each transaction has asked for. */
public final class IsolationPage {

    private static final NavigableMap<Integer, String> LEVELS = new TreeMap<>(Map.of(
            Connection.TRANSACTION_READ_UNCOMMITTED, "READ UNCOMMITTED",
            Connection.TRANSACTION_READ_COMMITTED, "READ COMMITTED",
            Connection.TRANSACTION_REPEATABLE_READ, "REPEATABLE READ",
            Connection.TRANSACTION_SERIALIZABLE, "SERIALIZABLE"));

    /** What became of a schedule. */
    public enum Outcome {
        PREVENTED,
        POSSIBLE,
        REFUSED;

        @Override
        public String toString() {
            return this == POSSIBLE ? "**possible**" : this == PREVENTED ? "prevented" : "refused";
        }
    }

    /** Where its transactions are. */
    public interface Place {
        Outcome outcome(IsolationCase schedule, int level) throws SQLException;
    }

    /** Readers give way quickly. */
    private final IsolationReplicas everywhere;

    /** On one replica readers do not give way: one of them can hold up what it hears of the others. */
    private final IsolationReplicas patient;

    private final int held;

    /**
     * Has three replicas of each.
     *
     * @param held the patient one
     */
    public IsolationPage(IsolationReplicas everywhere, IsolationReplicas patient, int held) {
        this.everywhere = everywhere;
        this.patient = patient;
        this.held = held;
    }

    private static Outcome run(IsolationReplicas replicas, IsolationCase schedule, int level, int held, int... where)
            throws SQLException {
        try (Interleaving run = new Interleaving(replicas, level, held, where).run(schedule)) {
            Set<String> failures = run.failures();
            if (failures.contains("0A000")) {
                return Outcome.REFUSED;
            }
            assertThat(failures)
                    .as("%s at %s", schedule.name(), LEVELS.get(level))
                    .isSubsetOf("40001", "40P01", "23503");
            return schedule.anomaly().test(run) ? Outcome.POSSIBLE : Outcome.PREVENTED;
        }
    }

    /** Each commit is shown everywhere before the next statement, or one of the two replicas hears nothing of the others till the end. */
    public Outcome acrossReplicas(IsolationCase schedule, int level) throws SQLException {
        int other = (held + 2) % 3;
        int third = (held + 1) % 3;
        Outcome outcome = run(everywhere, schedule, level, Interleaving.NONE, 0, 1, 2);
        if (outcome == Outcome.PREVENTED) {
            outcome = run(patient, schedule, level, held, held, other, third);
        }
        return outcome == Outcome.PREVENTED ? run(patient, schedule, level, held, other, held, third) : outcome;
    }

    public Outcome onOneReplica(IsolationCase schedule, int level) throws SQLException {
        return run(everywhere, schedule, level, Interleaving.NONE, 1, 1, 1);
    }

    /** Each on the only replica. */
    public static Place on(IsolationReplicas primary) {
        return (schedule, level) -> run(primary, schedule, level, Interleaving.NONE, 0, 0, 0);
    }

    /** What the anomalies are. */
    public static String anomalies() {
        StringBuilder page = new StringBuilder("\n## The anomalies\n\n| | What goes wrong |\n|---|---|\n");
        IsolationCase.ALL.forEach(one -> page.append("| ")
                .append(one.name())
                .append(" | ")
                .append(one.meaning())
                .append(" |\n"));
        return page.toString();
    }

    /**
     * One table, of all levels from the weakest one on.
     *
     * @param weakest as {@link Connection} has it
     */
    public static String table(String title, int weakest, Place place) throws SQLException {
        Map<Integer, String> levels = LEVELS.tailMap(weakest, true);
        StringBuilder page = new StringBuilder("\n## ").append(title).append("\n\n| |");
        levels.values().forEach(level -> page.append(' ').append(level).append(" |"));
        page.append("\n|---|").append("---|".repeat(levels.size())).append('\n');
        for (IsolationCase schedule : IsolationCase.ALL) {
            page.append("| ").append(schedule.name()).append(" |");
            for (int level : levels.keySet()) {
                page.append(' ').append(place.outcome(schedule, level)).append(" |");
            }
            page.append('\n');
        }
        return page.toString();
    }

    /** Fails unless the page has these tables, and writes them there. */
    public static void require(String test, String tables) throws IOException {
        String begin = "<!-- from here on written by " + test + " -->\n";
        String end = "\n<!-- up to here -->";
        Path file = Path.of("..", "..", "docs", "isolation.md").toRealPath();
        String before = Files.readString(file);
        assertThat(before).contains(begin);
        int from = before.indexOf(begin) + begin.length();
        String after = before.substring(0, from) + tables + before.substring(before.indexOf(end, from));
        if (!after.equals(before)) {
            Files.writeString(file, after);
        }
        assertThat(before)
                .as(
                        "docs/isolation.md was out of date; its tables are right now: see that its words are, too, and commit it")
                .isEqualTo(after);
    }
}
