package org.gorda.replicator.engine;

import java.nio.ByteBuffer;
import java.util.zip.CRC32C;
import org.gorda.gapi.Content;
import org.gorda.gapi.MalformedWriteSetException;
import org.gorda.jgcs.LogSession;
import org.gorda.replicator.core.ReplicaMessage;

/** What precedes a write set, read from the chunks in the log, one of them in memory at a time. Confined to one thread. */
final class LogContent implements Content {

    private final LogSession log;
    private final long[] indexes;
    private int held = -1;
    private ByteBuffer chunk = ByteBuffer.allocate(0);

    /** All chunks but the last have the same size, that of the first. */
    private int chunkBytes;

    /**
     * @param indexes where the chunks lie in the log, in their order, at least one
     */
    LogContent(LogSession log, long[] indexes) {
        this.log = log;
        this.indexes = indexes;
    }

    @Override
    public int read(long position, byte[] target, int offset, int length) {
        if (chunkBytes == 0) {
            hold(0);
            chunkBytes = chunk.remaining();
        }
        long number = chunkBytes == 0 ? 0 : position / chunkBytes;
        if (number >= indexes.length) {
            return 0;
        }
        if (number != held) {
            hold((int) number);
        }
        int from = (int) (position - number * chunkBytes);
        int count = Math.min(length, chunk.remaining() - from);
        if (count > 0) {
            chunk.duplicate().position(chunk.position() + from).get(target, offset, count);
        }
        return Math.max(0, count);
    }

    private void hold(int number) {
        ReplicaMessage message = ReplicaMessage.decode(log.at(indexes[number]).payload());
        if (!(message instanceof ReplicaMessage.Chunk found) || found.number() != number) {
            throw new IllegalStateException("the log holds no chunk " + number + " at " + indexes[number]);
        }
        CRC32C crc = new CRC32C();
        crc.update(found.content().duplicate());
        if ((int) crc.getValue() != found.checksum()) {
            throw new MalformedWriteSetException(
                    "the checksum of chunk " + number + " at " + indexes[number] + " does not match");
        }
        boolean last = number == indexes.length - 1;
        int size = found.content().remaining();
        if (number > 0 && (last ? size > chunkBytes : size != chunkBytes)) {
            throw new MalformedWriteSetException("chunk " + number + " at " + indexes[number] + " has " + size
                    + " bytes, the first one has " + chunkBytes);
        }
        chunk = found.content();
        held = number;
    }
}
