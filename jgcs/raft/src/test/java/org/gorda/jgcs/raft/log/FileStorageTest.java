package org.gorda.jgcs.raft.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import ch.qos.logback.classic.Level;
import ch.qos.logback.classic.Logger;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.lang.reflect.Field;
import java.nio.ByteBuffer;
import java.nio.channels.ClosedChannelException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.FileTime;
import java.time.Instant;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.BrokenBarrierException;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.CyclicBarrier;
import java.util.concurrent.ExecutionException;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.History;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.raft.core.Checkpoint;
import org.gorda.jgcs.raft.core.CorruptEntryException;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.raft.core.Standing;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.slf4j.LoggerFactory;

/**
 * What a start makes of a directory that was harmed: the longest correct beginning of the log, with the knowledge that some of what
 * was acknowledged may be lost; or a refusal that names the file.
 */
class FileStorageTest {

    private static final int SEGMENT_HEADER_BYTES = 18;
    private static final int LARGE = 400_000;

    @TempDir
    Path temporary;

    private Directory directory;

    /** Says once for each harmed directory what is wrong with it: too much here. */
    @BeforeAll
    static void warnLess() {
        ((Logger) LoggerFactory.getLogger(FileStorage.class)).setLevel(Level.ERROR);
    }

    @AfterAll
    static void warnAgain() {
        ((Logger) LoggerFactory.getLogger(FileStorage.class)).setLevel(null);
    }

    @BeforeEach
    void nameDirectory() {
        directory = new Directory(temporary.resolve("member"));
    }

    /** Three segments of three large entries each. */
    private static List<Entry> large() {
        return Directory.entries(1, 9, 3, LARGE);
    }

    private static Checkpoint checkpoint(long index, long term) {
        return new Checkpoint(
                index, term, Directory.FORMED, ByteBuffer.wrap("state".getBytes(StandardCharsets.US_ASCII)));
    }

    private static List<byte[]> encoded(List<Entry> entries) {
        List<byte[]> encoded = new ArrayList<>();
        for (Entry entry : entries) {
            encoded.add(java.util.Arrays.copyOfRange(entry.bytes(), entry.offset(), entry.offset() + entry.length()));
        }
        return encoded;
    }

    private static void assertEqual(List<Entry> actual, List<Entry> expected, String how) {
        assertThat(actual.size()).as(how).isEqualTo(expected.size());
        List<byte[]> expectedBytes = encoded(expected);
        List<byte[]> actualBytes = encoded(actual);
        for (int i = 0; i < expectedBytes.size(); i++) {
            assertThat(actualBytes.get(i)).as(how).isEqualTo(expectedBytes.get(i));
        }
    }

    /**
     * The directory holds {@code kept}, with this standing; the log can be continued, and what is appended then is there after
     * another start.
     */
    private static void assertRecovers(Directory harmed, List<Entry> kept, Standing standing, String how) {
        Directory.Found found = harmed.start();
        if (found.isRefused()) {
            throw new AssertionError(how, found.refusal());
        }
        assertThat(found.standing()).as(how).isEqualTo(standing);
        assertThat(found.term()).as(how).isEqualTo(Directory.TERM);
        assertThat(found.vote()).as(how).isEqualTo(Directory.VOTED);
        assertEqual(found.entries(), kept, how);
        assertContinues(harmed, found, how);
    }

    private static void assertContinues(Directory harmed, Directory.Found found, String how) {
        List<Entry> next = Directory.entries(found.lastIndex() + 1, found.lastIndex() + 2, Directory.TERM, 30);
        try (FileStorage storage = harmed.storage()) {
            assertThat(storage.open(entry -> {}).standing())
                    .as(how + ", started again")
                    .isEqualTo(found.standing());
            Directory.append(storage, next);
        }
        List<Entry> expected = new ArrayList<>(found.entries());
        expected.addAll(next);
        Directory.Found again = harmed.start();
        assertThat(again.refusal()).as(how + ", continued").isNull();
        assertThat(again.standing()).as(how + ", continued").isEqualTo(found.standing());
        assertEqual(again.entries(), expected, how + ", continued");
    }

