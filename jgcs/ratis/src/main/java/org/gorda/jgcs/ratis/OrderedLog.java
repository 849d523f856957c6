package org.gorda.jgcs.ratis;

import java.io.FileOutputStream;
import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.List;
import java.util.NavigableSet;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ConcurrentSkipListSet;
import org.apache.ratis.io.MD5Hash;
import org.apache.ratis.proto.RaftProtos.LogEntryProto;
import org.apache.ratis.proto.RaftProtos.RaftConfigurationProto;
import org.apache.ratis.protocol.Message;
import org.apache.ratis.protocol.RaftGroupId;
import org.apache.ratis.server.RaftServer;
import org.apache.ratis.server.protocol.TermIndex;
import org.apache.ratis.server.raftlog.RaftLog;
import org.apache.ratis.server.raftlog.RaftLogIOException;
import org.apache.ratis.server.storage.FileInfo;
import org.apache.ratis.server.storage.RaftStorage;
import org.apache.ratis.statemachine.StateMachineStorage;
import org.apache.ratis.statemachine.TransactionContext;
import org.apache.ratis.statemachine.impl.BaseStateMachine;
import org.apache.ratis.statemachine.impl.SimpleStateMachineStorage;
import org.apache.ratis.statemachine.impl.SingleFileSnapshotInfo;
import org.apache.ratis.thirdparty.com.google.protobuf.ByteString;
import org.apache.ratis.util.LifeCycle;
import org.apache.ratis.util.MD5FileUtil;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Position;
import org.jspecify.annotations.Nullable;

/**
 * What Ratis applies the order to. It takes note of what is decided and leaves the messages in Ratis's log, from where they are read when
 * their user takes them. A snapshot is a place in the log and the {@link Ledger} there, a few hundred bytes; Ratis sends it to who lacks what
 * it has purged. Thread-safe.
 *
 * <p>Ratis counts from 0, positions from 1.
 */
final class OrderedLog extends BaseStateMachine {

    /** What the surroundings are told; must return at once. */
    interface Host {

        /** More is decided. */
        void decided();

        /** Who belongs to the group has changed. */
        void reconfigured(RaftConfigurationProto configuration);

        /** Nothing of what this member stores or applies counts any more. */
        void broken(Throwable cause);
    }

    /** A place up to which the log can be forgotten. */
    private record Mark(TermIndex place, ByteString ledger) {}

    /** What is read at most between two looks at whether to go on. */
    private static final int ENTRIES_MAX = 1000;

    private final Ledger ledger = new Ledger();
    private final long markBytes;
    private final Host host;
    private final SimpleStateMachineStorage storage = new SimpleStateMachineStorage();
    private final Deque<Mark> marks = new ArrayDeque<>();

    /** Entries that hold a message which is not delivered; only messages sent twice, since the log's begin. */
    private final NavigableSet<Long> notDelivered = new ConcurrentSkipListSet<>();

    private long unmarkedBytes;
    private volatile GroupId group = GroupId.UNKNOWN;
    private volatile @Nullable TermIndex begin;
    private @Nullable Mark next;

    OrderedLog(long markBytes, Host host) {
        this.markBytes = markBytes;
        this.host = host;
    }

    Ledger ledger() {
        return ledger;
    }

    Position position(long term, long index) {
        return new Position(group, term, index + 1);
    }

    /** The newest position decided and known here. */
    Position decided() {
        TermIndex applied = getLastAppliedTermIndex();
        return applied.getIndex() < 0 ? Position.START : position(applied.getTerm(), applied.getIndex());
    }

    /** The position before the first one that can be read. */
    Position firstHeld() {
        TermIndex from = begin;
        return from == null ? new Position(group, 0, 0) : position(from.getTerm(), from.getIndex());
    }

    // --------------------------------------------------------------------------------------------- what Ratis tells

    @Override
    public void initialize(RaftServer server, RaftGroupId groupId, RaftStorage raftStorage) throws IOException {
        super.initialize(server, groupId, raftStorage);
        group = new GroupId(
                groupId.getUuid().getMostSignificantBits(), groupId.getUuid().getLeastSignificantBits());
        storage.init(raftStorage);
        reinitialize();
    }

    @Override
    public void pause() {
        getLifeCycle().transition(LifeCycle.State.PAUSING);
        getLifeCycle().transition(LifeCycle.State.PAUSED);
    }

    @Override
    public void reinitialize() throws IOException {
        getLifeCycle().transition(LifeCycle.State.STARTING);
        load();
        getLifeCycle().transition(LifeCycle.State.RUNNING);
        host.decided();
    }

    private synchronized void load() throws IOException {
        SingleFileSnapshotInfo snapshot = storage.loadLatestSnapshot();
        if (snapshot == null) {
            return;
        }
        Path file = snapshot.getFile().getPath();
        if (!MD5FileUtil.computeMd5ForFile(file.toFile())
                .equals(snapshot.getFile().getFileDigest())) {
            throw new IOException(file + " is damaged: it is not as it was written");
        }
        ledger.reset(ByteBuffer.wrap(Files.readAllBytes(file)));
        begin = snapshot.getTermIndex(); // first, because who reads may lag behind it
        notDelivered.clear();
        marks.clear();
        next = null;
        setLastAppliedTermIndex(snapshot.getTermIndex());
    }

    @Override
    public StateMachineStorage getStateMachineStorage() {
        return storage;
    }

