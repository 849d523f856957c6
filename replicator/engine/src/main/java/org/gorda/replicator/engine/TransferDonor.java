package org.gorda.replicator.engine;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.function.BiConsumer;
import org.gorda.gapi.FileTree;
import org.gorda.gapi.ReflectionException;
import org.gorda.jgcs.MemberId;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Gives a copy of this replica's database, with what the core knew at an earlier place in the order, to a member whom the log cannot bring
 * up to date. The joiner fetches part after part, so that it sets the pace; clients go on meanwhile. To one member at a time.
 * Thread-safe.
 */
final class TransferDonor implements AutoCloseable {

    /** What is given. */
    interface Source {

        /** Whether who wants that could get rows here at best, and has not said yet that these will do. */
        boolean isOfOtherKind(DirectMessage.Want want);

        /** Why there is nothing to give now; null if there is. */
        @Nullable
        String obstacle();

        /** Why what is being written may not get on; null if it does, for all that is known. */
        @Nullable
        String standstill();

        /**
         * Writes what the core knows now, and then the database as it is a little later.
         *
         * @param directory exists and is empty
         * @param want who gets it has the order's messages that follow an index, and knows what to do with which databases
         */
        void write(Path directory, DirectMessage.Want want) throws IOException;
    }

    private static final Logger LOG = LoggerFactory.getLogger(TransferDonor.class);
    private static final int WAITING_MAX = 256;

    /** A joiner that died has so long to come back and go on. */
    static final Duration KEPT = Duration.ofMinutes(2);

    /** A copy that failed is tried again after so long, and after twice that each time that it fails once more. */
    private static final long AGAIN_NANOS_MIN = TimeUnit.SECONDS.toNanos(1);

    private static final long AGAIN_NANOS_MAX = TimeUnit.MINUTES.toNanos(1);

    /** The largest part; a joiner asks for less. */
    static final int PART_BYTES_MAX = 1 << 20;

    /** What the last copy failed by, which one of the same kind may again, and until when none is tried. */
    private record Failure(String loads, String why, long nanos, long againNanos) {

        boolean isRecent() {
            return System.nanoTime() - nanos < againNanos;
        }
    }

    /** One copy for one member; {@code offer} is null and {@code failed} is false while it is being made. */
    private static final class Given {
        final MemberId to;
        final DirectMessage.Want want;
        final Path directory;
        final long began = System.nanoTime();
        volatile boolean discarded;
        volatile DirectMessage.@Nullable Offer offer;
        volatile boolean failed;
        long heardNanos = began;
        int openFile = -1;

        /** What was read last. */
        final ByteBuffer part = ByteBuffer.allocateDirect(PART_BYTES_MAX);

        @Nullable
        FileChannel open;

        Given(MemberId to, DirectMessage.Want want, Path directory) {
            this.to = to;
            this.want = want;
            this.directory = directory;
        }

        boolean isBeingMade() {
            return offer == null && !failed;
        }
    }

    private final MemberId self;
    private final Path directory;
    private final Source source;
    private final BiConsumer<MemberId, DirectMessage> sender;
    private final Duration kept;
    private final ThreadPoolExecutor executor;

    /** Confined to {@link #executor}. */
    private @Nullable Given given;

    /** A copy is being made, though perhaps nobody wants it any more: databases do not like to be interrupted. */
    private volatile boolean making;

    /** Null if the last copy has been made. */
    private volatile @Nullable Failure failure;

    private int copies;

    /** Who has not received what was copied last; confined to {@link #executor}, as the next. */
    private @Nullable MemberId copiedFor;

    /** How many copies were begun in a row for that one. */
    private int times;

    /**
     * @param sender has taken all of a message, with its bytes, when it returns
     * @param kept a copy is, after its joiner was last heard of
     */
    TransferDonor(
            MemberId self, Path directory, Source source, BiConsumer<MemberId, DirectMessage> sender, Duration kept) {
        this.self = self;
        this.directory = directory;
        this.source = source;
        this.sender = sender;
        this.kept = kept;
        this.executor = new ThreadPoolExecutor(
                1,
                1,
                30,
                TimeUnit.SECONDS,
                new ArrayBlockingQueue<>(WAITING_MAX),
                task -> daemon(
                        () -> {
                            LowPriority.here();
                            task.run();
                        },
                        "donor"),
                new ThreadPoolExecutor.DiscardPolicy()); // who is not answered asks again
        executor.allowCoreThreadTimeOut(true);
        executor.execute(() -> delete(directory)); // what an earlier run left
    }

