package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.sql.Connection;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.isolation.Rivals;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Where all replicas take writes: the same value of a unique key on two of them, which may be checked late. */
@Timeout(180)
class LateChecksTest {

    private static final int ATTEMPTS = 200;

    @TempDir
    Path directory;

    @ParameterizedTest
    @ValueSource(strings = {"DEFERRABLE INITIALLY DEFERRED", "DEFERRABLE", ""})
    void oneOfTwoIsCommitted(String when) throws Exception {
        try (Cluster cluster =
                        new Cluster(directory, 3, builder -> builder.protocol(ReplicationProtocol.CERTIFICATION));
                Connection first = cluster.connect(0);
                Connection second = cluster.connect(1)) {
            cluster.execute(
                    "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, E INTEGER NOT NULL, CONSTRAINT U UNIQUE (E) "
                            + when + ")");
            cluster.awaitEverywhere();
            int committed = Rivals.committed(
                    first,
                    second,
                    ATTEMPTS,
                    (i, isSecond) -> "INSERT INTO T VALUES (" + (2 * i + (isSecond ? 1 : 0)) + ", " + i + ")");
            assertThat(committed).as("attempts of which one was committed").isGreaterThan(ATTEMPTS / 2);
            cluster.assertIdentical();
            assertThat(cluster.count(0, "T")).isEqualTo(committed);
        }
    }
}
