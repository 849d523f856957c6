package org.gorda.jgcs;

import java.nio.file.Path;
import java.time.Duration;
import java.util.List;
import org.jspecify.annotations.Nullable;

/**
 * How a member takes part in a group. Immutable; made by {@link #builder}, which refuses what cannot work.
 *
 * @param group the group's name, the same on all members
 * @param speaks numbers what their messages are like: what a member of another number sends is not taken, and it gets no messages that it might not understand
 * @param self this member; one of {@code members} when the group is formed
 * @param members those that form the group, the same list on all; later changes are kept in the log
 * @param directory where this member keeps its log; belongs to this member alone
 * @param durability what a delivered message survives
 * @param electionTimeout how long a silent leader is believed in, 100 ms to 1 minute; a closed connection is noticed at once
 * @param messageBytesMax largest payload, 1 KiB to 256 MiB
 * @param sendBytesMax how many bytes this member may have on their way before {@link DataSession#multicast} waits, 64 KiB to 1
 *     GiB
 * @param segmentBytes size of the log's files, 1 MiB to 1 GiB
 * @param tls by which nobody is let in whom it does not trust or whose certificate names no member's
 *     host; null if nothing is encrypted. A toolkit that cannot refuses it
 */
public record GroupConfiguration(
        String group,
        int speaks,
        MemberId self,
        List<MemberId> members,
        Path directory,
        Service.Durability durability,
        Duration electionTimeout,
        int messageBytesMax,
        int sendBytesMax,
        int segmentBytes,
        @Nullable Encryption tls) {

    /** Members of a group, those that learn, too. */
    public static final int MEMBERS_MAX = 31;

    /** Stack of the thread that delivers, of which only what is used takes memory: what members could do in threads of their own, a nested statement say, goes as deep in it. */
    public static final long DELIVERY_STACK_BYTES = 256L << 20;

    public GroupConfiguration {
        members = List.copyOf(members);
        check(!group.isBlank(), "group", group, "a name");
        check(
                !members.isEmpty() && members.size() <= MEMBERS_MAX,
                "members",
                members,
                "1 to " + MEMBERS_MAX + " members");
        check(members.stream().distinct().count() == members.size(), "members", members, "each member once");
        check(durability != Service.Durability.NONE, "durability", durability, "WRITTEN or SYNCED");
        range("election-timeout", electionTimeout.toMillis(), 100, 60_000, "ms");
        range("message-bytes-max", messageBytesMax, 1 << 10, 256 << 20, "bytes");
        range("send-bytes-max", sendBytesMax, 64 << 10, 1 << 30, "bytes");
        range("segment-bytes", segmentBytes, 1 << 20, 1 << 30, "bytes");
    }

    /**
     * For toolkits that encrypt nothing.
     *
     * @throws GroupException if something is to be encrypted
     */
    public void requirePlain(String toolkit) {
        if (tls != null) {
            throw new GroupException(
                    GroupException.Disposition.CORRECT,
                    "toolkit " + toolkit
                            + " does not encrypt what members say to each other, as tls-authority asks for:"
                            + " use raft, or a network that is safe without it");
        }
    }

    private static void range(String key, long value, long min, long max, String unit) {
        check(value >= min && value <= max, key, value, min + " to " + max + " " + unit);
    }

    private static void check(boolean legal, String key, Object value, String range) {
        if (!legal) {
            throw new GroupException(
                    GroupException.Disposition.CORRECT, key + " is " + value + " but must be " + range);
        }
    }

    /** Starts a configuration with the defaults: log on disk without fsync, election after 1 s of silence. */
    public static Builder builder(String group, MemberId self, Path directory) {
        return new Builder(group, self, directory);
    }

    /** Collects a configuration. Confined to one thread. */
    public static final class Builder {
        private final String group;
        private final MemberId self;
        private final Path directory;
        private int speaks;
        private List<MemberId> members;
        private Service.Durability durability = Service.Durability.WRITTEN;
        private Duration electionTimeout = Duration.ofSeconds(1);
        private int messageBytesMax = 32 << 20;
        private int sendBytesMax = 64 << 20;
        private int segmentBytes = 64 << 20;
        private @Nullable Encryption tls;

        private Builder(String group, MemberId self, Path directory) {
            this.group = group;
            this.self = self;
            this.directory = directory;
            this.members = List.of(self);
        }

        public Builder members(List<MemberId> all) {
            this.members = all;
            return this;
        }

        public Builder speaks(int value) {
            this.speaks = value;
            return this;
        }

        public Builder durability(Service.Durability value) {
            this.durability = value;
            return this;
        }

        public Builder electionTimeout(Duration value) {
            this.electionTimeout = value;
            return this;
        }

        public Builder messageBytesMax(int value) {
            this.messageBytesMax = value;
            return this;
        }

        public Builder sendBytesMax(int value) {
            this.sendBytesMax = value;
            return this;
        }

        public Builder segmentBytes(int value) {
            this.segmentBytes = value;
            return this;
        }

        public Builder tls(@Nullable Encryption value) {
            this.tls = value;
            return this;
        }

        /**
         * Checks and seals the configuration.
         *
         * @throws GroupException naming the key, its value and its legal range
         */
        public GroupConfiguration build() {
            return new GroupConfiguration(
                    group,
                    speaks,
                    self,
                    members,
                    directory,
                    durability,
                    electionTimeout,
                    messageBytesMax,
                    sendBytesMax,
                    segmentBytes,
                    tls);
        }
    }
}