    private static void assertRefused(Directory harmed, String name) {
        Directory.Found found = harmed.start();
        assertThat(found.isRefused()).as("harmed " + name).isTrue();
        String message =
                String.valueOf(java.util.Objects.requireNonNull(found.refusal()).getMessage());
        assertThat(message).contains(name).doesNotContain("\n");
        assertThat(message).contains(harmed.path().toString());
        assertThat(harmed.start().isRefused())
                .as("harmed " + name + ", started again")
                .isTrue();
    }

    // ---------------------------------------------------------------------------------------------------- the tail

    @Test
    void keepsEverythingWhenItsProcessIsKilled() {
        List<Entry> written = Directory.entries(1, 5, 3, 40);
        assertRecovers(directory.fill(written), written, Standing.CERTAIN, "killed");
    }

    @Test
    void knowsThatAnAcknowledgedEntryIsLostWhereverTheFileWasCut() throws IOException {
        List<Entry> written = Directory.entries(1, 4, 3, 23);
        directory.fill(written);
        long length = Files.size(directory.segment(1));
        int entry = Entry.HEADER_BYTES + 23;
        for (long at = 0; at < length; at++) {
            Directory harmed = directory.copyTo(temporary.resolve("copy"));
            Directory.cut(harmed.segment(1), at);
            int kept = (int) Math.max(0, (at - SEGMENT_HEADER_BYTES) / entry);
            assertRecovers(harmed, written.subList(0, kept), Standing.UNCERTAIN, "cut at " + at);
        }
    }

    @Test
    void forgetsNothingWhenOnlyWhatItHadNotAcknowledgedIsTorn() throws IOException {
        List<Entry> written = Directory.entries(1, 4, 3, 23);
        directory.fill(written.subList(0, 2));
        try (FileStorage storage = directory.storage()) {
            storage.open(entry -> {});
            storage.append(written.subList(2, 4));
        }
        int entry = Entry.HEADER_BYTES + 23;
        long acknowledged = SEGMENT_HEADER_BYTES + 2L * entry;
        for (long at = acknowledged; at <= Files.size(directory.segment(1)); at++) {
            Directory harmed = directory.copyTo(temporary.resolve("copy"));
            Directory.cut(harmed.segment(1), at);
            int kept = 2 + (int) ((at - acknowledged) / entry);
            assertRecovers(harmed, written.subList(0, kept), Standing.CERTAIN, "cut at " + at);
        }
    }

    @Test
    void doubtsItsLogAfterTheMachineStoppedUnlessItWasForced() throws IOException {
        List<Entry> written = Directory.entries(1, 4, 3, 23);
        assertRecovers(directory.fill(written).afterReboot(), written, Standing.UNCERTAIN, "written, stopped");

        Directory synced = new Directory(temporary.resolve("synced"));
        synced.fill(written);
        try (FileStorage storage = synced.storage(Service.Durability.SYNCED)) {
            storage.open(entry -> {});
        }
        assertRecovers(synced.afterReboot(), written, Standing.CERTAIN, "synced, stopped");

        Directory clean = new Directory(temporary.resolve("clean"));
        clean.fill(written);
        try (FileStorage storage = clean.storage()) {
            storage.open(entry -> {});
            storage.close(true);
        }
        assertRecovers(clean.afterReboot(), written, Standing.CERTAIN, "closed, stopped");
    }

    /** Who has lost what lies before it has lost it, too, and nobody elects who lacks a configuration that he knows of. */
    @Test
    void aConfigurationIsForcedWithAllThatLiesBeforeIt() {
        try (FileStorage storage = directory.storage()) {
            storage.open(entry -> {});
            storage.append(large());
            assertThat(unforced(storage)).isNotEmpty();
            storage.append(List.of(Entry.of(3, 10, Entry.Kind.CONFIGURATION, Directory.FORMED.encode())));
            assertThat(unforced(storage)).isEmpty();
        }
    }

    private static List<Object> unforced(FileStorage storage) {
        return ((Map<?, ?>) field(storage, "segments"))
                .values().stream()
                        .filter(segment -> Boolean.TRUE.equals(field(segment, "unforced")))
                        .collect(Collectors.toList());
    }

