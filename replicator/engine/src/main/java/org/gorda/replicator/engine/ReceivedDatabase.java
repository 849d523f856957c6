package org.gorda.replicator.engine;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.MemberId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What a joiner has received so far, below {@code received} in the replica's directory, so that a restart goes on with it. Once all is
 * there, the database here is replaced by it before it is opened. Confined to one thread at a time.
 */
final class ReceivedDatabase {

    private static final Logger LOG = LoggerFactory.getLogger(ReceivedDatabase.class);

    /** In what a donor gives: a {@link CheckpointFile}'s directory, and the snapshot's. */
    static final String STATE = "state";

    static final String SNAPSHOT = "snapshot";

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
    void begin(MemberId donor, TransferMessage.Offer offer) throws IOException {
        for (TransferMessage.FileOffered file : offer.files()) {
            if (!content.resolve(file.name()).normalize().startsWith(content) || file.bytes() < 0) {
                throw new IOException(
                        donor + " offers a file named '" + file.name() + "' of " + file.bytes() + " bytes");
            }
        }
        forget();
        Files.createDirectories(content);
        Files.write(offerFile, bytes(TransferMessage.encode(offer)));
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
    TransferMessage.@Nullable Offer offer() throws IOException {
        try {
            return Files.exists(offerFile)
                            && TransferMessage.decode(ByteBuffer.wrap(Files.readAllBytes(offerFile)))
                                    instanceof TransferMessage.Offer offer
                    ? offer
                    : null;
        } catch (GroupException e) {
            LOG.warn("{} is damaged: what was received is received again", offerFile);
            return null;
        }
    }

    Path file(TransferMessage.FileOffered file) {
        return content.resolve(file.name());
    }

    void forget() throws IOException {
        Files.deleteIfExists(completeFile); // first: what is deleted in part must not be installed
        FileTree.delete(directory);
    }

    /**
     * Compares everything with what was offered and forces it to disk. What differs is deleted.
     *
     * @return how many files differ
     */
    int complete(TransferMessage.Offer offer) throws IOException {
        int harmed = 0;
        for (TransferMessage.FileOffered file : offer.files()) {
            Path path = file(file);
            if (Files.size(path) != file.bytes() || FileTree.checksum(path) != file.checksum()) {
                LOG.warn("{} is not what was sent: it is received again", path);
                Files.delete(path);
                harmed++;
            } else {
                FileTree.force(path);
                FileTree.forceName(path);
            }
        }
        if (harmed == 0) {
            Files.writeString(completeFile, "all of it is here\n", StandardCharsets.UTF_8);
            FileTree.force(completeFile);
            FileTree.force(directory);
        }
        return harmed;
    }

    /** Whether the next start replaces the database. */
    boolean isToBeInstalled() {
        return Files.exists(completeFile);
    }

    /**
     * Replaces the database, which is not open, by what was received, if that is complete. When it is interrupted, the next start does it
     * again.
     */
    void install(DatabaseBinding binding, DatabaseConfiguration database) throws IOException {
        if (!isToBeInstalled()) {
            return;
        }
        CheckpointFile received = new CheckpointFile(content.resolve(STATE));
        CheckpointFile.Checkpoint checkpoint = received.load();
        if (checkpoint == null || !Files.isDirectory(content.resolve(SNAPSHOT))) {
            throw new ReplicaException("what was received in " + content + " is not whole: delete " + directory
                    + ", and the database will be received again");
        }
        LOG.info("puts the database that was received in the place of {}", database.location());
        binding.drop(database);
        binding.load(content.resolve(SNAPSHOT), database);
        new CheckpointFile(replicaDirectory).save(checkpoint);
        Files.move(completeFile, directory.resolve("installed"), StandardCopyOption.ATOMIC_MOVE);
        FileTree.force(directory);
        forget();
    }
}
