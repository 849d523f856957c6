package org.gorda.bench.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.SplittableRandom;
import java.util.function.Predicate;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** Each check finds nothing in what the engine alone has done, and then what is planted. */
class ChecksTest {

    private static final int TRANSACTIONS = 300;

    private static Isolation level(SplittableRandom random) {
        return Isolation.READ_COMMITTED;
    }

    private static EngineAlone loaded(Workload workload) throws SQLException {
        EngineAlone alone = new EngineAlone(workload);
        alone.run(TRANSACTIONS);
        assertThat(alone.history()).extracting(Recorded::outcome).contains(Outcome.OK);
        assertThat(alone.found()).isEmpty();
        return alone;
    }

    private static Predicate<Operation> saying(String function, String value) {
        return operation -> operation.function().equals(function)
                && Pattern.compile(value).matcher(operation.value(true)).find();
    }

    private static Predicate<Operation> about(String function, Recorded other) {
        return saying(function, ":nr " + number(other) + "[ ,}]");
    }

    /** The first that is in it. */
    private static String number(Recorded one) {
        Matcher number = Pattern.compile("\\d+").matcher(one.operation().value(true));
        assertThat(number.find()).isTrue();
        return number.group();
    }

    /** What is made or dropped. */
    private static String thing(Recorded one) {
        Matcher thing = Pattern.compile("[CIT]_\\d+").matcher(one.operation().value(true));
        assertThat(thing.find()).isTrue();
        return thing.group();
    }

    @Test
    void orders() throws SQLException {
        try (EngineAlone alone = loaded(new Orders(Dialect.DERBY, ChecksTest::level))) {
            Recorded cancellation = alone.last(Outcome.OK, saying("cancel", ":found 1"));
            Recorded cancelled = alone.last(Outcome.OK, about("place", cancellation));
            Recorded read = alone.last(Outcome.OK, saying("read", ":size [1-9]"));
            Recorded seen = alone.last(Outcome.OK, about("place", read));
            Recorded last = alone.last(Outcome.OK, saying("place", ""));
            String delete = "DELETE FROM ORDERS WHERE NR = ";

            assertThat(alone.foundAfter("DELETE FROM ORDERS")).containsExactly(Findings.LOST);
            assertThat(alone.foundAfter("DELETE FROM ORDER_LINES WHERE LINE = 0"))
                    .containsExactly("in part");
            assertThat(alone.foundAfter("UPDATE ORDER_LINES SET CONTENT = ''")).containsExactly("in part");
            assertThat(alone.foundAfter("INSERT INTO ORDERS (NR, SIZE) VALUES (0, 0)"))
                    .containsExactly("from nowhere");
            assertThat(alone.foundAfter("INSERT INTO ORDERS (NR, SIZE) VALUES (" + number(cancellation) + ", 0)"))
                    .containsExactly("another id", "in part", Findings.LOST);
            assertThat(alone.foundIfTold(last, Outcome.FAILED)).containsExactly("resurrected");
            assertThat(alone.foundIfTold(cancelled, Outcome.FAILED))
                    .as("cancelled by another one")
                    .containsExactly("resurrected");
            assertThat(alone.foundIfTold(seen, Outcome.FAILED, delete + number(seen)))
                    .as("seen")
                    .containsExactly("resurrected");
            assertThat(alone.foundIfTold(cancellation, Outcome.FAILED)).containsExactly(Findings.LOST);
            assertThat(alone.foundOfOneMore(saying("read", ""), "DELETE FROM ORDER_LINES"))
                    .containsExactly("read skew");
            alone.history().add(cancellation);
            assertThat(alone.found()).containsExactly(Findings.DUPLICATED);
        }
    }

