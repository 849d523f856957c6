package org.gorda.replicator.engine;

import java.io.BufferedOutputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.FileStore;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import org.gorda.gapi.Content;
import org.gorda.gapi.FileTree;
import org.gorda.gapi.MalformedWriteSetException;
import org.gorda.gapi.WriteSet;
import org.jspecify.annotations.Nullable;

/**
 * Write sets in a file, one after the other: the length of the encoded form, that of what precedes it, what precedes it, and the encoded form.
 */
final class RowsFile {

    private static final int HEADER_BYTES = Integer.BYTES + Long.BYTES;

    private RowsFile() {}

    /** Writes a new one. Confined to one thread. */
    static final class Writer implements AutoCloseable {

        private final Path path;
        private final FileStore disk;
        private final DataOutputStream out;

        Writer(Path path) throws IOException {
            this.path = path;
            out = new DataOutputStream(
                    new BufferedOutputStream(Files.newOutputStream(path, StandardOpenOption.CREATE_NEW), 1 << 16));
            disk = Files.getFileStore(path);
        }

        void write(WriteSet writeSet) throws IOException {
            ByteBuffer encoded = writeSet.bytes();
            long needed = writeSet.precedingLength() + encoded.remaining() + FileTree.ROOM_LEFT;
            if (disk.getUsableSpace() < needed) {
                throw new IOException("there is no room for more rows in " + path + ": make room on that disk");
            }
            out.writeInt(encoded.remaining());
            out.writeLong(writeSet.precedingLength());
            if (writeSet.precedingLength() > 0) {
                writeSet.preceding().stream(0).transferTo(out);
            }
            out.write(encoded.array(), encoded.arrayOffset() + encoded.position(), encoded.remaining());
        }

        @Override
        public void close() throws IOException {
            out.close();
        }
    }

    /** Reads one. Confined to one thread. */
    static final class Reader implements AutoCloseable {

        private final Path path;
        private final FileChannel in;
        private long next;

        Reader(Path path) throws IOException {
            this.path = path;
            this.in = FileChannel.open(path, StandardOpenOption.READ);
        }

        /** Null behind the last one. What precedes its encoded form is read when it is asked for. */
        @Nullable
        WriteSet next() throws IOException {
            if (next == in.size()) {
                return null;
            }
            ByteBuffer header = read(next, HEADER_BYTES);
            int encoded = header.getInt();
            long preceding = header.getLong();
            long start = next + HEADER_BYTES;
            if (encoded < 0
                    || encoded > WriteSet.ENCODED_BYTES_MAX
                    || preceding < 0
                    || preceding > in.size() - start - encoded) {
                throw new MalformedWriteSetException(path + " has no write set at " + next);
            }
            next = start + preceding + encoded;
            Content before = (position, target, offset, length) -> {
                try {
                    long left = preceding - position;
                    return left <= 0
                            ? 0
                            : in.read(ByteBuffer.wrap(target, offset, (int) Math.min(length, left)), start + position);
                } catch (IOException e) {
                    throw new UncheckedIOException(e);
                }
            };
            return WriteSet.decode(read(start + preceding, encoded), before);
        }

        /** How much of the file was read. */
        long position() {
            return next;
        }

        private ByteBuffer read(long start, int length) throws IOException {
            ByteBuffer bytes = ByteBuffer.allocate(length);
            while (bytes.hasRemaining()) {
                if (in.read(bytes, start + bytes.position()) < 0) {
                    throw new MalformedWriteSetException(path + " is cut short at " + in.size());
                }
            }
            return bytes.flip();
        }

        @Override
        public void close() throws IOException {
            in.close();
        }
    }
}
