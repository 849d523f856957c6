package org.gorda.jdbc;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.SQLException;
import java.time.Duration;
import java.util.Optional;
import org.junit.jupiter.api.Test;

/** The texts are the replica's; RetryTest and CertificationTest have them from there. */
class LostConflictTest {

    private static Optional<LostConflict> of(String message) {
        return LostConflict.of(new SQLException(message, "40001"));
    }

    @Test
    void allFieldsAreRead() {
        assertThat(
                        of(
                                "conflict on \"APP\".\"Ca:fés, key (x)\" key (7.0, a: (b), Braga): transaction "
                                        + "c7587a70-f76e-4313-b0e2-9aa31ba412e0/12 of replica 127.0.0.1:30657, ordered at 122, 31 ms ago, "
                                        + "came first and needed a lock that this one held; this transaction did not happen: run it again"))
                .contains(new LostConflict(
                        "\"APP\".\"Ca:fés, key (x)\"",
                        "(7.0, a: (b), Braga)",
                        "c7587a70-f76e-4313-b0e2-9aa31ba412e0/12",
                        "127.0.0.1:30657",
                        122,
                        Optional.of(Duration.ofMillis(31))));
    }

    @Test
    void whatIsNotKnownIsEmpty() {
        assertThat(of(
                        "conflict on a key of \"APP\".\"T\" or \"APP\".\"U\": a transaction, ordered at 4711, came first; "
                                + "this transaction did not happen: run it again"))
                .contains(new LostConflict("\"APP\".\"T\" or \"APP\".\"U\"", "", "", "", 4711, Optional.empty()));
        assertThat(of("conflict on the schema, which one of the two changed: a transaction, ordered at 3, came first"))
                .contains(new LostConflict("", "", "", "", 3, Optional.empty()));
    }

    @Test
    void itMayBeInWhatFollows() {
        SQLException batch = new SQLException("a batch has failed", "XJ208");
        batch.setNextException(
                new SQLException("conflict on a key of \"A\".\"B\": a transaction, ordered at 5, came first", "40001"));
        assertThat(LostConflict.of(batch)).map(LostConflict::position).contains(5L);
    }

    @Test
    void otherFailuresAreNone() {
        assertThat(of("A lock could not be obtained due to a deadlock")).isEmpty();
        assertThat(LostConflict.of(
                        new SQLException("conflict on a key of \"A\".\"B\": a transaction, ordered at 5, ", "23505")))
                .isEmpty();
    }
}