    private static Object field(Object of, String name) {
        try {
            Field field = of.getClass().getDeclaredField(name);
            field.setAccessible(true);
            return field.get(of);
        } catch (ReflectiveOperationException e) {
            throw new LinkageError(e.toString(), e);
        }
    }

    @Test
    void doubtsItsLogUntilToldThatNothingIsMissingAnyMore() throws IOException {
        List<Entry> written = Directory.entries(1, 4, 3, 23);
        directory.fill(written);
        Directory.cut(directory.segment(1), SEGMENT_HEADER_BYTES + 60);
        assertThat(directory.start().standing()).isEqualTo(Standing.UNCERTAIN);
        assertThat(directory.start().standing()).isEqualTo(Standing.UNCERTAIN);
        try (FileStorage storage = directory.storage()) {
            storage.open(entry -> {});
            Directory.append(storage, written.subList(1, 4));
            storage.saveCertain();
        }
        assertRecovers(directory, written, Standing.CERTAIN, "caught up");
    }

    @Test
    void doesNotTakeARemnantOfACutOffTermForTheEndOfTheLog() throws IOException {
        List<Entry> old = Directory.entries(1, 4, 3, 23);
        List<Entry> next = Directory.entries(2, 2, 5, 23);
        directory.fill(List.of(old.get(0), next.get(0)));
        byte[] remnant = encoded(old.subList(2, 3)).get(0);
        Files.write(directory.segment(1), remnant, java.nio.file.StandardOpenOption.APPEND);

        assertRecovers(directory, List.of(old.get(0), next.get(0)), Standing.CERTAIN, "a remnant");
    }

    // ---------------------------------------------------------------------------------------------- flipped bits

    @Test
    void keepsWhatPrecedesAFlippedBit() throws IOException {
        List<Entry> written = Directory.entries(1, 4, 3, 23);
        directory.fill(written);
        long length = Files.size(directory.segment(1));
        int entry = Entry.HEADER_BYTES + 23;
        for (long at = 0; at < length; at += at > 80 && at < length - 55 ? 5 : 1) {
            Directory harmed = directory.copyTo(temporary.resolve("copy"));
            Directory.flip(harmed.segment(1), at, 1 << at % 8);
            int kept = (int) Math.max(0, (at - SEGMENT_HEADER_BYTES) / entry);
            assertRecovers(harmed, written.subList(0, kept), Standing.UNCERTAIN, "flipped at " + at);
            assertThat(harmed.file(Segment.fileName(1) + ".damaged")).exists();
        }
    }

    @Test
    void dropsWhatFollowsAFlippedBitInAnEarlierSegment() throws IOException {
        directory.fill(large());
        List<Long> firsts = List.of(1L, 4L, 7L);
        assertThat(directory.segments())
                .isEqualTo(firsts.stream().map(directory::segment).toList());
        int entry = Entry.HEADER_BYTES + LARGE;
        for (int segment = 0; segment < 3; segment++) {
            for (int at : new int[] {3, 12, SEGMENT_HEADER_BYTES + 1, SEGMENT_HEADER_BYTES + entry + 20, 2 * entry}) {
                Directory harmed = directory.copyTo(temporary.resolve("copy"));
                Directory.flip(harmed.segment(firsts.get(segment)), at, 16);
                int kept = 3 * segment + Math.max(0, (at - SEGMENT_HEADER_BYTES) / entry);
                assertRecovers(
                        harmed,
                        large().subList(0, kept),
                        Standing.UNCERTAIN,
                        "flipped at " + at + " of segment " + firsts.get(segment));
            }
        }
    }

    @Test
    void refusesADamagedCheckpoint() throws IOException {
        directory.fill(Directory.entries(1, 4, 3, 23));
        try (FileStorage storage = directory.storage()) {
            storage.open(entry -> {});
            storage.prepare(checkpoint(2, 3));
        }
        Path file = directory.file("checkpoint");
        long length = Files.size(file);
        for (long at = 0; at < length; at++) {
            Directory harmed = directory.copyTo(temporary.resolve("copy"));
            Directory.flip(harmed.file("checkpoint"), at, 1 << at % 8);
            assertRefused(harmed, "checkpoint");
            harmed = directory.copyTo(temporary.resolve("copy"));
            Directory.cut(harmed.file("checkpoint"), at);
            assertRefused(harmed, "checkpoint");
        }
    }

