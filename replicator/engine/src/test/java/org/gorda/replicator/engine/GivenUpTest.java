package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.junit.jupiter.api.Test;

class GivenUpTest {

    private static final SessionId SESSION = new SessionId(1, 2);

    private final GivenUp givenUp = new GivenUp();

    private static TransactionId id(int number) {
        return new TransactionId(SESSION, number);
    }

    @Test
    void whoIsForgottenDoesNotHappenNorDoesWhoMayBe() {
        for (int i = 1; i <= GivenUp.REMEMBERED_MAX; i++) {
            givenUp.add(id(i), i);
        }
        assertThat(givenUp.mayHold(id(1), 0)).isTrue();
        assertThat(givenUp.mayHold(id(-1), 0)).isFalse();
        givenUp.add(id(GivenUp.REMEMBERED_MAX + 1), GivenUp.REMEMBERED_MAX + 1);
        assertThat(givenUp.mayHold(id(1), 0)).as("forgotten").isTrue();
        assertThat(givenUp.mayHold(id(2), 0)).as("not yet").isTrue();
        assertThat(givenUp.mayHold(id(-1), 0)).as("not to be told from it").isTrue();
        assertThat(givenUp.mayHold(id(-1), 1))
                .as("begun behind what is forgotten")
                .isFalse();
    }
}
