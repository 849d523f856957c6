package org.gorda.jgcs.raft.log;

import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.MappedByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.UUID;

/**
 * How far this member has acknowledged its log, in mapped memory: a store costs nothing and outlives the process, so that a log
 * whose end was deleted is noticed. It does not outlive the machine, hence the boot identity. No single bit that
 * flips makes it vouch for more than it did. Confined to one thread, but for {@link #failed}.
 */
final class Mark implements Closeable {

    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
    private static final int MAGIC = 0x474d4b32;
    private static final int BYTES = 64;
    private static final int AT_MAGIC = 0;
    private static final int AT_CLEAN = 4;
    private static final int AT_CERTAIN = 5;
    private static final int AT_SYNCED = 6;
    private static final int AT_FAILED = 7;
    private static final int AT_BOOT = 8;
    private static final int AT_INDEX = 24;
    private static final int AT_INCARNATION = 32;
    private static final int AT_INDEX_COPY = 40;

    // What vouches for something is a pattern, and everything else says no.
    private static final byte CLEAN = 0x5c;
    private static final byte CERTAIN = 0x36;
    private static final byte SYNCED = 0x69;
    private static final byte FAILED = 0x2d;
    private static final byte NO = 0;

    private final RandomAccessFile file;
    private final MappedByteBuffer map;
    private final boolean existed;

    Mark(Path path) throws IOException {
        file = new RandomAccessFile(path.toFile(), "rw");
        try {
            existed = file.length() >= BYTES;
            map = file.getChannel().map(FileChannel.MapMode.READ_WRITE, 0, BYTES);
        } catch (IOException e) {
            file.close();
            throw e;
        }
    }

    /** Identifies this run of the machine; differs at every call where the operating system does not tell. */
    static UUID bootId() {
        try {
            return UUID.fromString(Files.readString(BOOT_ID).trim());
        } catch (IOException | IllegalArgumentException e) {
            return UUID.randomUUID();
        }
    }

    /**
     * Whether the log can lack nothing that was acknowledged.
     *
     * @param lastIndex where the log ends
     */
    boolean vouchesFor(long lastIndex, UUID boot) {
        if (!existed || map.getInt(AT_MAGIC) != MAGIC || map.get(AT_CERTAIN) != CERTAIN) {
            return false;
        }
        boolean sameBoot = map.getLong(AT_BOOT) == boot.getMostSignificantBits()
                && map.getLong(AT_BOOT + 8) == boot.getLeastSignificantBits();
        boolean survived = sameBoot || map.get(AT_CLEAN) == CLEAN || map.get(AT_SYNCED) == SYNCED;
        return survived && lastIndex >= acknowledged();
    }

    /** Whether a run before this one could not write or force something. */
    boolean hasFailed() {
        return map.get(AT_FAILED) != NO;
    }

    /** The system may take for written what it could not write. Thread-safe. */
    void failed() {
        map.put(AT_FAILED, FAILED);
        map.force();
    }

    /** Starts a run. */
    void begin(UUID boot, boolean synced, boolean uncertain, long lastIndex) {
        // The doubt first: what is killed in between must not look certain to its successor.
        map.put(AT_CERTAIN, uncertain ? NO : CERTAIN);
        map.force();
        map.putInt(AT_MAGIC, MAGIC);
        map.putLong(AT_BOOT, boot.getMostSignificantBits());
        map.putLong(AT_BOOT + 8, boot.getLeastSignificantBits());
        map.put(AT_SYNCED, synced ? SYNCED : NO);
        acknowledge(lastIndex);
        map.put(AT_CLEAN, NO);
        map.put(AT_FAILED, NO);
        map.force();
    }

    void acknowledge(long index) {
        map.putLong(AT_INDEX, index);
        map.putLong(AT_INDEX_COPY, index);
    }

    long acknowledged() {
        return Math.max(map.getLong(AT_INDEX), map.getLong(AT_INDEX_COPY));
    }

    void certain() {
        map.put(AT_CERTAIN, CERTAIN);
        map.force();
    }

    long incarnation() {
        return map.getLong(AT_INCARNATION);
    }

    void incarnation(long number) {
        map.putLong(AT_INCARNATION, number);
        map.force();
    }

    /** Everything is on disk. */
    void clean() {
        map.put(AT_CLEAN, CLEAN);
        map.force();
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