    @Test
    void keepsTermAndVoteWhicheverBitOfItsStateFlips() throws IOException {
        List<Entry> written = Directory.entries(1, 2, 3, 23);
        directory.fill(written);
        for (int slot = 0; slot < 2; slot++) {
            for (int at = 0; at < 60; at++) {
                Directory harmed = directory.copyTo(temporary.resolve("copy"));
                Directory.flip(harmed.file("state"), slot * 512L + at, 1 << at % 8);
                Directory.Found found = harmed.start();
                assertThat(found.refusal()).isNull();
                assertThat(found.term()).as("flipped at " + at).isEqualTo(Directory.TERM);
                assertThat(found.vote()).as("flipped at " + at).isEqualTo(Directory.VOTED);
            }
        }
    }

    @Test
    void refusesAStateThatIsDamagedInBothSlotsOrGone() throws IOException {
        directory.fill(List.of());
        Directory harmed = directory.copyTo(temporary.resolve("copy"));
        Directory.flip(harmed.file("state"), 10, 1);
        Directory.flip(harmed.file("state"), 512 + 10, 1);
        assertRefused(harmed, "state");

        harmed = directory.copyTo(temporary.resolve("copy"));
        Files.delete(harmed.file("state"));
        assertRefused(harmed, "state");

        for (int length : new int[] {0, 1, 512, 1023}) {
            harmed = directory.copyTo(temporary.resolve("copy"));
            Directory.cut(harmed.file("state"), length);
            assertRefused(harmed, "state");
        }
    }

    @Test
    void startsThoughItWasKilledWhileItCreatedItsState() throws IOException {
        try (FileStorage storage = directory.storage()) {
            storage.open(entry -> {});
        }
        for (int length : new int[] {0, 512, 1023}) {
            Directory.cut(directory.file("state"), length);
            assertThat(directory.start().standing()).isEqualTo(Standing.FRESH);
        }
    }

    @Test
    void refusesAnIdentityWithAFlippedBitOrTakesItAsItWas() throws IOException {
        directory.fill(Directory.entries(1, 2, 3, 23));
        byte[] identity = Files.readAllBytes(directory.file("identity"));
        Path copy = temporary.resolve("identity");
        for (int at = 0; at < identity.length; at++) {
            for (int bit = 0; bit < 8; bit++) {
                Files.write(copy, identity);
                Directory.flip(copy, at, 1 << bit);
                String how = "flipped bit " + bit + " at " + at;
                try {
                    Identity loaded = Identity.load(copy);
                    assertThat(loaded)
                            .as(how)
                            .isEqualTo(new Identity(
                                    "bank",
                                    Directory.SELF,
                                    Directory.ADMISSION,
                                    true,
                                    Directory.FORMED,
                                    History.UNKNOWN,
                                    ""));
                } catch (GroupException e) {
                    assertThat(e).as(how).hasMessageContaining(copy.toString());
                }
            }
        }
        for (int length = 0; length < identity.length - 1; length += 7) {
            Directory harmed = directory.copyTo(temporary.resolve("copy"));
            Directory.cut(harmed.file("identity"), length);
            assertRefused(harmed, "identity");
        }
    }

    @Test
    void neverTakesALostTailForWholeWhicheverBitOfItsMarkFlips() throws IOException {
        List<Entry> written = Directory.entries(1, 4, 3, 23);
        directory.fill(written);
        Directory cut = directory.copyTo(temporary.resolve("cut"));
        Directory.cut(cut.segment(1), SEGMENT_HEADER_BYTES + 3 * 48);
        Directory doubting = cut.copyTo(temporary.resolve("doubting"));
        assertThat(doubting.start().standing()).isEqualTo(Standing.UNCERTAIN);
        Directory stopped = directory.copyTo(temporary.resolve("stopped")).afterReboot();
        for (Directory lacking : List.of(cut, doubting, stopped)) {
            for (int at = 0; at < 48; at++) {
                for (int bit = at < 8 ? 0 : at % 3; bit < 8; bit += at < 8 ? 1 : 3) {
                    Directory harmed = lacking.copyTo(temporary.resolve("copy"));
                    Directory.flip(harmed.file("mark"), at, 1 << bit);
                    assertThat(harmed.start().standing())
                            .as(lacking.path().getFileName() + ", flipped bit " + bit + " at " + at)
                            .isEqualTo(Standing.UNCERTAIN);
                }
            }
        }
    }

