package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.CompletableFuture;
import java.util.regex.Pattern;
import org.junit.jupiter.api.Test;

/** A thread that gives way to others, and no other thread of its process with it. */
class LowPriorityTest {

    private static final Path STAT = Path.of("/proc/thread-self/stat");
    private static final Pattern SPACES = Pattern.compile(" ");

    /** As Linux tells it, behind the name in parentheses. */
    private static int niceness() {
        try {
            String stat = Files.readString(STAT);
            return Integer.parseInt(SPACES.splitAsStream(stat.substring(stat.lastIndexOf(')') + 2))
                    .skip(16)
                    .findFirst()
                    .orElseThrow());
        } catch (IOException e) {
            throw new AssertionError(e);
        }
    }

    @Test
    void itIsOfTheThreadAlone() {
        assumeTrue(Files.exists(STAT));
        int before = niceness();
        CompletableFuture<Integer> low = new CompletableFuture<>();
        Thread thread = new Thread(() -> {
            LowPriority.here();
            low.complete(niceness());
        });
        thread.start();
        assertThat(low.join()).isGreaterThanOrEqualTo(10);
        assertThat(niceness()).isEqualTo(before);
    }
}
