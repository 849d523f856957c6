package org.gorda.replicator.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileAttribute;
import java.nio.file.attribute.PosixFilePermissions;

/** What a replica keeps beside its database, all of whose rows can be in there: nobody else on the machine is to read it. */
final class PrivateDirectory {

    private PrivateDirectory() {}

    /** Makes it, and those above it, unless it is there: then whoever made it has decided. */
    static void make(Path directory) throws IOException {
        boolean isPosix =
                directory.getFileSystem().supportedFileAttributeViews().contains("posix");
        FileAttribute<?>[] mode = isPosix
                ? new FileAttribute<?>[] {
                    PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rwx------"))
                }
                : new FileAttribute<?>[0];
        Files.createDirectories(directory, mode);
    }
}