    @Test
    void doubtsItsLogWithoutAMark() throws IOException {
        List<Entry> written = Directory.entries(1, 4, 3, 23);
        directory.fill(written);
        Files.delete(directory.file("mark"));
        assertRecovers(directory, written, Standing.UNCERTAIN, "no mark");
    }

    @Test
    void saysWhichFileIsDamagedWhereWhenItReadsAnEntryLater() throws IOException {
        List<Entry> written = Directory.entries(1, 4, 3, 23);
        int entry = Entry.HEADER_BYTES + 23;
        for (int field = 0; field < entry; field++) {
            Path path = temporary.resolve("segment" + field);
            Files.createDirectories(path);
            try (Segment segment = Segment.create(path, 1)) {
                segment.append(written);
                long at = (long) SEGMENT_HEADER_BYTES + entry + field;
                Directory.flip(segment.path, at, 0x80);
                for (long from = 2; from <= 4; from++) {
                    List<Entry> read = new ArrayList<>();
                    try {
                        segment.read(from, 4, 1 << 20, read);
                        assertThat(from)
                                .as("read past the damage in field byte " + field)
                                .isGreaterThan(2);
                    } catch (CorruptEntryException e) {
                        assertThat(e).hasMessageContaining(segment.path + " is damaged at byte ");
                    }
                }
            }
        }
    }

    /** The system may take for written what it could not write, and would not try it again. */
    @Test
    void writesAgainWhatMayNotBeOnDisk() throws IOException {
        directory.fill(Directory.entries(1, 4, 3, 23));
        Path segment = directory.segment(1);
        FileTime longAgo = FileTime.from(Instant.EPOCH);
        Files.setLastModifiedTime(segment, longAgo);
        directory.start();
        assertThat(Files.getLastModifiedTime(segment)).isEqualTo(longAgo);

        Entry configuration = Entry.of(Directory.TERM, 5, Entry.Kind.CONFIGURATION, Directory.FORMED.encode());
        Path inTheWay = directory.file("identity.new");
        try (FileStorage storage = directory.storage()) {
            storage.open(entry -> {});
            Files.createDirectory(inTheWay);
            assertThatThrownBy(() -> storage.append(List.of(configuration))).isInstanceOf(UncheckedIOException.class);
        }
        Files.delete(inTheWay);
        Files.setLastModifiedTime(segment, longAgo);
        Directory.Found found = directory.start();
        assertThat(found.standing()).isEqualTo(Standing.CERTAIN);
        assertThat(found.lastIndex()).isEqualTo(5);
        assertThat(Files.getLastModifiedTime(segment)).isGreaterThan(longAgo);

        Files.setLastModifiedTime(segment, longAgo);
        directory.start();
        assertThat(Files.getLastModifiedTime(segment)).as("once").isEqualTo(longAgo);
    }

    // ------------------------------------------------------------------------------------------------ lost files

    @Test
    void keepsWhatPrecedesAMissingSegment() throws IOException {
        directory.fill(large());
        long first = 1;
        for (int kept : new int[] {0, 3, 6}) {
            Directory harmed = directory.copyTo(temporary.resolve("copy"));
            Files.delete(harmed.segment(first));
            assertRecovers(harmed, large().subList(0, kept), Standing.UNCERTAIN, "without segment " + first);
            first += 3;
        }
    }

    @Test
    void isAnotherMemberWhenItsDirectoryWasDeleted() throws IOException {
        directory.fill(Directory.entries(1, 2, 3, 23));
        GroupConfiguration configuration = GroupConfiguration.builder("bank", Directory.SELF, temporary.resolve("new"))
                .build();
        try (FileStorage storage = new FileStorage(configuration, () -> 99)) {
            assertThat(storage.open(entry -> {}).standing()).isEqualTo(Standing.FRESH);
            assertThat(storage.admission()).isEqualTo(99).isNotEqualTo(Directory.ADMISSION);
        }
    }

