package org.gorda.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class ReplicaProcessTest {

    @TempDir
    private Path directory;

    private ReplicaProcess process(String script) {
        return new ReplicaProcess("replica 1", directory, "", "", "", List.of("sh", "-c", script), null);
    }

    private static void run(ReplicaProcess process) {
        process.start();
        while (process.isAlive()) {
            Thread.onSpinWait();
        }
    }

    @Test
    void lastWordsAreKeptThoughNoFileCanGrow() {
        ReplicaProcess process = process("ulimit -f 0; echo 'Make room, then start this replica again.'; exit 1");
        run(process);
        assertThat(process.lastOutput()).contains("start this replica again");
    }

    @Test
    void whatAnEarlierRunSaidIsNotOfTheLastOne() {
        String first = directory.resolve("first").toString();
        ReplicaProcess process = process("test -e " + first + " || { touch " + first
                + "; echo 'Make room'; exit 1; }; echo 'an invariant is broken'; exit 1");
        run(process);
        assertThat(process.lastOutput()).contains("Make room");
        run(process);
        assertThat(process.lastOutput()).doesNotContain("Make room").contains("an invariant is broken");
        assertThat(process.output()).contains("Make room", "an invariant is broken");
    }
}
