package org.gorda.jgcs.raft.core;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.List;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.History;
import org.gorda.jgcs.MemberId;
import org.jspecify.annotations.Nullable;

/**
 * Who belongs to the group, in force from the entry that carries it (section 4.1). Immutable.
 *
 * <p>Each member has an <em>admission</em>, a number that its directory was given when it was created. A member that comes back
 * without its directory has forgotten what it voted for and acknowledged; it comes with another admission, and so is another
 * member to all that count votes.
 *
 * @param group the group's identity, drawn by the first leader
 * @param timeline which continuation of the group's history this is: 0 until a person lets one member go on alone
 *     ({@link org.gorda.jgcs.Recovery}), which draws another, so that what the others may still order is never mixed with it
 * @param members sorted by identity
 */
public record Configuration(GroupId group, long timeline, List<Member> members) {

    /** Before anything is known. */
    public static final Configuration EMPTY = new Configuration(GroupId.UNKNOWN, 0, List.of());

    /**
     * One member.
     *
     * @param voter whether it counts; otherwise it learns
     */
    public record Member(MemberId id, long admission, boolean voter) {}

    public Configuration {
        members = members.stream().sorted(Comparator.comparing(Member::id)).toList();
    }

    /** That of a log which holds this. */
    public History history() {
        return new History(group, timeline);
    }

    public @Nullable Member member(MemberId id) {
        for (Member member : members) {
            if (member.id().equals(id)) {
                return member;
            }
        }
        return null;
    }

    public boolean isVoter(MemberId id) {
        Member member = member(id);
        return member != null && member.voter();
    }

    public int voters() {
        int count = 0;
        for (Member member : members) {
            if (member.voter()) {
                count++;
            }
        }
        return count;
    }

    /** N/2+1 for every N. */
    public int majority() {
        return voters() / 2 + 1;
    }

    public List<MemberId> ids(boolean voters) {
        return members.stream()
                .filter(member -> member.voter() == voters)
                .map(Member::id)
                .toList();
    }

    /** This with {@code changed} in place of the member of the same identity, or added. */
    public Configuration with(Member changed) {
        List<Member> next = new ArrayList<>(members);
        next.removeIf(member -> member.id().equals(changed.id()));
        next.add(changed);
        return new Configuration(group, timeline, next);
    }

    public Configuration without(MemberId removed) {
        List<Member> next = new ArrayList<>(members);
        next.removeIf(member -> member.id().equals(removed));
        return new Configuration(group, timeline, next);
    }

    /** Encoded size is bounded by the bound on the number of members and the length of their names. */
    public byte[] encode() {
        int size = 26;
        List<byte[]> names = new ArrayList<>(members.size());
        for (Member member : members) {
            byte[] name = member.id().name().getBytes(StandardCharsets.UTF_8);
            names.add(name);
            size += 11 + name.length;
        }
        ByteBuffer buffer = ByteBuffer.allocate(size);
        buffer.putLong(group.high()).putLong(group.low()).putLong(timeline).putShort((short) members.size());
        for (int i = 0; i < members.size(); i++) {
            buffer.putLong(members.get(i).admission())
                    .put((byte) (members.get(i).voter() ? 1 : 0));
            buffer.putShort((short) names.get(i).length).put(names.get(i));
        }
        return buffer.array();
    }

    /**
     * Decodes what {@link #encode} made.
     *
     * @throws CorruptEntryException if the buffer does not hold a configuration
     */
    public static Configuration decode(ByteBuffer buffer) {
        try {
            GroupId group = new GroupId(buffer.getLong(), buffer.getLong());
            long timeline = buffer.getLong();
            int count = buffer.getShort();
            if (count < 0) {
                throw new CorruptEntryException("a configuration of " + count + " members");
            }
            List<Member> members = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                long admission = buffer.getLong();
                boolean voter = buffer.get() != 0;
                int length = buffer.getShort() & 0xffff;
                if (length > buffer.remaining()) {
                    throw new CorruptEntryException(
                            "a member's name of " + length + " bytes is beyond its configuration");
                }
                byte[] name = new byte[length];
                buffer.get(name);
                members.add(new Member(new MemberId(new String(name, StandardCharsets.UTF_8)), admission, voter));
            }
            return new Configuration(group, timeline, members);
        } catch (java.nio.BufferUnderflowException | IllegalArgumentException e) {
            throw new CorruptEntryException("not a configuration: " + e.getMessage());
        }
    }
}