    @Override
    public CompletableFuture<Message> applyTransaction(TransactionContext transaction) {
        LogEntryProto entry = transaction.getLogEntry();
        try {
            Ledger.Verdict verdict = apply(entry);
            updateLastAppliedTermIndex(entry.getTerm(), entry.getIndex());
            host.decided();
            return CompletableFuture.completedFuture(
                    Message.valueOf(ByteString.copyFrom(verdict.name(), StandardCharsets.US_ASCII)));
        } catch (RuntimeException e) { // skipped by Ratis if it were told of it by the future
            host.broken(e);
            throw e;
        }
    }

    private synchronized Ledger.Verdict apply(LogEntryProto entry) {
        ByteString bytes = entry.getStateMachineLogEntry().getLogData();
        Envelope envelope = Envelope.decode(bytes);
        Ledger.Verdict verdict = Ledger.Verdict.DELIVERED;
        if (envelope.kind() == Envelope.Kind.MESSAGE) {
            verdict = ledger.take(envelope.id());
            if (verdict != Ledger.Verdict.DELIVERED) {
                notDelivered.add(entry.getIndex());
            }
        } else if (envelope.kind() != Envelope.Kind.PLACE) {
            String name = StandardCharsets.UTF_8.decode(envelope.payload()).toString();
            ledger.want(new MemberId(name), envelope.kind() == Envelope.Kind.ADD);
        }
        unmarkedBytes += bytes.size();
        if (unmarkedBytes >= markBytes) {
            unmarkedBytes = 0;
            marks.addLast(new Mark(TermIndex.valueOf(entry), ByteString.copyFrom(ledger.encode())));
        }
        return verdict;
    }

    @Override
    public void notifyTermIndexUpdated(long term, long index) {
        super.notifyTermIndexUpdated(term, index);
        host.decided();
    }

    @Override
    public void notifyConfigurationChanged(long term, long index, RaftConfigurationProto configuration) {
        host.reconfigured(configuration);
    }

    @Override
    public void notifyLogFailed(Throwable cause, LogEntryProto entry) {
        host.broken(cause);
    }

    // --------------------------------------------------------------------------------------------------- snapshots

    /** Whether there is a place up to {@code index}, not before the last snapshot, to take the next one at. */
    synchronized boolean release(long index) {
        Mark found = null;
        while (!marks.isEmpty() && marks.getFirst().place().getIndex() < index) {
            found = marks.removeFirst();
        }
        if (found != null) {
            next = found;
        }
        return found != null;
    }

    @Override
    public synchronized long takeSnapshot() throws IOException {
        Mark mark = next;
        if (mark == null) {
            TermIndex from = begin;
            return from == null ? RaftLog.INVALID_LOG_INDEX : from.getIndex();
        }
        Path file = storage.getSnapshotFile(mark.place().getTerm(), mark.place().getIndex())
                .toPath();
        Path temporary = file.resolveSibling(file.getFileName() + ".new");
        try (FileOutputStream out = new FileOutputStream(temporary.toFile())) {
            mark.ledger().writeTo(out);
            out.getFD().sync();
        }
        MD5Hash digest = MD5FileUtil.computeMd5ForFile(temporary.toFile());
        MD5FileUtil.saveMD5File(file.toFile(), digest); // first: without it, it could not be read
        Files.move(temporary, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        storage.updateLatestSnapshot(new SingleFileSnapshotInfo(new FileInfo(file, digest), mark.place()));
        next = null;
        begin = mark.place();
        notDelivered.headSet(mark.place().getIndex(), true).clear();
        return mark.place().getIndex();
    }

    // ------------------------------------------------------------------------------------------------------- reading

    /** A stretch of the order, the last place of which need not be a message's. */
    record Stretch(List<org.gorda.jgcs.Message> messages, Position last) {}

    /**
     * Reads what follows a position that is held and decided.
     *
     * @return null if the log does not hold it any more
     */
    @Nullable
    Stretch read(RaftLog log, Position after, Position upTo, int bytesMax) throws RaftLogIOException {
        List<org.gorda.jgcs.Message> messages = new ArrayList<>();
        long bytes = 0;
        long index = after.index();
        LogEntryProto entry = null;
        // An index that follows a position is the position's own, one less.
        for (int left = ENTRIES_MAX; left > 0 && index < upTo.index() && bytes < bytesMax; left--, index++) {
            entry = log.get(index);
            org.gorda.jgcs.Message message = entry == null ? null : message(entry);
            // Asked after that: which entries are not delivered is forgotten once they are not held any more.
            if (entry == null || index < firstHeld().index()) {
                return null;
            }
            if (message != null) {
                messages.add(message);
                bytes += message.payload().remaining();
            }
        }
        return new Stretch(messages, entry == null ? after : position(entry.getTerm(), entry.getIndex()));
    }

    private org.gorda.jgcs.@Nullable Message message(LogEntryProto entry) {
        if (!entry.hasStateMachineLogEntry() || notDelivered.contains(entry.getIndex())) {
            return null;
        }
        Envelope envelope = Envelope.decode(entry.getStateMachineLogEntry().getLogData());
        return envelope.kind() != Envelope.Kind.MESSAGE
                ? null
                : new org.gorda.jgcs.Message(
                        position(entry.getTerm(), entry.getIndex()), envelope.id(), envelope.payload());
    }
}