    private Thread daemon(Runnable task, String role) {
        Thread thread = new Thread(task, "gorda-" + role + "-" + self);
        thread.setDaemon(true);
        return thread;
    }

    /** A joiner has sent this. */
    void received(MemberId from, DirectMessage message) {
        try {
            executor.execute(() -> answerOrGiveUp(from, message));
        } catch (OutOfMemoryError e) { // of threads: who is not answered asks again, and who calls is to go on
            LOG.warn("{}: could not give {} what it asked for: {}", self, from, e.getMessage());
        }
    }

    private void answerOrGiveUp(MemberId from, DirectMessage message) {
        try {
            answer(from, message);
        } catch (IOException | RuntimeException | Error e) {
            LOG.warn("{}: could not give {} what it asked for", self, from, e);
            discard();
        }
    }

    private void answer(MemberId from, DirectMessage message) throws IOException {
        Given now = given;
        if (now != null && now.to.equals(from)) {
            now.heardNanos = System.nanoTime();
        }
        if (message instanceof DirectMessage.Want want) {
            sender.accept(from, offer(from, want));
        } else if (message instanceof DirectMessage.Fetch fetch) {
            ByteBuffer bytes = read(from, fetch);
            sender.accept(
                    from,
                    bytes == null
                            ? new DirectMessage.Gone(fetch.transfer())
                            : new DirectMessage.Part(fetch.transfer(), fetch.file(), fetch.offset(), bytes));
        } else if (message instanceof DirectMessage.Done done) {
            if (now != null && isOffered(now, from, done.transfer())) {
                LOG.info("{}: {} needs the copy of the database no more", self, from);
                copiedFor = null;
                discard();
            }
        }
    }

    private static boolean isOffered(Given given, MemberId to, long transfer) {
        DirectMessage.Offer offer = given.offer;
        return offer != null && given.to.equals(to) && offer.transfer() == transfer;
    }

