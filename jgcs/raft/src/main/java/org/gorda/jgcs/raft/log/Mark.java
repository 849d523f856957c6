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
 * whose end was deleted is noticed. It does not outlive the machine, hence the boot identity. Confined to one thread.
 */
final class Mark implements Closeable {

    private static final Path BOOT_ID = Path.of("/proc/sys/kernel/random/boot_id");
    private static final int MAGIC = 0x474d4b31;
    private static final int BYTES = 64;
    private static final int AT_MAGIC = 0;
    private static final int AT_CLEAN = 4;
    private static final int AT_UNCERTAIN = 5;
    private static final int AT_SYNCED = 6;
    private static final int AT_BOOT = 8;
    private static final int AT_INDEX = 24;
    private static final int AT_INCARNATION = 32;

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
        if (!existed || map.getInt(AT_MAGIC) != MAGIC || map.get(AT_UNCERTAIN) != 0) {
            return false;
        }
        boolean sameBoot = map.getLong(AT_BOOT) == boot.getMostSignificantBits()
                && map.getLong(AT_BOOT + 8) == boot.getLeastSignificantBits();
        boolean survived = sameBoot || map.get(AT_CLEAN) != 0 || map.get(AT_SYNCED) != 0;
        return survived && lastIndex >= map.getLong(AT_INDEX);
    }

    /** Starts a run. */
    void begin(UUID boot, boolean synced, boolean uncertain, long lastIndex) {
        map.putInt(AT_MAGIC, MAGIC);
        map.putLong(AT_BOOT, boot.getMostSignificantBits());
        map.putLong(AT_BOOT + 8, boot.getLeastSignificantBits());
        map.put(AT_SYNCED, (byte) (synced ? 1 : 0));
        map.put(AT_UNCERTAIN, (byte) (uncertain ? 1 : 0));
        map.putLong(AT_INDEX, lastIndex);
        map.put(AT_CLEAN, (byte) 0);
        map.force();
    }

    void acknowledge(long index) {
        map.putLong(AT_INDEX, index);
    }

    long acknowledged() {
        return map.getLong(AT_INDEX);
    }

    void certain() {
        map.put(AT_UNCERTAIN, (byte) 0);
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
        map.put(AT_CLEAN, (byte) 1);
        map.force();
    }

    @Override
    public void close() throws IOException {
        file.close();
    }
}
