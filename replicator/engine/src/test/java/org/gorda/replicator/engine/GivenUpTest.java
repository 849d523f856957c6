package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.gorda.replicator.core.ReplicaCore;
import org.junit.jupiter.api.Test;

class GivenUpTest {

    private static final SessionId SESSION = new SessionId(1, 2);

    private final GivenUp givenUp = new GivenUp();

    private static TransactionId id(int number) {
        return new TransactionId(SESSION, number);
    }

    @Test
    void whoIsForgottenDoesNotHappenNorDoesWhoMayBe() {
        long late = GivenUp.REMEMBERED_MAX + ReplicaCore.OUTCOMES_KEPT + 100;
        for (int i = 1; i <= GivenUp.REMEMBERED_MAX; i++) {
            givenUp.add(id(i), i);
        }
        assertThat(givenUp.mayHold(id(1), 0, late)).isTrue();
        assertThat(givenUp.mayHold(id(-1), 0, late)).isFalse();
        givenUp.add(id(GivenUp.REMEMBERED_MAX + 1), GivenUp.REMEMBERED_MAX + 1);
        assertThat(givenUp.mayHold(id(1), 0, late)).as("forgotten").isTrue();
        assertThat(givenUp.mayHold(id(2), 0, late)).as("not yet").isTrue();
        assertThat(givenUp.mayHold(id(-1), 0, late))
                .as("not to be told from it")
                .isTrue();
        assertThat(givenUp.mayHold(id(-1), 1, late))
                .as("begun behind what is forgotten")
                .isFalse();
        assertThat(givenUp.mayHold(id(-1), 0, ReplicaCore.OUTCOMES_KEPT))
                .as("the group knows")
                .isFalse();
    }
}
