package org.gorda.jgcs.raft.log;

import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.zip.CRC32C;
import org.gorda.jgcs.MemberId;
import org.jspecify.annotations.Nullable;

/**
 * Term and vote, which must never go back (section 3.8). Two slots written in turn, so that a torn write harms only the one that
 * was being written; both hold the same afterwards, so that neither's decay takes term and vote back. Confined to one thread.
 */
final class StateFile implements Closeable {

    private static final int SLOT_BYTES = 512;

    private final RandomAccessFile file;
    private int newest;
    private long version;
    private long term;
    private @Nullable MemberId vote;

    /**
     * Opens the file, or creates it.
     *
     * @param mayHaveVoted whether this directory's member has taken part in a group, so that there must be a whole file
     */
    StateFile(Path path, boolean mayHaveVoted) throws IOException {
        file = new RandomAccessFile(path.toFile(), "rw");
        try {
            boolean found = false;
            for (int slot = 0; slot < 2 && file.length() >= 2 * SLOT_BYTES; slot++) {
                byte[] bytes = new byte[SLOT_BYTES];
                file.seek((long) slot * SLOT_BYTES);
                file.readFully(bytes);
                found |= take(slot, ByteBuffer.wrap(bytes));
            }
            if (!found && mayHaveVoted) {
                throw new IOException(
                        path + " is missing or damaged, so that this member may have forgotten how it voted: "
                                + Identity.REJOIN);
            }
            save(term, vote);
            file.getFD().sync();
        } catch (IOException e) {
            file.close();
            throw e;
        }
    }

    private boolean take(int number, ByteBuffer slot) {
        int length = slot.getInt();
        int crc = slot.getInt();
        if (length < 0 || length > SLOT_BYTES - 8 || checksum(slot.array(), 8, length) != crc || length == 0) {
            return false;
        }
        long slotVersion = slot.getLong();
        long slotTerm = slot.getLong();
        byte[] name = new byte[slot.getShort()];
        slot.get(name);
        if (slotVersion > version) {
            newest = number;
            version = slotVersion;
            term = slotTerm;
            vote = name.length == 0 ? null : new MemberId(new String(name, StandardCharsets.UTF_8));
        }
        return true;
    }

    private static int checksum(byte[] bytes, int offset, int length) {
        CRC32C crc = new CRC32C();
        crc.update(bytes, offset, length);
        return (int) crc.getValue();
    }

    long term() {
        return term;
    }

    @Nullable
    MemberId vote() {
        return vote;
    }

    void save(long newTerm, @Nullable MemberId newVote) throws IOException {
        if (newTerm < term) {
            throw new IllegalStateException("term goes back from " + term + " to " + newTerm);
        }
        byte[] name = newVote == null ? new byte[0] : newVote.name().getBytes(StandardCharsets.UTF_8);
        ByteBuffer slot = ByteBuffer.allocate(SLOT_BYTES);
        int length = 18 + name.length;
        slot.putInt(length).putInt(0).putLong(version + 1).putLong(newTerm).putShort((short) name.length);
        slot.put(name);
        slot.putInt(4, checksum(slot.array(), 8, length));
        if (file.length() != 2 * SLOT_BYTES) {
            file.setLength(2 * SLOT_BYTES);
        }
        newest = 1 - newest;
        file.seek((long) newest * SLOT_BYTES);
        file.write(slot.array());
        file.getFD().sync();
        // The copy reaches the disk in its own time: until then only two faults at once could harm.
        file.seek((1L - newest) * SLOT_BYTES);
        file.write(slot.array());
        version++;
        term = newTerm;
        vote = newVote;
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
