package org.gorda.jgcs.raft.log;

import java.io.Closeable;
import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.channels.FileChannel;
import java.nio.channels.FileLock;
import java.nio.channels.OverlappingFileLockException;
import java.nio.file.DirectoryStream;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.NavigableMap;
import java.util.TreeMap;
import java.util.UUID;
import java.util.concurrent.ConcurrentNavigableMap;
import java.util.concurrent.ConcurrentSkipListMap;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.zip.CRC32C;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.History;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.raft.core.Checkpoint;
import org.gorda.jgcs.raft.core.Configuration;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.raft.core.Standing;
import org.gorda.jgcs.raft.member.Storage;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * A member's directory on disk: {@code identity}, {@code state} (term and vote), {@code mark}, {@code checkpoint} and the log's
 * segments, named by their first index. Reads are thread-safe, all else is confined to one thread at a time.
 */
public final class FileStorage implements Storage {

    private static final Logger LOG = LoggerFactory.getLogger(FileStorage.class);

    /** Of the newest entries; a small heap can only spare a part. */
    private static final long CACHE_BYTES =
            Math.min(64L << 20, Runtime.getRuntime().maxMemory() / 16);

    private final Path directory;
    private final int segmentBytes;
    private final boolean synced;
    private final FileChannel lockChannel;
    private final StateFile state;
    private final Mark mark;
    private final EntryCache cache;
    private final ConcurrentNavigableMap<Long, Segment> segments = new ConcurrentSkipListMap<>();
    private final Object checkpointFile = new Object();

    /** Of the log, by their indexes. */
    private final NavigableMap<Long, Entry> configurations = new TreeMap<>();

    /** Of the last entry that was read or written. */
    private long lastTerm;

    private Identity identity;
    private volatile Checkpoint checkpoint;

    /**
     * Opens or creates the directory.
     *
     * @param randomAdmission draws a new directory's number
     * @throws GroupException if the directory is in use, belongs to another member or group, or is damaged
     */
    public FileStorage(GroupConfiguration configuration, LongSupplier randomAdmission) {
        this(configuration, randomAdmission, CACHE_BYTES);
    }

    /** With a cache of that size, whatever the heap. */
    FileStorage(GroupConfiguration configuration, LongSupplier randomAdmission, long cacheBytes) {
        cache = new EntryCache(cacheBytes);
        directory = configuration.directory();
        segmentBytes = configuration.segmentBytes();
        synced = configuration.durability() == Service.Durability.SYNCED;
        try {
            Files.createDirectories(directory);
            lockChannel = lock(directory);
        } catch (IOException e) {
            throw unusable(e);
        }
        try {
            Path identityPath = directory.resolve("identity");
            Identity found = Files.exists(identityPath) ? Identity.load(identityPath) : null;
            if (found == null) {
                refuseForeign();
            }
            if (found != null && (found.admitted() || isOf(found, configuration))) {
                identity = found;
                check(configuration);
            } else { // what has never taken part in a group is nobody's: perhaps its address was mistaken at its first
                // start
                identity = new Identity(
                        configuration.group(),
                        configuration.self(),
                        randomAdmission.getAsLong(),
                        false,
                        Configuration.EMPTY,
                        History.UNKNOWN,
                        "");
                identity.save(identityPath);
            }
            checkpoint = loadCheckpoint();
            lastTerm = checkpoint.term();
            state = new StateFile(directory.resolve("state"), identity.admitted());
            mark = new Mark(directory.resolve("mark"));
            DurableFiles.forceDirectory(directory);
        } catch (IOException e) {
            closeQuietly(lockChannel);
            throw unusable(e);
        } catch (RuntimeException e) {
            closeQuietly(lockChannel);
            throw e;
        }
    }

    private GroupException unusable(IOException cause) {
        return new GroupException(
                GroupException.Disposition.STOP, "the directory " + directory + " cannot be used: " + cause, cause);
    }

