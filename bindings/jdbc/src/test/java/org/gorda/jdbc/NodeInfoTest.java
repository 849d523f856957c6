package org.gorda.jdbc;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** What answers at a replica's address may be anything. */
class NodeInfoTest {

    @ParameterizedTest
    @ValueSource(strings = {"C:\\users\\shop=1", "epoch=soon", "history=another"})
    void whatIsNoAnswerOfAReplicaIsSaidToBeNone(String text) {
        assertThatThrownBy(() -> NodeInfo.parse("a:1", text, 0))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("a:1 does not answer like a replica");
    }
}
