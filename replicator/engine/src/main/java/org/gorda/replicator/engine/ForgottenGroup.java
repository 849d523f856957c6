package org.gorda.replicator.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.gorda.jgcs.GroupId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Which group the rows of a database were of before a person had it forget that, kept in the replica's directory: clients of that group may go on with
 * the one that begins with these rows, and with no other.
 */
final class ForgottenGroup {

    private static final Logger LOG = LoggerFactory.getLogger(ForgottenGroup.class);
    private static final String FILE = "continues";

    private ForgottenGroup() {}

    static void write(Path directory, GroupId group) throws IOException {
        PrivateDirectory.make(directory);
        Files.writeString(directory.resolve(FILE), group.toString());
    }

    /** Null if there is none. */
    static @Nullable GroupId read(Path directory) {
        Path file = directory.resolve(FILE);
        try {
            return Files.exists(file) ? GroupId.parse(Files.readString(file).strip()) : null;
        } catch (IOException | IllegalArgumentException e) {
            LOG.warn(
                    "{} cannot be read ({}): programs that were clients of the group before this one have to be started again",
                    file,
                    e.getMessage());
            return null;
        }
    }
}