    private static FileChannel lock(Path directory) throws IOException {
        FileChannel channel =
                FileChannel.open(directory.resolve("lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE);
        FileLock lock;
        try {
            lock = channel.tryLock();
        } catch (OverlappingFileLockException e) {
            lock = null;
        }
        if (lock == null) {
            channel.close();
            throw new GroupException(
                    GroupException.Disposition.CORRECT,
                    "the directory " + directory
                            + " is in use by another process: stop it, or give each replica its own " + "directory");
        }
        return channel;
    }

    private static boolean isOf(Identity identity, GroupConfiguration configuration) {
        return identity.group().equals(configuration.group())
                && identity.member().equals(configuration.self());
    }

    private void check(GroupConfiguration configuration) {
        if (!identity.group().equals(configuration.group())) {
            throw new GroupException(
                    GroupException.Disposition.CORRECT,
                    "the directory " + directory + " belongs to group '" + identity.group() + "', not to '"
                            + configuration.group() + "'");
        }
        if (!identity.member().equals(configuration.self())) {
            throw new GroupException(
                    GroupException.Disposition.CORRECT,
                    "the directory " + directory + " belongs to member " + identity.member() + ", not to "
                            + configuration.self() + ": each member needs its own directory");
        }
    }

    /** Without an identity, other files of ours mean that it was deleted, and with it what the member promised. */
    private void refuseForeign() throws IOException {
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "{state,mark,checkpoint,*.log}")) {
            for (Path file : files) {
                throw new IOException("it holds '" + file.getFileName() + "' but no 'identity'; " + Identity.REJOIN);
            }
        }
    }

    // -------------------------------------------------------------------------------------------------- the start

    @Override
    public long admission() {
        return identity.admission();
    }

    @Override
    public Configuration formed() {
        return identity.formed();
    }

    @Override
    public Boot open(Consumer<Entry> visitor) {
        try {
            boolean whole = openSegments(visitor);
            boolean failed = mark.hasFailed();
            for (Segment segment : segments.values()) {
                if (failed) {
                    segment.rewrite();
                }
                if (failed || synced) {
                    // A run before this one may have been killed before it forced what it wrote, and all that is here
                    // counts as stored.
                    segment.force();
                }
            }
            UUID bootId = Mark.bootId();
            Entry lost = lostConfiguration();
            boolean certain = whole && lost == null && mark.vouchesFor(lastIndex(), bootId);
            Standing standing = !identity.admitted() ? Standing.FRESH : certain ? Standing.CERTAIN : Standing.UNCERTAIN;
            if (standing == Standing.UNCERTAIN) {
                LOG.warn(
                        "{}: the end of the log may be lost (it ends at {}, acknowledged was {}): its vote counts only if nobody's is missing, "
                                + "until it has caught up",
                        identity.member(),
                        lastIndex(),
                        mark.acknowledged());
            }
            mark.begin(bootId, synced, standing == Standing.UNCERTAIN, lastIndex());
            return new Boot(standing, state.term(), state.vote(), lost);
        } catch (IOException e) {
            throw unusable(e);
        }
    }

    /** The newest configuration that the log had, if it ends before it. */
    private @Nullable Entry lostConfiguration() {
        Entry newest = identity.newestConfiguration();
        return newest == null || newest.isWithin(lastTerm, lastIndex()) ? null : newest;
    }

