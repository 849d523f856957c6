package org.gorda.bindings.triggers;

import java.io.IOException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.gorda.gapi.ReflectionException;

/** The hold of one replica on a database's directory, for databases that do not keep others out. It ends with the process. Thread-safe. */
public final class DirectoryLock implements AutoCloseable {

    private static final String FILE = "database.lock";

    private final Path directory;
    private final FileChannel channel;

    private DirectoryLock(Path directory, FileChannel channel) {
        this.directory = directory;
        this.channel = channel;
    }

    /**
     * Takes hold of a directory, which is made if it is not there.
     *
     * @throws ReflectionException if another has it
     */
    public static DirectoryLock take(Path directory) {
        try {
            Files.createDirectories(directory);
            FileChannel channel =
                    FileChannel.open(directory.resolve(FILE), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
            try {
                FileLock held = channel.tryLock();
                if (held == null) {
                    throw new ReflectionException(directory + " is open already in another process");
                }
                return new DirectoryLock(directory, channel);
            } catch (IOException | RuntimeException e) {
                channel.close();
                throw e;
            }
        } catch (OverlappingFileLockException e) {
            throw new ReflectionException(directory + " is open already in this process", e);
        } catch (IOException e) {
            throw new ReflectionException("the directory " + directory + " cannot be used: " + e, e);
        }
    }

    @Override
    public void close() {
        try {
            channel.close();
        } catch (IOException e) {
            throw new ReflectionException(directory + " cannot be let go of: " + e, e);
        }
    }
}
