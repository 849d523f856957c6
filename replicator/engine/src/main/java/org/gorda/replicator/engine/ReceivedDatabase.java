package org.gorda.replicator.engine;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.function.Consumer;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.FileTree;
import org.gorda.gapi.ReflectionException;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.MemberId;
import org.gorda.replicator.core.ReplicaCore;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a joiner has received so far, below {@code received} in the replica's directory, so that a restart goes on with it. Once all is
 * there, the database here is replaced by it before it is opened. Confined to one thread at a time.
 */
final class ReceivedDatabase {

    private static final Logger LOG = LoggerFactory.getLogger(ReceivedDatabase.class);

    /** In what a donor gives: a {@link CheckpointFile}'s directory, and that of a snapshot or of rows. */
    static final String STATE = "state";

    static final String SNAPSHOT = "snapshot";
    static final String ROWS = "rows";

    private final Path replicaDirectory;
    private final Path directory;
    private final Path content;
    private final Path donorFile;
    private final Path offerFile;
    private final Path completeFile;

    ReceivedDatabase(Path replicaDirectory) {
        this.replicaDirectory = replicaDirectory;
        this.directory = replicaDirectory.resolve("received");
        this.content = directory.resolve("content");
        this.donorFile = directory.resolve("donor");
        this.offerFile = directory.resolve("offer");
        this.completeFile = directory.resolve("complete");
    }

    /** Begins anew with what a donor offers. */
    void begin(MemberId donor, DirectMessage.Offer offer) throws IOException {
        Path within = content.normalize();
        for (DirectMessage.FileOffered file : offer.files()) {
            if (!within.resolve(file.name()).normalize().startsWith(within) || file.bytes() < 0) {
                throw new IOException(
                        donor + " offers a file named '" + file.name() + "' of " + file.bytes() + " bytes");
            }
        }
        forget();
        Files.createDirectories(content);
        Files.write(offerFile, bytes(DirectMessage.encode(offer)));
        Files.writeString(donorFile, donor.name());
    }

    private static byte[] bytes(ByteBuffer buffer) {
        byte[] bytes = new byte[buffer.remaining()];
        buffer.get(bytes);
        return bytes;
    }

    /** Whose offer was begun, null if none was. */
    @Nullable
    MemberId donor() throws IOException {
        try {
            return Files.exists(donorFile) && Files.exists(offerFile)
                    ? new MemberId(Files.readString(donorFile).strip())
                    : null;
        } catch (IllegalArgumentException e) {
            LOG.warn("{} is damaged: what was received is received again", donorFile);
            return null;
        }
    }

    /** What was begun, null if nothing was. */
    DirectMessage.@Nullable Offer offer() throws IOException {
        try {
            return Files.exists(offerFile)
                            && DirectMessage.decode(ByteBuffer.wrap(Files.readAllBytes(offerFile)))
                                    instanceof DirectMessage.Offer offer
                    ? offer
                    : null;
        } catch (GroupException e) {
            LOG.warn("{} is damaged: what was received is received again", offerFile);
            return null;
        }
    }

    Path file(DirectMessage.FileOffered file) {
        return content.resolve(file.name());
    }

    /** So much room is on the disk. */
    long usableBytes() throws IOException {
        return Files.getFileStore(directory).getUsableSpace();
    }

    void forget() throws IOException {
        Files.deleteIfExists(completeFile); // first: what is deleted in part must not be installed
        FileTree.delete(directory);
    }

    /** All files are here, each compared with its checksum. */
    void complete() throws IOException {
        FileTree.forceAll(directory);
        Files.writeString(completeFile, "all of it is here\n", StandardCharsets.UTF_8);
        FileTree.force(completeFile);
        FileTree.force(directory);
    }

    /** Whether the next start replaces the database. */
    boolean isToBeInstalled() {
        return Files.exists(completeFile);
    }

    /**
     * Does what can be done of {@link #install} while the database is open.
     *
     * @param progress is told what a person should know
     */
    void prepare(DatabaseBinding binding, DatabaseConfiguration database, Consumer<String> progress) {
        Path snapshot = content.resolve(SNAPSHOT);
        if (isToBeInstalled() && Files.isDirectory(snapshot)) {
            try {
                binding.prepare(snapshot, database, progress);
            } catch (ReflectionException e) {
                throw cannotBeLoaded(e);
            }
        }
    }

    private ReplicaException cannotBeLoaded(ReflectionException cause) {
        return new ReplicaException(
                cause.getMessage() + ". Start the replica again; if that fails like this, delete " + directory
                        + " to receive the database again",
                cause);
    }

    /**
     * Replaces the database, which is not open, by what was received, if that is complete. When it is interrupted, the next start goes on:
     * a snapshot that is not there any more has become the database.
     *
     * @param progress is told what a person should know
     */
    void install(DatabaseBinding binding, DatabaseConfiguration database, Consumer<String> progress)
            throws IOException {
        if (!isToBeInstalled()) {
            return;
        }
        CheckpointFile received = new CheckpointFile(content.resolve(STATE));
        CheckpointFile.Checkpoint checkpoint = received.load();
        boolean leases = checkpoint != null && leases(checkpoint); // refuses what cannot be read while all is as it was
        Path rows = content.resolve(ROWS);
        if (checkpoint != null && Files.isDirectory(rows)) {
            ReceivedRows.install(rows, binding, database, leases, progress);
            finish(checkpoint);
            return;
        }
        Path snapshot = content.resolve(SNAPSHOT);
        if (checkpoint != null && Files.isDirectory(snapshot)) {
            LOG.info("puts the database that was received in the place of {}", database.location());
            progress.accept("puts the database that it received in the place of " + database.location());
            try {
                binding.replace(snapshot, database, progress);
            } catch (ReflectionException e) {
                throw cannotBeLoaded(e);
            }
        } else if (checkpoint != null && Files.isDirectory(Path.of(database.location()))) {
            FileTree.forceName(Path.of(database.location())); // who was interrupted may not have come to that
        } else {
            throw new ReplicaException("what was received in " + content + " is not whole: delete " + directory
                    + ", and the database will be received again");
        }
        finish(checkpoint);
    }

    private static boolean leases(CheckpointFile.Checkpoint checkpoint) {
        return ReplicaCore.protocol(checkpoint.state()).isEverywhere();
    }

    private void finish(CheckpointFile.Checkpoint checkpoint) throws IOException {
        new CheckpointFile(replicaDirectory).save(checkpoint);
        Files.move(completeFile, directory.resolve("installed"), StandardCopyOption.ATOMIC_MOVE);
        FileTree.force(directory);
        forget();
    }
}
