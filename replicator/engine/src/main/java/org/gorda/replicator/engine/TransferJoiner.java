package org.gorda.replicator.engine;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import java.util.function.Consumer;
import java.util.function.LongSupplier;
import java.util.function.Supplier;
import org.gorda.gapi.FileTree;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.View;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Receives a database from another replica, because the log does not reach back to what is held here. Asks one member after the other,
 * the leader last and who has another kind of database only after that, fetches part after part in order, and goes on where it was after a donor's silence, or its own restart. Each file is compared
 * with its checksum before it counts. {@link #run} is for a thread of its own, the rest is thread-safe.
 */
final class TransferJoiner implements Runnable, AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(TransferJoiner.class);
    private static final int PART_BYTES = 256 << 10;

    /** Asked for and not here yet: fills the way, and is far from filling the link's queue, which the order shares. */
    private static final long WINDOW_BYTES = 4 * PART_BYTES;

    private static final int ASK_MILLIS = 500;

    /** Who does not answer so many questions is not asked for now. */
    private static final int UNANSWERED_MAX = 4;

    /** A donor that has begun, and is silent for so many, is given up, and with it what it has given. */
    private static final int SILENT_MAX = 20;

    private static final int HARMED_MAX = 3;
    private static final long TELL_NANOS = TimeUnit.MILLISECONDS.toNanos(100);
    private static final long LOG_NANOS = TimeUnit.SECONDS.toNanos(5);
    private static final int INBOX_MAX = 64;

    private record Arrived(MemberId from, DirectMessage message) {}

    private final MemberId self;
    private final ReceivedDatabase received;
    private final long bytesPerSecond;
    private final String loads;
    private final Supplier<View> view;
    private final LongSupplier firstHeld;
    private final BiConsumer<MemberId, DirectMessage> sender;
    private final Consumer<String> progress;
    private final Runnable whenComplete;
    private final Consumer<Throwable> whenFailed;
    private final BlockingQueue<Arrived> inbox = new ArrayBlockingQueue<>(INBOX_MAX);
    private final ByteBuffer buffer = ReceivedFile.buffer();
    private volatile boolean closed;

    /** Who has said so: their rows are for when nobody else gives more. */
    private final List<MemberId> ofOtherKinds = new ArrayList<>();

    private String lacks = "";
    private long bytesDone;
    private long bytesAll;
    private long paceNanos;
    private long startedNanos;
    private long startedBytes;
    private long toldNanos = System.nanoTime() - TELL_NANOS;
    private long loggedNanos = System.nanoTime();

    /**
     * @param bytesPerSecond no more is asked for
     * @param loads as of {@link DirectMessage.Want}
     * @param firstHeld the log here holds what follows this index
     * @param progress is told what a person should know
     * @param whenComplete everything is on disk, and the database is to be replaced
     */
    TransferJoiner(
            MemberId self,
            ReceivedDatabase received,
            long bytesPerSecond,
            String loads,
            Supplier<View> view,
            LongSupplier firstHeld,
            BiConsumer<MemberId, DirectMessage> sender,
            Consumer<String> progress,
            Runnable whenComplete,
            Consumer<Throwable> whenFailed) {
        this.self = self;
        this.received = received;
        this.bytesPerSecond = bytesPerSecond;
        this.loads = loads;
        this.view = view;
        this.firstHeld = firstHeld;
        this.sender = sender;
        this.progress = progress;
        this.whenComplete = whenComplete;
        this.whenFailed = whenFailed;
    }

    /** A donor has sent this. What is too much is lost and asked for again. */
    void received(MemberId from, DirectMessage message) {
        if (!inbox.offer(new Arrived(from, message))) {
            LOG.debug("{}: a message of {} is dropped", self, from);
        }
    }

    @Override
    public void close() {
        closed = true;
    }

    @Override
    public void run() {
        try {
            while (!receive()) {
                if (closed) {
                    return;
                }
                TimeUnit.MILLISECONDS.sleep(ASK_MILLIS);
            }
            if (!closed) {
                whenComplete.run();
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
        } catch (IOException | RuntimeException | Error e) { // of a disk, above all
            whenFailed.accept(e);
        }
    }

    private boolean receive() throws IOException, InterruptedException {
        ofOtherKinds.clear();
        for (MemberId donor : candidates()) {
            if (receive(donor, loads)) {
                return true;
            }
        }
        for (MemberId donor : List.copyOf(ofOtherKinds)) {
            if (receive(donor, "")) {
                return true;
            }
        }
        return false;
    }

    private boolean receive(MemberId donor, String wanted) throws IOException, InterruptedException {
        DirectMessage.Offer offer = closed ? null : ask(donor, wanted);
        if (offer == null) {
            return false;
        }
        DirectMessage.Offer begun = received.offer();
        if (begun == null || begun.transfer() != offer.transfer()) {
            received.begin(donor, offer);
        }
        if (!fetchAll(donor, offer)) {
            return false;
        }
        sender.accept(donor, new DirectMessage.Done(offer.transfer()));
        return true;
    }

    /** Whoever has begun first; the leader, who has most to do, last. */
    private List<MemberId> candidates() throws IOException {
        View now = view.get();
        MemberId begun = received.donor();
        List<MemberId> others = new ArrayList<>(now.members());
        others.remove(self);
        others.sort(Comparator.comparing((MemberId member) -> !member.equals(begun))
                .thenComparing(now::isLeader)
                .thenComparing(Comparator.naturalOrder()));
        if (others.isEmpty()) {
            progress.accept("needs the database from another replica, and knows of none");
        }
        return others;
    }

    /** Null if that member cannot give it now. */
    private DirectMessage.@Nullable Offer ask(MemberId donor, String wanted) throws InterruptedException {
        for (int silent = 0; silent < UNANSWERED_MAX && !closed; ) {
            sender.accept(donor, new DirectMessage.Want(firstHeld.getAsLong(), wanted));
            DirectMessage answer = next(donor);
            if (answer instanceof DirectMessage.Offer offer) {
                return offer;
            } else if (answer instanceof DirectMessage.Wait wait) {
                progress.accept("needs the database from another replica; " + donor + " says: " + wait.why());
                if (wait.equals(DirectMessage.Wait.OTHER_KIND)) {
                    ofOtherKinds.add(donor);
                }
                if (!wait.begun()) {
                    return null;
                }
                silent = 0;
                TimeUnit.MILLISECONDS.sleep(ASK_MILLIS);
            } else if (answer == null) {
                silent++;
                progress.accept("needs the database from another replica; " + donor + " does not answer");
            }
        }
        return null;
    }

    /** What the donor says next; null if it says nothing for a while. */
    private @Nullable DirectMessage next(MemberId donor) throws InterruptedException {
        long end = System.nanoTime() + TimeUnit.MILLISECONDS.toNanos(ASK_MILLIS);
        while (true) {
            Arrived next = inbox.poll(end - System.nanoTime(), TimeUnit.NANOSECONDS);
            if (next == null || next.from().equals(donor)) {
                return next == null ? null : next.message();
            }
        }
    }

    private boolean fetchAll(MemberId donor, DirectMessage.Offer offer) throws IOException, InterruptedException {
        bytesAll = offer.bytes();
        for (int tries = 0; tries < HARMED_MAX; tries++) {
            bytesDone = 0;
            startedBytes = 0;
            for (DirectMessage.FileOffered file : offer.files()) {
                Path path = received.file(file);
                startedBytes += Files.exists(path) ? Math.min(Files.size(path), file.bytes()) : 0;
            }
            lacks = lacks(bytesAll - startedBytes);
            startedNanos = System.nanoTime();
            paceNanos = startedNanos;
            int harmed = 0;
            for (int number = 0; number < offer.files().size(); number++) {
                DirectMessage.FileOffered file = offer.files().get(number);
                Path path = received.file(file);
                Files.createDirectories(path.getParent());
                try (ReceivedFile out = new ReceivedFile(path, file.bytes(), buffer)) {
                    if (!fetch(donor, offer, number, out)) {
                        return false;
                    }
                    if (out.checksum() != file.checksum()) {
                        LOG.warn("{} is not what was sent: it is received again", path);
                        Files.delete(path);
                        harmed++;
                    }
                }
            }
            if (harmed == 0) {
                received.complete();
                LOG.info(
                        "{}: has received {} MB from {} in {} s",
                        self,
                        bytesAll >> 20,
                        donor,
                        TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - startedNanos));
                return true;
            }
        }
        LOG.warn("{}: the copy of {} itself is harmed: another one is asked for", self, donor);
        sender.accept(donor, new DirectMessage.Done(offer.transfer()));
        received.forget();
        return false;
    }

    /** What people are told while it may not fit; it is received all the same, as they can make room meanwhile. */
    private String lacks(long bytes) throws IOException {
        long usable = received.usableBytes();
        if (usable >= bytes + FileTree.ROOM_LEFT) {
            return "";
        }
        String lacking = "; that disk has room for " + (usable >> 20) + " MB only: make room there";
        LOG.warn("{}: receives a database of {} MB{}", self, bytes >> 20, lacking);
        return lacking;
    }

    private boolean fetch(MemberId donor, DirectMessage.Offer offer, int number, ReceivedFile out)
            throws IOException, InterruptedException {
        long bytesOfFile = offer.files().get(number).bytes();
        bytesDone += out.bytes();
        long asked = out.bytes();
        int silent = 0;
        while (out.bytes() < bytesOfFile) {
            while (asked < bytesOfFile && asked - out.bytes() < WINDOW_BYTES) {
                int bytes = (int) Math.min(PART_BYTES, bytesOfFile - asked);
                pace(bytes);
                sender.accept(donor, new DirectMessage.Fetch(offer.transfer(), number, asked, bytes));
                asked += bytes;
            }
            DirectMessage next = next(donor);
            if (closed || (next instanceof DirectMessage.Gone gone && gone.transfer() == offer.transfer())) {
                return false;
            }
            if (next instanceof DirectMessage.Part part
                    && part.transfer() == offer.transfer()
                    && part.file() == number
                    && part.offset() == out.bytes()
                    && part.bytes().remaining() <= bytesOfFile - out.bytes()) {
                bytesDone += part.bytes().remaining();
                out.append(part.bytes());
                silent = 0;
                tell(donor);
            } else if (next == null) {
                silent++;
                if (silent >= SILENT_MAX || !view.get().members().contains(donor)) {
                    LOG.warn("{}: {} does not go on giving its database", self, donor);
                    return false;
                }
                asked = out.bytes(); // what was asked for is lost, or its answers are
            }
        }
        out.finish();
        return true;
    }

    /** Waits until the rate allows for so many bytes more. */
    private void pace(int bytes) throws InterruptedException {
        long now = System.nanoTime();
        paceNanos = Math.max(paceNanos, now - TimeUnit.MILLISECONDS.toNanos(ASK_MILLIS));
        paceNanos += TimeUnit.SECONDS.toNanos(1) / 1024 * bytes / Math.max(1, bytesPerSecond / 1024);
        if (paceNanos > now) {
            TimeUnit.NANOSECONDS.sleep(paceNanos - now);
        }
    }

    private void tell(MemberId donor) {
        long now = System.nanoTime();
        if (now - toldNanos < TELL_NANOS) {
            return;
        }
        toldNanos = now;
        double seconds = Math.max(1e-3, (now - startedNanos) / 1e9);
        double rate = (bytesDone - startedBytes) / seconds;
        String text = String.format(
                Locale.ROOT,
                "receives the database from %s: %,d of %,d MB, %,.1f MB/s%s%s",
                donor,
                bytesDone >> 20,
                bytesAll >> 20,
                rate / (1 << 20),
                rate > 0
                        ? String.format(Locale.ROOT, ", about %,d s left", Math.round((bytesAll - bytesDone) / rate))
                        : "",
                lacks);
        progress.accept(text);
        if (now - loggedNanos > LOG_NANOS) {
            loggedNanos = now;
            LOG.info("{}: {}", self, text);
        }
    }
}
