package org.gorda.cli;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.gorda.gapi.FileTree;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.replicator.core.ReplicationProtocol;
import org.gorda.replicator.engine.Replica;
import org.junit.jupiter.api.extension.BeforeAllCallback;
import org.junit.jupiter.api.extension.ExtensionContext;

/**
 * Has Derby started by GORDA before any test uses it: otherwise it would depend on which one comes first whether others can have replicas in this process.
 * Found by name, for all tests of this module. Thread-safe.
 */
public final class DerbyByGorda implements BeforeAllCallback {

    private static boolean started;

    @Override
    public void beforeAll(ExtensionContext context) throws IOException {
        start();
    }

    private static synchronized void start() throws IOException {
        if (started) {
            return;
        }
        Path directory = Files.createTempDirectory("gorda");
        String self = "127.0.0.1:" + LoopbackPorts.free(1).get(0);
        Replica.builder()
                .database("derby", directory.resolve("bank").toString())
                .protocol(ReplicationProtocol.LOOPBACK)
                .self(self)
                .members(self)
                .start()
                .close();
        FileTree.delete(directory);
        started = true;
    }
}
