package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.concurrent.atomic.AtomicReference;
import java.util.function.Predicate;
import java.util.zip.CRC32C;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.View;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A joiner and what it makes of a donor's files. */
@Timeout(60)
class TransferJoinerTest {

    private static final MemberId SELF = new MemberId("db1:7800");
    private static final MemberId DONOR = new MemberId("db2:7800");
    private static final List<byte[]> FILES = List.of(content(100), content(0), content(2_500_000));

    @TempDir
    private Path directory;

    private final List<DirectMessage.Fetch> fetched = new ArrayList<>();
    private final List<Long> done = new ArrayList<>();

    private static byte[] content(int length) {
        byte[] content = new byte[length];
        new SplittableRandom(length).nextBytes(content);
        return content;
    }

    private static DirectMessage.Offer offer() {
        return offer(7);
    }

    private static DirectMessage.Offer offer(long transfer) {
        List<DirectMessage.FileOffered> offered = new ArrayList<>();
        for (byte[] file : FILES) {
            CRC32C crc = new CRC32C();
            crc.update(file);
            offered.add(new DirectMessage.FileOffered("snapshot/f" + file.length, file.length, (int) crc.getValue()));
        }
        return new DirectMessage.Offer(transfer, offered);
    }

    /** A joiner whose donor answers at once, and damages some of the parts; returns whether it has everything. */
    private boolean receive(Predicate<DirectMessage.Fetch> damages) {
        AtomicReference<TransferJoiner> joiner = new AtomicReference<>();
        List<String> ends = new ArrayList<>();
        joiner.set(new TransferJoiner(
                SELF,
                new ReceivedDatabase(directory),
                1L << 40,
                "derby",
                () -> new View(List.of(SELF, DONOR), List.of(), Optional.of(DONOR), true, 0),
                () -> 0,
                (to, message) -> {
                    if (message instanceof DirectMessage.Want) {
                        joiner.get().received(DONOR, offer(7 + done.size()));
                    } else if (message instanceof DirectMessage.Done gone) {
                        done.add(gone.transfer());
                    } else if (message instanceof DirectMessage.Fetch fetch) {
                        fetched.add(fetch);
                        byte[] part = new byte[fetch.bytes()];
                        System.arraycopy(FILES.get(fetch.file()), (int) fetch.offset(), part, 0, part.length);
                        if (damages.test(fetch)) {
                            part[part.length / 2]++;
                        }
                        joiner.get()
                                .received(
                                        DONOR,
                                        new DirectMessage.Part(
                                                fetch.transfer(), fetch.file(), fetch.offset(), ByteBuffer.wrap(part)));
                    }
                },
                progress -> {},
                () -> ends.add("complete"),
                failure -> ends.add("failed " + failure)));
        joiner.get().run();
        assertThat(ends).hasSize(1);
        return ends.get(0).equals("complete");
    }

    private void assertThatAllIsHere() {
        for (byte[] file : FILES) {
            assertThat(directory.resolve("received/content/snapshot/f" + file.length))
                    .hasBinaryContent(file);
        }
        assertThat(new ReceivedDatabase(directory).isToBeInstalled()).isTrue();
    }

    @Test
    void aFileThatIsNotWhatWasOfferedIsReceivedAgain() {
        assertThat(receive(fetch -> fetch.offset() > 0 && fetched.size() < 5)).isTrue();
        assertThatAllIsHere();
        assertThat(fetched.stream().filter(fetch -> fetch.file() == 0)).hasSize(1);
        assertThat(fetched.stream().filter(fetch -> fetch.file() == 2 && fetch.offset() == 0))
                .hasSize(2);
    }

    /** As by the donor's disk: it would give the same again and again. */
    @Test
    void aCopyThatIsHarmedAtTheDonorIsGivenUpForAnotherOne() {
        assertThat(receive(fetch -> fetch.transfer() == 7 && fetch.file() == 2)).isTrue();
        assertThatAllIsHere();
        assertThat(done).containsExactly(7L, 8L);
    }