    @Test
    void refusesFilesWithoutAnIdentity() throws IOException {
        directory.fill(Directory.entries(1, 2, 3, 23));
        for (String left : List.of("state", "mark", Segment.fileName(1))) {
            Directory harmed = new Directory(temporary.resolve("only-" + left));
            Files.createDirectories(harmed.path());
            Files.copy(directory.file(left), harmed.file(left));
            assertRefused(harmed, left);
        }
    }

    @Test
    void ignoresATemporaryFileOfAnInterruptedReplacement() throws IOException {
        List<Entry> written = Directory.entries(1, 4, 3, 23);
        directory.fill(written);
        Files.writeString(directory.file("checkpoint.new"), "half a checkp");
        Files.writeString(directory.file("identity.new"), "");
        assertRecovers(directory, written, Standing.CERTAIN, "left-over files");
        try (FileStorage storage = directory.storage()) {
            storage.open(entry -> {});
            storage.prepare(checkpoint(2, 3));
            storage.saveAdmitted(Directory.FORMED);
        }
        Directory.Found found = directory.start();
        assertThat(found.base()).isEqualTo(2);
        assertThat(found.standing()).isEqualTo(Standing.CERTAIN);
    }

    @Test
    void refusesAFileThatIsNoSegment() throws IOException {
        directory.fill(Directory.entries(1, 2, 3, 23));
        Files.writeString(directory.file("notes.log"), "");
        assertRefused(directory, "notes.log");
    }

    @Test
    void continuesASegmentWhoseCreationWasInterrupted() throws IOException {
        List<Entry> written = Directory.entries(1, 3, 3, LARGE);
        directory.fill(written);
        Files.createFile(directory.segment(4));
        assertRecovers(directory, written, Standing.CERTAIN, "an empty segment");
    }

    // ----------------------------------------------------------------------------------------------- checkpoints

    @Test
    void continuesBehindACheckpointThatItsLogDoesNotReach() throws IOException {
        List<Entry> written = Directory.entries(1, 4, 3, 23);
        directory.fill(written);
        // As a kill leaves it in the midst of installing: the checkpoint is there, the old segments too.
        Directory ahead = new Directory(temporary.resolve("ahead"));
        try (FileStorage storage = ahead.storage()) {
            storage.open(entry -> {});
            storage.prepare(checkpoint(10, 5));
        }
        Files.copy(ahead.file("checkpoint"), directory.file("checkpoint"));

        Directory.Found found = directory.start();

        assertThat(found.refusal()).isNull();
        assertThat(found.standing()).isEqualTo(Standing.CERTAIN);
        assertThat(found.lastIndex()).isEqualTo(10);
        assertContinues(directory, found, "behind the checkpoint");
    }

    @Test
    void continuesBehindACheckpointWithinADamagedSegment() throws IOException {
        List<Entry> written = Directory.entries(1, 4, 3, 23);
        directory.fill(written);
        try (FileStorage storage = directory.storage()) {
            storage.open(entry -> {});
            storage.prepare(checkpoint(3, 3));
        }
        Directory.flip(directory.segment(1), SEGMENT_HEADER_BYTES + 48 + 30, 1);

        Directory.Found found = directory.start();

        assertThat(found.standing()).isEqualTo(Standing.UNCERTAIN);
        assertThat(found.lastIndex()).isEqualTo(3);
        assertContinues(directory, found, "behind the checkpoint");
    }

    @Test
    void replacesALogThatContradictsAnInstalledCheckpoint() {
        directory.fill(Directory.entries(1, 9, 3, 23));
        try (FileStorage storage = directory.storage()) {
            storage.open(entry -> {});
            storage.install(checkpoint(5, 6));
            assertThat(storage.read(5, 9, 1 << 20)).isEmpty();
            Directory.append(storage, Directory.entries(6, 7, 6, 23));
        }
        Directory.Found found = directory.start();
        assertThat(found.standing()).isEqualTo(Standing.CERTAIN);
        assertThat(found.base()).isEqualTo(5);
        assertEqual(found.entries(), Directory.entries(6, 7, 6, 23), "installed");
    }