    private DirectMessage offer(MemberId from, DirectMessage.Want want) {
        if (source.isOfOtherKind(want)) {
            return DirectMessage.Wait.OTHER_KIND;
        }
        if (given != null && given.failed) {
            discard();
        }
        Given now = given;
        if (now != null && !now.to.equals(from)) {
            return new DirectMessage.Wait(false, "it gives its database to " + now.to + " now");
        }
        Failure before = failure;
        if (before != null && !before.loads.equals(want.loads())) {
            before = null;
        }
        if (now != null) {
            DirectMessage.Offer ready = now.offer;
            if (ready == null) {
                String standstill = source.standstill();
                if (standstill != null) { // who comes back finds the copy all the same
                    return new DirectMessage.Wait(false, standstill);
                }
                long seconds = TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - now.began);
                return new DirectMessage.Wait(true, copies() + ", since " + seconds + " s" + told(before));
            }
            if (now.want.firstHeld() >= want.firstHeld() && now.want.loads().equals(want.loads())) {
                return ready;
            }
        }
        discard();
        String obstacle = source.obstacle();
        if (obstacle != null) {
            return new DirectMessage.Wait(false, obstacle);
        }
        if (before != null && before.isRecent()) {
            return new DirectMessage.Wait(false, before.why);
        }
        if (making) {
            return new DirectMessage.Wait(false, "it still makes a copy that is not wanted any more");
        }
        Given next = new Given(from, want, directory.resolve(Integer.toString(++copies)));
        given = next;
        times = from.equals(copiedFor) ? times + 1 : 1;
        copiedFor = from;
        making = true;
        try {
            daemon(() -> make(next), "copy").start();
        } catch (Error e) { // there is no thread for it
            making = false;
            next.failed = true;
            Failure failed = failure(next, e);
            failure = failed;
            return new DirectMessage.Wait(false, failed.why);
        }
        return new DirectMessage.Wait(true, copies() + told(before));
    }

    private String copies() {
        return "it copies its database" + (times == 1 ? "" : " (begun " + times + " times)");
    }

    private static String told(@Nullable Failure before) {
        return before == null ? "" : "; before, " + before.why;
    }

    private void make(Given next) {
        try {
            LOG.info("{}: copies its database for {}", self, next.to);
            Files.createDirectories(next.directory);
            source.write(next.directory, next.want);
            List<DirectMessage.FileOffered> files = new ArrayList<>();
            for (Path file : FileTree.files(next.directory)) {
                String name = next.directory.relativize(file).toString().replace('\\', '/');
                files.add(new DirectMessage.FileOffered(name, Files.size(file), FileTree.checksum(file)));
            }
            DirectMessage.Offer made =
                    new DirectMessage.Offer(ThreadLocalRandom.current().nextLong() | 1, files);
            LOG.info(
                    "{}: the copy for {} is made, {} files of {} MB in {} s",
                    self,
                    next.to,
                    files.size(),
                    made.bytes() >> 20,
                    TimeUnit.NANOSECONDS.toSeconds(System.nanoTime() - next.began));
            failure = null;
            next.offer = made;
        } catch (IOException | RuntimeException | Error e) { // as the binding throws
            failure = failure(next, e);
        } finally {
            next.failed = next.offer == null; // also where there was no memory to say why
            making = false;
            if (next.discarded) {
                delete(next.directory);
            }
        }
    }

    /** Is logged once, however often it is met again. */
    private Failure failure(Given given, Throwable e) {
        String why = "its database could not be copied: " + (e instanceof Error ? e : e.getMessage());
        why = why.replace(given.directory.toString(), directory.toString()); // which is another one each time
        Failure before = failure;
        if (before == null || !before.why.equals(why)) {
            LOG.warn("{}: {} gets no copy; {}", self, given.to, why, e instanceof ReflectionException ? null : e);
        }
        long againNanos = before == null || !before.loads.equals(given.want.loads())
                ? AGAIN_NANOS_MIN
                : Math.min(2 * before.againNanos, AGAIN_NANOS_MAX);
        return new Failure(given.want.loads(), why, System.nanoTime(), againNanos);
    }

    /** What is there until the next call; null if it is not there. */
    private @Nullable ByteBuffer read(MemberId from, DirectMessage.Fetch fetch) throws IOException {
        Given now = given;
        if (now == null || !isOffered(now, from, fetch.transfer())) {
            return null;
        }
        DirectMessage.Offer offer = java.util.Objects.requireNonNull(now.offer);
        if (fetch.file() < 0
                || fetch.file() >= offer.files().size()
                || fetch.offset() < 0
                || fetch.bytes() < 0
                || fetch.bytes() > PART_BYTES_MAX
                || fetch.offset() + fetch.bytes()
                        > offer.files().get(fetch.file()).bytes()) {
            return null;
        }
        FileChannel channel = now.open;
        if (channel == null || now.openFile != fetch.file()) {
            close(channel);
            String name = offer.files().get(fetch.file()).name();
            channel = FileChannel.open(now.directory.resolve(name), StandardOpenOption.READ);
            now.open = channel;
            now.openFile = fetch.file();
        }
        ByteBuffer part = now.part.clear().limit(fetch.bytes());
        while (part.hasRemaining()) {
            if (channel.read(part, fetch.offset() + part.position()) < 0) {
                return null;
            }
        }
        return part.flip();
    }

    /** Forgets a copy whose joiner has not been heard of for long; to be called now and then. */
    void expire() {
        executor.execute(() -> {
            Given now = given;
            if (now != null && !now.isBeingMade() && System.nanoTime() - now.heardNanos > kept.toNanos()) {
                LOG.info("{}: {} has not asked for the database for {} s", self, now.to, kept.toSeconds());
                discard();
            }
        });
    }

    private void discard() {
        Given now = given;
        given = null;
        if (now == null) {
            return;
        }
        try {
            close(now.open);
        } catch (IOException e) {
            LOG.debug("{}: a file of a copy did not close", self, e);
        }
        now.discarded = true;
        if (!now.isBeingMade()) {
            delete(now.directory);
        }
    }

    private void delete(Path copy) {
        try {
            FileTree.delete(copy);
        } catch (IOException e) {
            LOG.warn("{}: {} could not be deleted", self, copy, e);
        }
    }

    private static void close(@Nullable FileChannel channel) throws IOException {
        if (channel != null) {
            channel.close();
        }
    }

    /** What a copy that is being made needs is closed by others; the next run deletes it. */
    @Override
    public void close() {
        executor.shutdownNow();
    }
}