    /** Opens the segments and drops what cannot be read; false if whole files were dropped. */
    private boolean openSegments(Consumer<Entry> visitor) throws IOException {
        TreeMap<Long, Path> found = new TreeMap<>();
        try (DirectoryStream<Path> files = Files.newDirectoryStream(directory, "*.log")) {
            for (Path file : files) {
                found.put(firstIndexOf(file), file);
            }
        }
        boolean whole = true;
        for (Map.Entry<Long, Path> file : found.entrySet()) {
            long firstIndex = file.getKey();
            if (isCovered(found, firstIndex)) {
                Files.delete(file.getValue());
                continue;
            }
            boolean follows = segments.isEmpty() ? firstIndex <= checkpoint.index() + 1 : firstIndex == lastIndex() + 1;
            if (!whole || !follows) {
                whole = false;
                setAside(file.getValue());
                continue;
            }
            Segment segment = Segment.open(file.getValue(), firstIndex);
            boolean clean = segment.scan(entry -> {
                if (entry.index() > checkpoint.index()) {
                    note(entry);
                    cache.add(entry);
                    visitor.accept(entry);
                }
            });
            if (!clean) {
                boolean torn = firstIndex == found.lastKey() && segment.lastIndex() >= mark.acknowledged();
                if (!torn) {
                    whole = false;
                    LOG.warn(
                            "{}: {} is damaged at byte {}, behind entry {}: what follows is not used, a copy is kept",
                            identity.member(),
                            file.getValue(),
                            segment.sizeBytes(),
                            segment.lastIndex());
                    Files.copy(file.getValue(), aside(file.getValue()), StandardCopyOption.REPLACE_EXISTING);
                }
                segment.cutTail();
            }
            segments.put(firstIndex, segment);
        }
        if (lastIndex() < checkpoint.index()) {
            // A checkpoint was installed, or the end of the log is lost: what follows the checkpoint does not follow
            // this.
            removeSegments();
        }
        if (segments.isEmpty()) {
            addSegment(checkpoint.index() + 1);
        }
        return whole;
    }

    private void note(Entry entry) {
        lastTerm = entry.term();
        if (entry.kind() == Entry.Kind.CONFIGURATION) {
            configurations.put(entry.index(), entry);
        }
    }

    private boolean isCovered(NavigableMap<Long, Path> found, long firstIndex) {
        Long next = found.higherKey(firstIndex);
        return next != null && next <= checkpoint.index() + 1;
    }

    private static long firstIndexOf(Path file) throws IOException {
        String name = String.valueOf(file.getFileName());
        try {
            return Long.parseLong(name.substring(0, name.length() - ".log".length()));
        } catch (NumberFormatException e) {
            throw new IOException(file + " is not a segment of a log", e);
        }
    }

    private void setAside(Path file) throws IOException {
        LOG.warn("{}: {} does not continue the log and is set aside", identity.member(), file);
        Files.move(file, aside(file), StandardCopyOption.REPLACE_EXISTING);
    }

    private static Path aside(Path file) {
        return file.resolveSibling(file.getFileName() + ".damaged");
    }

    private Checkpoint loadCheckpoint() throws IOException {
        Path path = directory.resolve("checkpoint");
        if (!Files.exists(path)) {
            return Checkpoint.NONE;
        }
        ByteBuffer bytes = ByteBuffer.wrap(Files.readAllBytes(path));
        CRC32C crc = new CRC32C();
        if (bytes.remaining() >= Integer.BYTES) {
            crc.update(bytes.duplicate().position(Integer.BYTES));
        }
        if (bytes.remaining() < Integer.BYTES || bytes.getInt() != (int) crc.getValue()) {
            throw new IOException(path + " is damaged; " + Identity.REJOIN);
        }
        return Checkpoint.decode(bytes);
    }

    private void writeCheckpoint(Checkpoint next) throws IOException {
        byte[] encoded = next.encode();
        CRC32C crc = new CRC32C();
        crc.update(encoded);
        byte[] content = ByteBuffer.allocate(Integer.BYTES + encoded.length)
                .putInt((int) crc.getValue())
                .put(encoded)
                .array();
        DurableFiles.replace(directory.resolve("checkpoint"), content);
    }

    // -------------------------------------------------------------------------------------------- term, vote,
    // membership

    @Override
    public void saveVote(long term, @Nullable MemberId vote) {
        guard(() -> state.save(term, vote));
    }

