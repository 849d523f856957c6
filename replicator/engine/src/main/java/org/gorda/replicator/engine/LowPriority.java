package org.gorda.replicator.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.concurrent.TimeUnit;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Work that should take only what others leave of the processors. Java has no means for that on Linux, whose {@code renice} is used; on other systems nothing
 * changes. Stateless.
 */
final class LowPriority {

    private static final Logger LOG = LoggerFactory.getLogger(LowPriority.class);

    /** About a tenth of what another thread gets: enough to give up soon what others wait for. */
    private static final String NICENESS = "10";

    private static final Path THIS_THREAD = Path.of("/proc/thread-self");

    private LowPriority() {}

    /** Has the calling thread, and those that it starts, come behind others up to its end: there is no way back. */
    static void here() {
        try {
            if (!Files.isSymbolicLink(THIS_THREAD)) {
                return;
            }
            String thread = String.valueOf(Files.readSymbolicLink(THIS_THREAD).getFileName());
            Process renice = new ProcessBuilder("renice", "-n", NICENESS, "-p", thread)
                    .redirectErrorStream(true)
                    .redirectOutput(ProcessBuilder.Redirect.DISCARD)
                    .start();
            if (!renice.waitFor(1, TimeUnit.SECONDS)) {
                renice.destroyForcibly();
            }
        } catch (IOException | UnsupportedOperationException e) {
            LOG.debug("this thread works like any other", e);
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        }
    }
}