    @Test
    void thatThereIsNoRoomIsToldWhileItReceives() {
        DirectMessage.Offer huge =
                new DirectMessage.Offer(7, List.of(new DirectMessage.FileOffered("snapshot/huge", 1L << 50, 0)));
        AtomicReference<TransferJoiner> joiner = new AtomicReference<>();
        List<String> told = new ArrayList<>();
        joiner.set(new TransferJoiner(
                SELF,
                new ReceivedDatabase(directory),
                1L << 20,
                "derby",
                () -> new View(List.of(SELF, DONOR), List.of(), Optional.of(DONOR), true, 0),
                () -> 0,
                (to, message) -> {
                    if (message instanceof DirectMessage.Want) {
                        joiner.get().received(DONOR, huge);
                    } else if (message instanceof DirectMessage.Fetch fetch) {
                        joiner.get()
                                .received(
                                        DONOR,
                                        new DirectMessage.Part(
                                                7, 0, fetch.offset(), ByteBuffer.wrap(new byte[fetch.bytes()])));
                    }
                },
                progress -> {
                    told.add(progress);
                    joiner.get().close();
                },
                () -> {},
                failure -> told.add("failed " + failure)));
        joiner.get().run();
        assertThat(told).first().asString().contains("that disk has room for").contains("MB only");
    }

    @Test
    void anErrorIsToldWhoeverMeetsIt() {
        List<Throwable> told = new ArrayList<>();
        new TransferJoiner(
                        SELF,
                        new ReceivedDatabase(directory),
                        1L << 20,
                        "derby",
                        () -> {
                            throw new NoClassDefFoundError("planted");
                        },
                        () -> 0,
                        (to, message) -> {},
                        progress -> {},
                        () -> {},
                        told::add)
                .run();
        assertThat(told).singleElement().isInstanceOf(NoClassDefFoundError.class);
    }

    /** Asks two others, of which one has the same kind of database or none has; returns whose it receives. */
    private List<MemberId> receiveFrom(List<MemberId> sameKind) {
        MemberId another = new MemberId("db3:7800");
        AtomicReference<TransferJoiner> joiner = new AtomicReference<>();
        List<MemberId> givers = new ArrayList<>();
        joiner.set(new TransferJoiner(
                SELF,
                new ReceivedDatabase(directory),
                1L << 40,
                "derby",
                () -> new View(List.of(SELF, DONOR, another), List.of(), Optional.of(DONOR), true, 0),
                () -> 0,
                (to, message) -> {
                    if (message instanceof DirectMessage.Want want) {
                        boolean gives = want.loads().isEmpty() || sameKind.contains(to);
                        joiner.get()
                                .received(
                                        to,
                                        gives
                                                ? new DirectMessage.Offer(7, List.of())
                                                : new DirectMessage.Wait(false, "it has another kind of database"));
                    } else if (message instanceof DirectMessage.Done) {
                        givers.add(to);
                    }
                },
                progress -> {},
                () -> {},
                failure -> {}));
        joiner.get().run();
        return givers;
    }

    @Test
    void whoHasTheSameKindOfDatabaseGivesItAndOthersGiveRowsIfNobodyHas() {
        assertThat(receiveFrom(List.of(DONOR))).containsExactly(DONOR);
        assertThat(receiveFrom(List.of())).hasSize(1);
    }

    @Test
    void whatAnEarlierRunReceivedIsComparedToo() throws IOException {
        ReceivedDatabase received = new ReceivedDatabase(directory);
        received.begin(DONOR, offer());
        Path file = received.file(offer().files().get(2));
        Files.createDirectories(file.getParent());
        Files.write(file, new byte[1 << 20]);
        assertThat(receive(fetch -> false)).isTrue();
        assertThatAllIsHere();
        assertThat(fetched.stream().filter(fetch -> fetch.file() == 2).mapToLong(DirectMessage.Fetch::offset))
                .startsWith(1L << 20)
                .contains(0L);
    }
}