    /** As the disk's thread does for its own checkpoint while the leader's replaces the log. */
    @Test
    void readsNothingOrEverythingWhileTheLogIsReplaced() throws Exception {
        for (int i = 0; i < 100; i++) {
            Directory replaced = new Directory(temporary.resolve("replaced" + i));
            replaced.fill(large());
            try (FileStorage storage = replaced.storageWithoutCache()) {
                storage.open(entry -> {});
                CyclicBarrier together = new CyclicBarrier(2);
                CompletableFuture<Void> reading = CompletableFuture.runAsync(() -> {
                    await(together);
                    for (long next = 1; next < 100; next++) {
                        List<Entry> entries = storage.read(1 + next % 6, 9, 1);
                        if (!entries.isEmpty()) {
                            assertThat(entries.get(0).index()).isEqualTo(1 + next % 6);
                        }
                    }
                });
                await(together);
                storage.install(checkpoint(20, 6));
                reading.get(30, TimeUnit.SECONDS);
                assertThat(storage.read(1, 9, 1)).isEmpty();
            }
        }
    }

    /** What is not in the cache: the file is closed when it is removed. */
    @Test
    void readsAllOfASegmentOrIsToldThatItIsClosed() throws Exception {
        int closed = 0;
        for (int i = 0; i < 100; i++) {
            Segment segment = Segment.create(Files.createDirectories(temporary.resolve("segment" + i)), 1);
            segment.append(large());
            CyclicBarrier together = new CyclicBarrier(2);
            CompletableFuture<Void> reading = CompletableFuture.runAsync(() -> {
                await(together);
                for (long next = 0; next < 100; next++) {
                    List<Entry> entries = new ArrayList<>();
                    try {
                        segment.read(1 + next % 9, 9, 1, entries);
                    } catch (IOException e) {
                        throw new UncheckedIOException(e);
                    }
                    assertThat(entries.get(0).index()).isEqualTo(1 + next % 9);
                }
            });
            await(together);
            segment.close();
            try {
                reading.get(30, TimeUnit.SECONDS);
            } catch (ExecutionException e) {
                assertThat(e).rootCause().isInstanceOf(ClosedChannelException.class);
                closed++;
            }
        }
        assertThat(closed).isPositive();
    }

    /** As the disk's thread does after its own checkpoint while the leader's replaces the log. */
    @Test
    void trimsWhileTheLogIsReplaced() throws Exception {
        for (int i = 0; i < 100; i++) {
            Directory replaced = new Directory(temporary.resolve("trimmed" + i));
            replaced.fill(large());
            try (FileStorage storage = replaced.storage()) {
                storage.open(entry -> {});
                storage.prepare(checkpoint(8, 3));
                storage.adopt(checkpoint(8, 3));
                CyclicBarrier together = new CyclicBarrier(2);
                CompletableFuture<Void> trimming = CompletableFuture.runAsync(() -> {
                    await(together);
                    storage.trim();
                });
                await(together);
                storage.install(checkpoint(20, 6));
                trimming.get(30, TimeUnit.SECONDS);
            }
            assertThat(replaced.segments()).isEqualTo(List.of(replaced.segment(21)));
        }
    }

    /** Of the last file. What precedes it is covered by a checkpoint. */
    @Test
    void trimsWhileTheLogIsTruncated() throws Exception {
        for (int i = 0; i < 30; i++) {
            Directory cut = new Directory(temporary.resolve("cut" + i));
            cut.fill(large());
            long delayNanos = 3000L * i;
            try (FileStorage storage = cut.storage()) {
                storage.open(entry -> {});
                storage.adopt(checkpoint(3, 3));
                storage.trim();
                storage.adopt(checkpoint(6, 3));
                CyclicBarrier together = new CyclicBarrier(2);
                CompletableFuture<Void> trimming = CompletableFuture.runAsync(() -> {
                    await(together);
                    long end = System.nanoTime() + delayNanos;
                    while (System.nanoTime() < end) {
                        Thread.onSpinWait();
                    }
                    storage.trim();
                });
                await(together);
                storage.truncate(7);
                trimming.get(30, TimeUnit.SECONDS);
                storage.append(Directory.entries(7, 8, 4, 30));
                assertThat(storage.read(7, 8, 1000)).hasSize(2);
            }
        }
    }

