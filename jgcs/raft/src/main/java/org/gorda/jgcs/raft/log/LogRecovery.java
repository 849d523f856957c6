package org.gorda.jgcs.raft.log;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.function.LongSupplier;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Recovery;
import org.gorda.jgcs.raft.core.Configuration;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.raft.core.Standing;
import org.gorda.jgcs.raft.member.Storage;

/**
 * A directory opened as its member would open it, without the member.
 *
 * <p>To go on alone means one more entry at the log's end, a configuration of this member alone. It opens a timeline, whose number is
 * also the term of that entry: a random one, so far beyond all terms that the others can reach by elections that what they may still
 * order is never taken for a part of this log, nor what another survivor orders that was told to go on alone, too.
 */
public final class LogRecovery implements Recovery {

    private final FileStorage storage;
    private final LongSupplier random;
    private final Identity identity;
    private final Storage.Boot boot;
    private Configuration configuration;
    private long lastTerm;
    private long lastIndex;
    private boolean certain;

    private LogRecovery(FileStorage storage, Identity identity, LongSupplier random) {
        this.storage = storage;
        this.identity = identity;
        this.random = random;
        configuration = storage.checkpoint().index() == 0
                ? storage.formed()
                : storage.checkpoint().configuration();
        lastTerm = storage.checkpoint().term();
        lastIndex = storage.checkpoint().index();
        boot = storage.open(this::found);
        Entry lost = boot.lostConfiguration();
        if (lost != null) { // as for the member itself
            configuration = Configuration.decode(lost.payload());
        }
        certain = boot.standing() == Standing.CERTAIN;
    }

    /** As {@link org.gorda.jgcs.Protocol#recovery}. */
    public static LogRecovery open(Path directory, LongSupplier random) {
        Path file = directory.resolve("identity");
        if (!Files.exists(file)) {
            throw new GroupException(
                    GroupException.Disposition.CORRECT, directory + " holds no member of a group: name another one");
        }
        Identity identity;
        try {
            identity = Identity.load(file);
        } catch (IOException e) {
            throw new GroupException(GroupException.Disposition.STOP, file + " cannot be read: " + e, e);
        }
        FileStorage storage = new FileStorage(
                GroupConfiguration.builder(identity.group(), identity.member(), directory)
                        .build(),
                random);
        try {
            return new LogRecovery(storage, identity, random);
        } catch (RuntimeException e) {
            storage.close(false);
            throw e;
        }
    }

    private void found(Entry entry) {
        lastTerm = entry.term();
        lastIndex = entry.index();
        if (entry.kind() == Entry.Kind.CONFIGURATION) {
            ByteBuffer payload = entry.payload();
            configuration = Configuration.decode(payload);
        }
    }

    @Override
    public Remains remains() {
        return new Remains(
                identity.group(),
                identity.member(),
                certain,
                Math.max(configuration.timeline(), storage.history().timeline()),
                storage.checkpoint().index(),
                lastTerm,
                lastIndex,
                configuration.ids(true),
                configuration.ids(false));
    }

    @Override
    public void goOnAlone() {
        MemberId self = identity.member();
        Configuration.Member member = configuration.member(self);
        if (lastIndex == 0 || member == null || member.admission() != identity.admission()) {
            throw cannot(self + " was never taken in by its group: take a member");
        }
        if (configuration.voters() == 1 && member.voter() && certain) {
            throw cannot(self + " is the group's only voter already: start it");
        }
        // Elections do not get near 2^40, and two survivors' random parts hardly near each other.
        long timeline = (((Math.max(lastTerm, boot.term()) >> TIMELINE_TERM_BITS) + 1) << TIMELINE_TERM_BITS)
                + (random.getAsLong() >>> (Long.SIZE - TIMELINE_TERM_BITS + 1));
        Configuration alone = new Configuration(
                configuration.group(), timeline, List.of(new Configuration.Member(self, identity.admission(), true)));
        Entry entry = Entry.of(timeline, lastIndex + 1, Entry.Kind.CONFIGURATION, alone.encode());
        try {
            // Like a leader that was elected: first the term, on disk, then its entry.
            storage.saveVote(timeline, self);
            storage.append(List.of(entry));
            storage.force();
            storage.acknowledge(entry.index());
            storage.saveCertain();
            storage.saveHistory(alone.history());
        } catch (UncheckedIOException e) {
            throw new GroupException(
                    GroupException.Disposition.STOP,
                    "whether the step was taken is not known, look again before " + self + " is started: "
                            + e.getCause(),
                    e);
        }
        found(entry);
        certain = true;
    }

    private static GroupException cannot(String why) {
        return new GroupException(GroupException.Disposition.CORRECT, why);
    }

    @Override
    public void close() {
        storage.close(true);
    }
}
