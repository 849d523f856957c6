package org.gorda.bindings.h2;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.ReplicaException;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** No replica runs on H2 as long as the binding lacks what it needs. */
class H2ReplicasTest {

    @TempDir
    Path directory;

    @ParameterizedTest
    @EnumSource(
            value = ReplicationProtocol.class,
            names = {"PRIMARY_BACKUP", "ASYNCHRONOUS", "CERTIFICATION"})
    void protocolsThatNeedMoreAreRefused(ReplicationProtocol protocol) {
        String member = "127.0.0.1:" + LoopbackPorts.free(1).get(0);
        assertThatThrownBy(() -> Replica.builder()
                        .database("h2", directory.resolve("database").toString())
                        .self(member)
                        .members(member)
                        .protocol(protocol)
                        .start())
                .isInstanceOf(ReplicaException.class)
                .hasMessageContaining("SNAPSHOT");
    }
}