    private static void await(CyclicBarrier together) {
        try {
            together.await();
        } catch (InterruptedException | BrokenBarrierException e) {
            throw new IllegalStateException(e);
        }
    }

    @Test
    void trimsOnlyWhatTheCheckpointCovers() throws IOException {
        directory.fill(large());
        try (FileStorage storage = directory.storage()) {
            storage.open(entry -> {});
            storage.prepare(checkpoint(5, 3));
            storage.adopt(checkpoint(5, 3));
            storage.trim();
        }
        assertThat(directory.segments()).isEqualTo(List.of(directory.segment(4), directory.segment(7)));
        Directory.Found found = directory.start();
        assertThat(found.standing()).isEqualTo(Standing.CERTAIN);
        assertEqual(found.entries(), large().subList(5, 9), "trimmed");
    }

    // --------------------------------------------------------------------------------------------- two at a time

    @Test
    void refusesADirectoryThatThisProcessUses() {
        try (FileStorage storage = directory.storage()) {
            storage.open(entry -> {});
            assertThatThrownBy(directory::storage)
                    .isInstanceOf(GroupException.class)
                    .hasMessageContaining(directory.path() + " is in use by another process");
        }
        assertThat(directory.start().isRefused()).isFalse();
    }

    @Test
    void refusesADirectoryThatAnotherProcessUses() throws IOException, InterruptedException {
        Process other = new ProcessBuilder(
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-cp",
                        System.getProperty("java.class.path"),
                        Holder.class.getName(),
                        directory.path().toString())
                .redirectError(ProcessBuilder.Redirect.INHERIT)
                .start();
        try (BufferedReader out =
                new BufferedReader(new InputStreamReader(other.getInputStream(), StandardCharsets.UTF_8))) {
            String line = out.readLine();
            while (line != null && !line.equals("open")) {
                line = out.readLine();
            }
            assertThat(line).isEqualTo("open");
            assertThatThrownBy(directory::storage)
                    .isInstanceOf(GroupException.class)
                    .hasMessageContaining(directory.path() + " is in use by another process");
        } finally {
            other.destroyForcibly().waitFor();
        }
        assertThat(directory.start().isRefused()).isFalse();
    }

    /** A process that uses a directory until it is killed. */
    static final class Holder {
        private Holder() {}

        public static void main(String[] arguments) throws IOException {
            try (FileStorage storage = new Directory(Path.of(arguments[0])).storage()) {
                storage.open(entry -> {});
                System.out.println("open");
                System.out.flush();
                while (System.in.read() >= 0) {}
            }
        }
    }

    @Test
    void refusesTheDirectoryOfAnotherMemberOrGroup() {
        directory.fill(List.of());
        GroupConfiguration otherMember = GroupConfiguration.builder("bank", new MemberId("db9:7800"), directory.path())
                .build();
        assertThatThrownBy(() -> new FileStorage(otherMember, () -> 1).close())
                .isInstanceOf(GroupException.class)
                .hasMessageContaining("belongs to member db1:7800");
        GroupConfiguration otherGroup = GroupConfiguration.builder("shop", Directory.SELF, directory.path())
                .build();
        assertThatThrownBy(() -> new FileStorage(otherGroup, () -> 1).close())
                .isInstanceOf(GroupException.class)
                .hasMessageContaining("belongs to group 'bank'");
    }

    /** As when its port was taken at its first start, and it is given another one. */
    @Test
    void aDirectoryThatHasTakenPartInNothingIsNobodys() {
        GroupConfiguration mistaken = GroupConfiguration.builder("shop", new MemberId("db9:7800"), directory.path())
                .build();
        new FileStorage(mistaken, () -> 1).close();
        try (FileStorage storage = directory.storage()) {
            assertThat(storage.admission()).isEqualTo(Directory.ADMISSION);
            assertThat(storage.open(entry -> {}).standing()).isEqualTo(Standing.FRESH);
            storage.saveAdmitted(Directory.FORMED);
        }
        assertThatThrownBy(() -> new FileStorage(mistaken, () -> 1).close())
                .hasMessageContaining("belongs to group 'bank'");
    }
}
