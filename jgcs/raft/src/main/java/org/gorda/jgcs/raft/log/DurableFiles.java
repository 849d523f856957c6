package org.gorda.jgcs.raft.log;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.channels.ClosedByInterruptException;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import org.jspecify.annotations.Nullable;

/** Durable changes of whole files and of directories. */
final class DurableFiles {

    private DurableFiles() {}

    /** Replaces a file by new content, atomically and on disk when it returns. */
    static void replace(Path path, byte[] content) throws IOException {
        Path temporary = path.resolveSibling(path.getFileName() + ".new");
        try (FileOutputStream out = new FileOutputStream(temporary.toFile())) {
            out.write(content);
            out.getFD().sync();
        }
        Files.move(temporary, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        forceDirectory(path.toAbsolutePath().getParent());
    }

    /** Makes creations, renames and deletions in a directory durable, where the platform lets a directory be opened. */
    static void forceDirectory(@Nullable Path directory) throws IOException {
        if (directory == null || System.getProperty("os.name", "").startsWith("Windows")) {
            return;
        }
        // Any client's thread may come here, and an interrupt closes the channel it uses: that is not a failed disk.
        boolean interrupted = Thread.interrupted();
        try {
            while (true) {
                try (FileChannel channel = FileChannel.open(directory, StandardOpenOption.READ)) {
                    channel.force(true);
                    return;
                } catch (ClosedByInterruptException e) {
                    interrupted |= Thread.interrupted();
                }
            }
        } finally {
            if (interrupted) {
                Thread.currentThread().interrupt();
            }
        }
    }
}