    @Test
    void schema() throws SQLException {
        try (EngineAlone alone = loaded(new SchemaChanges(false))) {
            Recorded drop = alone.last(Outcome.OK, saying("drop", "TABLE"));
            Recorded dropped = alone.last(Outcome.OK, saying("create", thing(drop) + " "));
            Recorded column = alone.last(Outcome.OK, saying("insert", "C_"));
            Recorded row = alone.last(Outcome.OK, saying("insert", ""));

            assertThat(alone.foundAfter("DELETE FROM EVOLVING")).containsExactly(Findings.LOST);
            assertThat(alone.foundAfter("UPDATE EVOLVING SET N = 10")).containsExactly("in part");
            assertThat(alone.foundAfter("UPDATE EVOLVING SET " + thing(column) + " = NULL"))
                    .containsExactly("in part");
            assertThat(alone.foundAfter("CREATE TABLE T_0 (I INTEGER)")).containsExactly("from nowhere");
            assertThat(alone.foundAfter("CREATE TABLE " + thing(drop) + " (I INTEGER)"))
                    .containsExactly(Findings.LOST);
            assertThat(alone.foundAfter("ALTER TABLE EVOLVING DROP COLUMN " + thing(column)))
                    .containsExactly(Findings.LOST);
            assertThat(alone.foundIfTold(row, Outcome.FAILED)).containsExactly("resurrected");
            assertThat(alone.foundIfTold(drop, Outcome.FAILED)).containsExactly(Findings.LOST);
            assertThat(alone.foundIfTold(dropped, Outcome.FAILED, "CREATE TABLE " + thing(drop) + " (I INTEGER)"))
                    .containsExactly("resurrected");
            assertThat(alone.foundIfTold(dropped, Outcome.FAILED))
                    .as("dropped by another one")
                    .containsExactly("resurrected");
            alone.history().add(drop);
            assertThat(alone.found()).containsExactly(Findings.DUPLICATED);
        }
    }

    @Test
    void bank() throws SQLException {
        try (EngineAlone alone = loaded(new BankTransfers(Dialect.DERBY, ChecksTest::level))) {
            String more = "UPDATE \"The Bank\".\"Account\" SET \"Balance\" = \"Balance\" + 1 WHERE ID = 0";
            String less = "UPDATE \"The Bank\".\"Account\" SET \"Balance\" = \"Balance\" - 1 WHERE ID = 1";
            Recorded transfer = alone.last(Outcome.OK, saying("transfer", ""));

            assertThat(alone.foundAfter(more)).containsExactly("lost update", "money made or lost");
            assertThat(alone.foundAfter(more, less)).containsExactly("lost update");
            assertThat(alone.foundAfter("DELETE FROM \"The Bank\".\"Transfer\""))
                    .containsExactly(Findings.LOST, "lost update");
            assertThat(alone.foundAfter("INSERT INTO \"The Bank\".\"Transfer\" VALUES (0, 0, 1, 0)"))
                    .containsExactly("from nowhere");
            assertThat(alone.foundIfTold(transfer, Outcome.FAILED)).containsExactly("resurrected");
            assertThat(alone.foundOfOneMore(saying("total", ""), more)).containsExactly("read skew");
        }
    }

    @Test
    void uniqueNames() throws SQLException {
        try (EngineAlone alone = loaded(new UniqueNames(ChecksTest::level))) {
            Recorded claim = alone.last(Outcome.OK, saying("claim", ""));
            Recorded refused = alone.last(Outcome.FAILED, saying("claim", ""));

            assertThat(alone.foundAfter("DELETE FROM NAMES")).containsExactly(Findings.LOST);
            assertThat(alone.foundAfter("INSERT INTO NAMES VALUES (0, 'another')"))
                    .containsExactly("from nowhere");
            assertThat(alone.foundIfTold(claim, Outcome.FAILED)).containsExactly("resurrected");
            assertThat(alone.foundIfTold(refused, Outcome.OK)).containsExactly(Findings.DUPLICATED, Findings.LOST);
        }
    }

    @Test
    void skewPairs() throws SQLException {
        try (EngineAlone alone = loaded(new SkewPairs())) {
            assertThat(alone.foundAfter("UPDATE DUTY SET ON_DUTY = 0 WHERE PAIR = 3"))
                    .containsExactly("write skew");
            assertThat(alone.foundOfOneMore(saying("turn", ""), "UPDATE DUTY SET ON_DUTY = 0"))
                    .containsExactly("write skew");
        }
    }
}
