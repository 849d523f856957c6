package org.gorda.bench.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.SplittableRandom;
import org.gorda.replicator.node.NodeClient;
import org.gorda.replicator.node.ReplicaContent;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

class ReplicaChecksTest {

    private final Findings findings = new Findings();
    private final ReplicaChecks checks = new ReplicaChecks(findings);

    private static ReplicaContent content(String replica, String position, String checksum, @Nullable String damage) {
        return new ReplicaContent(1, replica, position, List.of(new ReplicaContent.Table("T", 1, checksum, damage)));
    }

    private void compare(boolean agree, ReplicaContent... contents) {
        checks.compare(new NodeClient.Comparison(agree, agree, List.of(contents), Map.of()));
    }

    @Test
    void replicasThatHoldTheSameAreFine() {
        compare(true, content("a", "1.2", "00", null), content("b", "1.2", "00", null));

        assertThat(findings.counts()).isEmpty();
    }

    @Test
    void damageThatIsTheSameEverywhereIsFound() {
        compare(false, content("a", "1.2", "00", "index I"), content("b", "1.2", "00", "index I"));

        assertThat(findings.counts()).containsOnly(Map.entry("damaged", 1L));
    }

    @Test
    void theSameAtAnotherPositionIsFound() {
        compare(false, content("a", "1.2", "00", null), content("b", "1.3", "00", null));

        assertThat(findings.counts()).containsOnly(Map.entry("damaged", 1L));
    }

    @Test
    void whatDiffersIsFoundOnce() {
        compare(false, content("a", "1.2", "00", null), content("b", "1.2", "01", "index I"));

        assertThat(findings.counts()).containsOnly(Map.entry(Findings.DIVERGED, 1L));
    }

    @Test
    void nobodyIsFound() {
        compare(true);

        assertThat(findings.counts()).containsOnly(Map.entry(Findings.NOT_COMPARED, 1L));
    }

    @Test
    void whatOneReplicaAloneLacksIsFound() throws SQLException {
        SchemaChanges schema = new SchemaChanges(false);
        List<Recorded> history = new ArrayList<>();
        try (Connection a = DriverManager.getConnection("jdbc:derby:memory:checksA;create=true");
                Connection b = DriverManager.getConnection("jdbc:derby:memory:checksB;create=true");
                Statement inA = a.createStatement();
                Statement inB = b.createStatement()) {
            for (String line : schema.schema()) {
                inA.execute(line);
                inB.execute(line);
            }
            SplittableRandom random = new SplittableRandom(1);
            while (history.size() < 100) {
                Operation operation = schema.next(random);
                Outcome outcome = Outcome.OK;
                try {
                    operation.run(a);
                    operation.run(b);
                } catch (SQLException e) {
                    outcome = Outcome.FAILED;
                }
                history.add(new Recorded("schema", operation, 0, 0, 0, outcome, null));
            }
            Map<Workload, List<Recorded>> histories = Map.of(schema, history);
            checks.check("a", a, histories);
            checks.check("b", b, histories);
            assertThat(findings.counts()).isEmpty();

            String index = SchemaChanges.present(b).stream()
                    .filter(thing -> thing.startsWith("I_"))
                    .findFirst()
                    .orElseThrow();
            inB.execute("DROP INDEX " + index);
            checks.check("b", b, histories);
            checks.check("b", b, histories);

            assertThat(findings.counts()).containsOnly(Map.entry(Findings.LOST, 1L), Map.entry(Findings.DIVERGED, 2L));
            assertThat(findings.lines()).first().asString().startsWith("diverged: b has [");
            assertThat(findings.lines()).last().asString().matches("lost: CREATE INDEX " + index + " .*, on b");
        }
    }
}
