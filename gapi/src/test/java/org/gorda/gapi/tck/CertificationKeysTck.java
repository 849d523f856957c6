package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.IntStream;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.WriteSet;
import org.junit.jupiter.api.Test;

/** Write sets say by keys what else they may conflict with. */
public abstract class CertificationKeysTck extends BindingTck {

    @Test
    void certificationKeysSayWhatWasWrittenRemovedAndReferenced() throws SQLException {
        execute(
                "CREATE TABLE P (ID INTEGER NOT NULL PRIMARY KEY, U VARCHAR(10) NOT NULL UNIQUE)",
                "CREATE TABLE C (ID INTEGER NOT NULL PRIMARY KEY, P INTEGER REFERENCES P, V INTEGER)");
        meta.takeWriteSets();
        execute("INSERT INTO P VALUES (1, 'a')");
        execute("INSERT INTO C VALUES (7, 1, 0)");
        execute("INSERT INTO C VALUES (8, NULL, 0)");
        execute("UPDATE C SET V = 1 WHERE ID = 7");
        execute("UPDATE P SET U = 'b '");
        execute("DELETE FROM C WHERE ID = 7");
        execute("DELETE FROM P");
        List<List<String>> keys = new ArrayList<>();
        List<Long> known = new ArrayList<>();
        for (WriteSet writeSet : meta.takeWriteSets()) {
            List<String> names = new ArrayList<>();
            assertThat(schemaKey(writeSet)).isEqualTo(KeyMode.REFERENCED);
            for (int i = 0; i < writeSet.keys(); i++) {
                if (writeSet.keyHash(i) == KeyHasher.SCHEMA) {
                    continue;
                }
                if (!known.contains(writeSet.keyHash(i))) {
                    known.add(writeSet.keyHash(i));
                }
                names.add(writeSet.keyMode(i) + " " + known.indexOf(writeSet.keyHash(i)));
            }
            keys.add(names);
        }
        // 0: P(1), 1: U('a'), 2: C(7), 3: C(8), then U('b').
        assertThat(keys.get(0)).containsExactlyInAnyOrder(KeyMode.WRITTEN + " 0", KeyMode.WRITTEN + " 1");
        assertThat(keys.get(1)).containsExactlyInAnyOrder(KeyMode.WRITTEN + " 2", KeyMode.REFERENCED + " 0");
        assertThat(keys.get(2)).containsExactlyInAnyOrder(KeyMode.WRITTEN + " 3");
        assertThat(keys.get(3)).containsExactlyInAnyOrder(KeyMode.WRITTEN + " 2");
        assertThat(keys.get(4))
                .containsExactlyInAnyOrder(KeyMode.WRITTEN + " 0", KeyMode.REMOVED + " 1", KeyMode.WRITTEN + " 4");
        assertThat(keys.get(5)).containsExactlyInAnyOrder(KeyMode.REMOVED + " 2");
        assertThat(keys.get(6)).containsExactlyInAnyOrder(KeyMode.REMOVED + " 0", KeyMode.REMOVED + " 4");
        execute("CREATE INDEX V ON C (V)");
        assertThat(schemaKey(meta.takeWriteSets().get(0))).isEqualTo(KeyMode.REMOVED);
    }

    private static KeyMode schemaKey(WriteSet writeSet) {
        return IntStream.range(0, writeSet.keys())
                .filter(i -> writeSet.keyHash(i) == KeyHasher.SCHEMA)
                .mapToObj(writeSet::keyMode)
                .reduce((one, other) -> {
                    throw new AssertionError("two");
                })
                .orElseThrow();
    }

    @Test
    void uniqueIndexesHaveCertificationKeysToo() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, U INTEGER, A INTEGER UNIQUE)",
                "CREATE UNIQUE INDEX U ON T (U)");
        meta.takeWriteSets();
        execute("INSERT INTO T VALUES (1, NULL, NULL)");
        execute("DELETE FROM T");
        execute("INSERT INTO T VALUES (2, NULL, NULL)");
        List<List<Long>> keys = new ArrayList<>();
        for (WriteSet writeSet : meta.takeWriteSets()) {
            keys.add(IntStream.range(0, writeSet.keys())
                    .mapToObj(writeSet::keyHash)
                    .filter(key -> key != KeyHasher.SCHEMA)
                    .toList());
        }
        // The index holds one NULL at most, the constraint any number.
        assertThat(keys.get(0)).hasSize(2);
        assertThat(keys.get(1)).containsExactlyInAnyOrderElementsOf(keys.get(0));
        assertThat(keys.get(2)).hasSize(2).containsAnyElementsOf(keys.get(0));
    }
}
