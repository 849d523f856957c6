package org.gorda.replicator.engine;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.zip.CRC32C;
import org.gorda.gapi.FileTree;
import org.gorda.gapi.StoredPosition;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.Position;
import org.jspecify.annotations.Nullable;

/** What the core knew at a place in the order that the database will not fall behind. Confined to one thread at a time. */
final class CheckpointFile {

    /**
     * The core's state, having taken everything up to {@code position}.
     *
     * @param stored what the database then held; earlier, because not every message changes it
     */
    record Checkpoint(Position position, StoredPosition stored, ByteBuffer state) {}

    private static final int HEADER_BYTES = 4 + 8 * Long.BYTES;

    /** What to do if it is damaged, where others have what the database holds. */
    static final String BY_THE_GROUP =
            "move the replica's database and directory away, and it will be brought up to date by the group; if no other"
                    + " replica is left, leave the database where it is, move the directory away, and see 'gorda recover' with --new-group";

    private final Path path;

    CheckpointFile(Path directory) {
        path = directory.resolve("checkpoint");
    }

    /** Replaces the checkpoint, on disk when it returns. */
    void save(Checkpoint checkpoint) {
        Position position = checkpoint.position();
        ByteBuffer content =
                ByteBuffer.allocate(HEADER_BYTES + checkpoint.state().remaining());
        content.putInt(0);
        content.putLong(position.group().high()).putLong(position.group().low());
        content.putLong(position.term()).putLong(position.index());
        StoredPosition stored = checkpoint.stored();
        content.putLong(stored.groupHigh()).putLong(stored.groupLow());
        content.putLong(stored.term()).putLong(stored.index());
        content.put(checkpoint.state().duplicate());
        content.putInt(0, checksum(content.array()));
        Path temporary = path.resolveSibling("checkpoint.new");
        try {
            try (FileOutputStream out = new FileOutputStream(temporary.toFile())) {
                out.write(content.array());
                out.getFD().sync();
            }
            Files.move(temporary, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
            // The log is cut by what the checkpoint holds, so that an older one would not serve.
            FileTree.forceName(path);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** Null if there is none. */
    @Nullable
    Checkpoint load() {
        return load(BY_THE_GROUP);
    }

    /**
     * As {@link #load()}.
     *
     * @param remedy what to do if it is damaged, for people
     */
    @Nullable
    Checkpoint load(String remedy) {
        if (!Files.exists(path)) {
            return null;
        }
        try {
            byte[] bytes = Files.readAllBytes(path);
            if (bytes.length < HEADER_BYTES || ByteBuffer.wrap(bytes).getInt() != checksum(bytes)) {
                throw new ReplicaException(path + " is damaged: " + remedy);
            }
            ByteBuffer in = ByteBuffer.wrap(bytes);
            in.getInt();
            GroupId group = new GroupId(in.getLong(), in.getLong());
            Position position = new Position(group, in.getLong(), in.getLong());
            StoredPosition stored = new StoredPosition(in.getLong(), in.getLong(), in.getLong(), in.getLong());
            return new Checkpoint(position, stored, in.slice());
        } catch (IOException e) {
            throw new ReplicaException(path + " cannot be read: " + e, e);
        }
    }

    private static int checksum(byte[] bytes) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, 4, bytes.length - 4);
        return (int) crc.getValue();
    }
}
