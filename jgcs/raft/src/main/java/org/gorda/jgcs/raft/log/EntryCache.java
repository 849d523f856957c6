package org.gorda.jgcs.raft.log;

import java.util.ArrayList;
import java.util.List;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.raft.member.IndexedRing;

/** The newest entries of the log, bounded in bytes, so that followers and the delivery seldom read the disk. Thread-safe. */
final class EntryCache {

    private final long bytesMax;
    private final IndexedRing<Entry> ring = new IndexedRing<>();
    private long bytes;

    EntryCache(long bytesMax) {
        this.bytesMax = bytesMax;
    }

    synchronized void add(Entry entry) {
        ring.add(entry.index(), entry);
        bytes += entry.length();
        while (bytes > bytesMax && ring.size() > 1) {
            bytes -= ring.removeFirst().length();
        }
    }

    synchronized void truncate(long fromIndex) {
        ring.truncate(fromIndex, entry -> bytes -= entry.length());
    }

    /** Entries from {@code fromIndex} to {@code toIndex}, at least one and up to about {@code limit} bytes; empty if not held. */
    synchronized List<Entry> get(long fromIndex, long toIndex, int limit) {
        if (fromIndex < ring.first() || fromIndex >= ring.end()) {
            return List.of();
        }
        long end = Math.min(toIndex, ring.end() - 1);
        List<Entry> found = new ArrayList<>((int) Math.min(end - fromIndex + 1, 1024));
        int total = 0;
        for (long index = fromIndex; index <= end; index++) {
            Entry entry = ring.get(index);
            if (!found.isEmpty() && total + entry.length() > limit) {
                break;
            }
            found.add(entry);
            total += entry.length();
        }
        return found;
    }
}
