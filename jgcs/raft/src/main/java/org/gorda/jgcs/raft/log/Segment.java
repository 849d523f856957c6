package org.gorda.jgcs.raft.log;

import java.io.Closeable;
import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.Consumer;
import org.gorda.jgcs.raft.core.CorruptEntryException;
import org.gorda.jgcs.raft.core.Entry;
import org.jspecify.annotations.Nullable;

/**
 * One file of the log. {@code RandomAccessFile} and not a channel, because an interrupt of the calling thread closes a channel.
 * Appended to by one thread, read by any.
 */
final class Segment implements Closeable {

    private static final byte[] MAGIC = "GORDALOG1\n".getBytes(StandardCharsets.US_ASCII);
    private static final int HEADER_BYTES = MAGIC.length + Long.BYTES;
    private static final int MARK_EVERY_BYTES = 32 << 10;
    private static final int READ_BYTES = 256 << 10;

    final Path path;
    final long firstIndex;
    private final RandomAccessFile file;

    /** Offsets of some entries, so that a read need not scan from the start. */
    private final TreeMap<Long, Long> marks = new TreeMap<>();

    private final Object forcing = new Object();

    /** Written with both locks, read with either. */
    private boolean closed;

    /** Whether the system may hold something of it in memory only; a run before this one may have left that. */
    private volatile boolean unforced = true;

    private long lastIndex;
    private long end;
    private long lastMark;

    private Segment(Path path, long firstIndex, RandomAccessFile file) {
        this.path = path;
        this.firstIndex = firstIndex;
        this.file = file;
        this.lastIndex = firstIndex - 1;
        this.end = HEADER_BYTES;
    }

    static String fileName(long firstIndex) {
        return String.format("%020d.log", firstIndex);
    }

    static Segment create(Path directory, long firstIndex) throws IOException {
        Path path = directory.resolve(fileName(firstIndex));
        RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw");
        try {
            Segment segment = new Segment(path, firstIndex, file);
            segment.cut(0);
            segment.writeHeader();
            return segment;
        } catch (IOException e) {
            file.close();
            throw e;
        }
    }

    private void writeHeader() throws IOException {
        file.seek(0);
        file.write(
                ByteBuffer.allocate(HEADER_BYTES).put(MAGIC).putLong(firstIndex).array());
        file.getFD().sync();
        end = HEADER_BYTES;
    }

    /** Opens an existing file, not yet scanned. */
    static Segment open(Path path, long firstIndex) throws IOException {
        RandomAccessFile file = new RandomAccessFile(path.toFile(), "rw");
        Segment segment = new Segment(path, firstIndex, file);
        byte[] header = new byte[HEADER_BYTES];
        if (file.length() < HEADER_BYTES) {
            segment.end = 0;
            return segment;
        }
        file.readFully(header);
        boolean known = Arrays.equals(header, 0, MAGIC.length, MAGIC, 0, MAGIC.length)
                && ByteBuffer.wrap(header, MAGIC.length, Long.BYTES).getLong() == firstIndex;
        if (!known) {
            segment.end = 0;
        }
        return segment;
    }

    /**
     * Reads all entries from the start and stops behind the last one that is whole and in its place. Terms do not go back in a
     * log: what does is a remnant of what was cut off earlier.
     *
     * @return whether the file held nothing else
     */
    boolean scan(Consumer<Entry> visitor) throws IOException {
        if (end == 0) {
            return false;
        }
        long length = file.length();
        byte[] buffer = new byte[READ_BYTES];
        int limit = 0;
        int offset = 0;
        long position = HEADER_BYTES;
        long term = 0;
        file.seek(position);
        while (true) {
            int available = limit - offset;
            int needed = available < Integer.BYTES
                    ? Entry.HEADER_BYTES
                    : Entry.HEADER_BYTES
                            + Math.max(
                                    0,
                                    ByteBuffer.wrap(buffer, offset, Integer.BYTES)
                                            .getInt());
            if (needed < 0 || needed > length - position) {
                return position == length;
            }
            if (available < needed) {
                byte[] larger = needed > READ_BYTES / 2 ? new byte[needed + READ_BYTES] : new byte[READ_BYTES];
                System.arraycopy(buffer, offset, larger, 0, available);
                buffer = larger;
                offset = 0;
                limit = available;
                int read = file.read(buffer, limit, buffer.length - limit);
                if (read < 0) {
                    return position == length;
                }
                limit += read;
                continue;
            }
            Entry entry;
            try {
                entry = Entry.decode(buffer, offset, limit);
            } catch (CorruptEntryException e) {
                return false;
            }
            if (entry.index() != lastIndex + 1 || entry.term() < term) {
                return false;
            }
            term = entry.term();
            visitor.accept(entry);
            advance(entry.index(), entry.length());
            position += entry.length();
            offset += entry.length();
        }
    }

    private void advance(long index, int length) {
        if (lastIndex < firstIndex || end - lastMark >= MARK_EVERY_BYTES) {
            marks.put(index, end);
            lastMark = end;
        }
        lastIndex = index;
        end += length;
    }