    @Override
    public void saveAdmitted(Configuration configuration) {
        guard(() -> {
            identity = identity.admittedTo(configuration);
            identity.save(directory.resolve("identity"));
        });
    }

    @Override
    public History history() {
        return identity.history();
    }

    @Override
    public void saveHistory(History history) {
        guard(() -> {
            identity = identity.partOf(history);
            identity.save(directory.resolve("identity"));
        });
    }

    @Override
    public void saveCertain() {
        mark.certain();
    }

    @Override
    public long nextIncarnation(long atLeast) {
        long next = Math.max(mark.incarnation() + 1, atLeast);
        mark.incarnation(next);
        return next;
    }

    // ------------------------------------------------------------------------------------------------------ the log

    @Override
    public Checkpoint checkpoint() {
        return checkpoint;
    }

    @Override
    public void append(List<Entry> entries) {
        write(() -> {
            Segment last = segments.lastEntry().getValue();
            if (last.sizeBytes() >= segmentBytes) {
                if (synced) {
                    last.force();
                }
                last = addSegment(last.lastIndex() + 1);
            }
            last.append(entries);
            entries.forEach(cache::add);
            long known = configurations.isEmpty() ? 0 : configurations.lastKey();
            entries.forEach(this::note);
            if (!configurations.isEmpty() && configurations.lastKey() > known) {
                // A minority that loses power must not take itself for all; and nobody elects who lacks this one.
                for (Segment segment : segments.values()) {
                    segment.force();
                }
                remember(configurations.lastEntry().getValue());
            }
        });
    }

    private void remember(@Nullable Entry newestConfiguration) throws IOException {
        identity = identity.configuredBy(newestConfiguration);
        identity.save(directory.resolve("identity"));
    }

    /** Before the log is cut there: what it loses is not its newest configuration any more. One that it had lost before stays so. */
    private void forgetConfigurations(long fromIndex) throws IOException {
        configurations.tailMap(fromIndex, true).clear();
        Entry newest = identity.newestConfiguration();
        if (newest != null && newest.index() >= fromIndex && newest.index() <= lastIndex()) {
            Map.Entry<Long, Entry> before = configurations.lastEntry();
            remember(before == null ? null : before.getValue());
        }
    }

    private Segment addSegment(long firstIndex) throws IOException {
        Segment segment = Segment.create(directory, firstIndex);
        DurableFiles.forceDirectory(directory);
        segments.put(firstIndex, segment);
        return segment;
    }

    @Override
    public boolean synced() {
        return synced;
    }

    @Override
    public void force() {
        write(() -> {
            for (Segment segment : segments.values()) {
                segment.force();
            }
        });
    }

    @Override
    public void acknowledge(long index) {
        mark.acknowledge(index);
    }

    @Override
    public void truncate(long fromIndex) {
        write(() -> {
            forgetConfigurations(fromIndex);
            mark.acknowledge(Math.min(mark.acknowledged(), fromIndex - 1));
            cache.truncate(fromIndex);
            // Not one that begins there: another thread may be removing what precedes it.
            while (segments.size() > 1 && segments.lastKey() > fromIndex) {
                remove(segments.lastEntry().getValue());
            }
            Segment last = segments.lastEntry().getValue();
            last.truncate(fromIndex);
            if (synced) {
                last.force();
            }
        });
    }

    /** Unless another thread does: what is not needed any more may be replaced by a checkpoint just then. */
    private void remove(Segment segment) throws IOException {
        if (!segments.remove(segment.firstIndex, segment)) {
            return;
        }
        segment.close();
        Files.delete(segment.path);
        DurableFiles.forceDirectory(directory);
    }

