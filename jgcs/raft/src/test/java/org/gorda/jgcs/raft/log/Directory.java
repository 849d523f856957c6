package org.gorda.jgcs.raft.log;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Stream;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.raft.core.Checkpoint;
import org.gorda.jgcs.raft.core.Configuration;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.raft.core.Standing;
import org.gorda.jgcs.raft.member.Storage;
import org.jspecify.annotations.Nullable;

/** A member's directory for tests: filled, copied, harmed and opened again. */
record Directory(Path path) {

    static final MemberId SELF = new MemberId("db1:7800");
    static final MemberId VOTED = new MemberId("db2:7800");
    static final long TERM = 7;
    static final long ADMISSION = 0x5eed;
    static final Configuration FORMED = new Configuration(
            GroupId.UNKNOWN,
            0,
            List.of(new Configuration.Member(SELF, ADMISSION, true), new Configuration.Member(VOTED, 2, true)));

    /** What a start made of the directory: what it recovered, or why it was refused. */
    record Found(
            @Nullable GroupException refusal,
            Standing standing,
            long term,
            @Nullable MemberId vote,
            long base,
            List<Entry> entries) {

        long lastIndex() {
            return base + entries.size();
        }

        boolean isRefused() {
            return refusal != null;
        }
    }

    private GroupConfiguration configuration(Service.Durability durability) {
        return GroupConfiguration.builder("bank", SELF, path)
                .durability(durability)
                .segmentBytes(1 << 20)
                .build();
    }

    FileStorage storage(Service.Durability durability) {
        return new FileStorage(configuration(durability), () -> ADMISSION);
    }

    /** Reads all but the newest entry from the files. */
    FileStorage storageWithoutCache() {
        return new FileStorage(configuration(Service.Durability.WRITTEN), () -> ADMISSION, 1);
    }

    FileStorage storage() {
        return storage(Service.Durability.WRITTEN);
    }

    /** Makes the directory of a member that takes part in a group and has acknowledged these entries; then it is killed. */
    Directory fill(List<Entry> entries) {
        try (FileStorage storage = storage()) {
            storage.open(entry -> {});
            storage.saveAdmitted(FORMED);
            storage.saveVote(TERM, VOTED);
            append(storage, entries);
        }
        return this;
    }

    static void append(Storage storage, List<Entry> entries) {
        for (Entry entry : entries) {
            storage.append(List.of(entry));
            storage.acknowledge(entry.index());
        }
    }

    /** Entries from {@code first} to {@code last}, whose content depends on index and term alone. */
    static List<Entry> entries(long first, long last, long term, int payloadBytes) {
        List<Entry> entries = new ArrayList<>();
        for (long index = first; index <= last; index++) {
            byte[] payload = new byte[payloadBytes];
            new java.util.Random(index * 31 + term).nextBytes(payload);
            entries.add(Entry.of(term, index, Entry.Kind.MESSAGE, payload));
        }
        return entries;
    }

    Directory copyTo(Path target) throws IOException {
        if (Files.exists(target)) {
            try (Stream<Path> files = Files.list(target)) {
                for (Path file : files.toList()) {
                    Files.delete(file);
                }
            }
        }
        Files.createDirectories(target);
        try (Stream<Path> files = Files.list(path)) {
            for (Path file : files.toList()) {
                Files.copy(file, target.resolve(file.getFileName()), StandardCopyOption.REPLACE_EXISTING);
            }
        }
        return new Directory(target);
    }

    Path file(String name) {
        return path.resolve(name);
    }

    Path segment(long firstIndex) {
        return path.resolve(Segment.fileName(firstIndex));
    }

    List<Path> segments() throws IOException {
        try (Stream<Path> files = Files.list(path)) {
            return files.filter(file -> file.toString().endsWith(".log"))
                    .sorted()
                    .toList();
        }
    }

    static void flip(Path file, long offset, int mask) throws IOException {
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
            open.seek(offset);
            int before = open.read();
            open.seek(offset);
            open.write(before ^ mask);
        }
    }

    static void cut(Path file, long length) throws IOException {
        try (RandomAccessFile open = new RandomAccessFile(file.toFile(), "rw")) {
            open.setLength(length);
        }
    }

    /** The mark is as if the machine had been started again since. */
    Directory afterReboot() throws IOException {
        for (int i = 8; i < 24; i++) {
            flip(file("mark"), i, 0xff);
        }
        return this;
    }

    /** Starts on the directory as it is. */
    Found start() {
        List<Entry> entries = new ArrayList<>();
        try (FileStorage storage = storage()) {
            Storage.Boot boot = storage.open(entries::add);
            Checkpoint checkpoint = storage.checkpoint();
            return new Found(null, boot.standing(), boot.term(), boot.vote(), checkpoint.index(), entries);
        } catch (GroupException e) {
            return new Found(e, Standing.UNCERTAIN, 0, null, 0, List.of());
        } catch (UncheckedIOException e) {
            throw new AssertionError("a failed disk where there is none", e);
        }
    }
}