    synchronized void append(List<Entry> entries) throws IOException {
        file.seek(end);
        int i = 0;
        while (i < entries.size()) {
            // Entries that lie behind each other in one array, as a batch does, go out in one write.
            Entry first = entries.get(i);
            int length = 0;
            while (i < entries.size()
                    && entries.get(i).bytes() == first.bytes()
                    && entries.get(i).offset() == first.offset() + length) {
                length += entries.get(i).length();
                i++;
            }
            file.write(first.bytes(), first.offset(), length);
        }
        for (Entry entry : entries) {
            advance(entry.index(), entry.length());
        }
        unforced = true;
    }

    /** Drops the entries from {@code fromIndex} on. */
    synchronized void truncate(long fromIndex) throws IOException {
        if (fromIndex > lastIndex) {
            return;
        }
        long newEnd = fromIndex == firstIndex ? HEADER_BYTES : offsetOf(fromIndex);
        cut(newEnd);
        lastIndex = fromIndex - 1;
        marks.tailMap(fromIndex, true).clear();
        lastMark = marks.isEmpty() ? 0 : marks.lastEntry().getValue();
    }

    /** Writes again what it holds, in its place: what the system could not force it may take for forced, and would not write. */
    synchronized void rewrite() throws IOException {
        for (long offset = 0; offset < end; offset += READ_BYTES) {
            byte[] bytes = readAt(offset, (int) Math.min(READ_BYTES, end - offset));
            file.seek(offset);
            file.write(bytes);
        }
        unforced = true;
    }

    /** Cuts off what {@link #scan} did not accept. */
    synchronized void cutTail() throws IOException {
        cut(end);
        if (end < HEADER_BYTES) {
            writeHeader();
        }
    }

    private void cut(long newEnd) throws IOException {
        file.setLength(newEnd);
        end = newEnd;
        unforced = true;
    }

    /**
     * Reads entries from {@code fromIndex} to {@code toIndex}, at least one, up to about {@code bytesMax} bytes.
     *
     * @throws ClosedChannelException if the segment was closed
     */
    synchronized void read(long fromIndex, long toIndex, int bytesMax, List<Entry> target) throws IOException {
        if (closed) {
            throw new ClosedChannelException();
        }
        if (fromIndex > lastIndex) {
            return; // cut off while the reader was on its way here
        }
        long start = offsetOf(fromIndex);
        long stop = Math.min(end, start + Math.max(bytesMax, Entry.HEADER_BYTES));
        byte[] buffer = readAt(start, (int) (stop - start));
        long firstLength = Entry.HEADER_BYTES + (long) ByteBuffer.wrap(buffer).getInt();
        if (firstLength < Entry.HEADER_BYTES || firstLength > end - start) {
            throw damaged(start, fromIndex, "a length of " + firstLength);
        }
        if (firstLength > buffer.length) {
            buffer = readAt(start, (int) firstLength);
        }
        int offset = 0;
        long index = fromIndex;
        while (index <= Math.min(toIndex, lastIndex) && buffer.length - offset >= Entry.HEADER_BYTES) {
            int length = Entry.HEADER_BYTES
                    + ByteBuffer.wrap(buffer, offset, Integer.BYTES).getInt();
            if (length > buffer.length - offset) {
                break;
            }
            Entry entry;
            try {
                entry = Entry.decode(buffer, offset, buffer.length);
            } catch (CorruptEntryException e) {
                throw damaged(start + offset, index, e.getMessage());
            }
            if (entry.index() != index) {
                throw damaged(start + offset, index, "it holds " + entry);
            }
            target.add(entry);
            offset += entry.length();
            index++;
        }
    }

    private CorruptEntryException damaged(long offset, long index, @Nullable String how) {
        return new CorruptEntryException(
                path + " is damaged at byte " + offset + ", where entry " + index + " was written: " + how);
    }

    private byte[] readAt(long offset, int length) throws IOException {
        byte[] bytes = new byte[length];
        file.seek(offset);
        file.readFully(bytes);
        return bytes;
    }

    private long offsetOf(long index) throws IOException {
        Map.Entry<Long, Long> mark = marks.floorEntry(index);
        if (mark == null || index > lastIndex) {
            throw new IllegalStateException(path + " does not hold " + index);
        }
        long offset = mark.getValue();
        byte[] length = new byte[Integer.BYTES];
        for (long at = mark.getKey(); at < index; at++) {
            file.seek(offset);
            file.readFully(length);
            offset += Entry.HEADER_BYTES + ByteBuffer.wrap(length).getInt();
            if (offset < HEADER_BYTES || offset > end - Entry.HEADER_BYTES) {
                throw damaged(offset, at + 1, "a length before it is wrong");
            }
        }
        return offset;
    }

    long lastIndex() {
        return lastIndex;
    }

    long sizeBytes() {
        return end;
    }

    /** Forces what was appended to disk, unless that is done or the segment was closed; appends and reads go on meanwhile. */
    void force() throws IOException {
        synchronized (forcing) {
            if (!closed && unforced) {
                unforced = false; // before it: what is appended meanwhile may be left out
                try {
                    // Not by the channel, which an interrupt of this thread would close.
                    file.getFD().sync();
                } catch (IOException e) {
                    unforced = true;
                    throw e;
                }
            }
        }
    }

    /** Waits for who reads or forces: the system gives the file's number to the next one that is opened. */
    @Override
    public synchronized void close() throws IOException {
        synchronized (forcing) {
            closed = true;
            file.close();
        }
    }
}