    @Override
    public void install(Checkpoint next) {
        write(() -> {
            // What contradicts the checkpoint goes first, then the checkpoint comes: a crash in between leaves segments
            // that
            // end before it, which the start removes.
            if (lastIndex() >= next.index()) {
                truncate(next.index());
                segments.lastEntry().getValue().force();
            }
            synchronized (checkpointFile) {
                writeCheckpoint(next);
                checkpoint = next;
            }
            cache.truncate(0);
            configurations.clear();
            lastTerm = next.term();
            removeSegments();
            addSegment(next.index() + 1);
            mark.acknowledge(next.index());
        });
    }

    private void removeSegments() throws IOException {
        for (Segment segment : List.copyOf(segments.values())) {
            remove(segment);
        }
    }

    @Override
    public void prepare(Checkpoint next) {
        guard(() -> {
            synchronized (checkpointFile) {
                if (next.index() > checkpoint.index()) {
                    writeCheckpoint(next);
                }
            }
        });
    }

    @Override
    public void adopt(Checkpoint next) {
        synchronized (checkpointFile) {
            checkpoint = next;
        }
    }

    @Override
    public void trim() {
        guard(() -> {
            long covered = checkpoint.index();
            while (true) {
                Map.Entry<Long, Segment> first = segments.firstEntry();
                Long second = first == null ? null : segments.higherKey(first.getKey());
                if (second == null || second > covered + 1) {
                    return;
                }
                remove(first.getValue());
            }
        });
    }

    @Override
    public long compactable(long index) {
        Map.Entry<Long, Segment> holding = segments.floorEntry(index + 1);
        return holding == null ? checkpoint.index() : Math.max(holding.getKey() - 1, checkpoint.index());
    }

    @Override
    public List<Entry> cached(long fromIndex, int bytesMax) {
        return cache.get(fromIndex, Long.MAX_VALUE, bytesMax);
    }

    @Override
    public List<Entry> read(long fromIndex, long toIndex, int bytesMax) {
        List<Entry> found = cache.get(fromIndex, toIndex, bytesMax);
        if (!found.isEmpty() || fromIndex <= checkpoint.index()) {
            return found;
        }
        Map.Entry<Long, Segment> holding = segments.floorEntry(fromIndex);
        if (holding == null || fromIndex > holding.getValue().lastIndex()) {
            return List.of();
        }
        List<Entry> read = new ArrayList<>();
        guard(() -> {
            try {
                holding.getValue().read(fromIndex, toIndex, bytesMax, read);
            } catch (ClosedChannelException e) {
                if (segments.get(holding.getKey()) == holding.getValue()) {
                    throw e;
                }
                read.clear(); // removed meanwhile, as not needed any more or replaced by a checkpoint
            }
        });
        return read;
    }

    private long lastIndex() {
        return segments.isEmpty()
                ? checkpoint.index()
                : segments.lastEntry().getValue().lastIndex();
    }

    @Override
    public void close(boolean clean) {
        try {
            if (clean) {
                for (Segment segment : segments.values()) {
                    segment.force();
                }
                mark.clean();
            }
        } catch (IOException e) {
            noteFailure(e);
            LOG.warn("{}: not closed cleanly: {}", identity.member(), e.toString());
        }
        segments.values().forEach(FileStorage::closeQuietly);
        closeQuietly(state);
        closeQuietly(mark);
        closeQuietly(lockChannel);
    }

    private static void closeQuietly(Closeable resource) {
        try {
            resource.close();
        } catch (IOException e) {
            LOG.debug("closing {}", resource, e);
        }
    }

    private interface DiskWork {
        void run() throws IOException;
    }

    /** Of the log, after which the next start must not trust what it reads to be on disk. */
    private void write(DiskWork work) {
        try {
            work.run();
        } catch (IOException e) {
            noteFailure(e);
            throw new UncheckedIOException(e);
        }
    }

    /** As far as that disk lets it. */
    private void noteFailure(IOException failure) {
        try {
            mark.failed();
        } catch (RuntimeException unmarked) {
            failure.addSuppressed(unmarked);
        }
    }

    private static void guard(DiskWork work) {
        try {
            work.run();
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
