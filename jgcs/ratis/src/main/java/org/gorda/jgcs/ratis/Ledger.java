package org.gorda.jgcs.ratis;

import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MessageId;

/**
 * What follows from the order alone, so that all members know the same at each place of it: which message of each member comes next, and
 * who is to be taken in. Ratis knows a message that is sent again for a minute; here it is told for ever. Thread-safe.
 */
final class Ledger {

    /** What becomes of a message at its place in the order. */
    enum Verdict {
        DELIVERED,
        /** It was delivered before, or its sender's run was closed by a later one. */
        REPEATED,
        /** One before it is missing: its sender must send both again. */
        EARLY
    }

    /** A member's newest run that spoke, and the last message of it. */
    record Last(long incarnation, long sequence) {}

    private static final Last NONE = new Last(0, 0);

    private final Map<MemberId, Last> last = new TreeMap<>();
    private final Set<MemberId> wanted = new TreeSet<>();

    synchronized Verdict take(MessageId id) {
        Last before = last(id.member());
        boolean next = id.incarnation() == before.incarnation()
                ? id.sequence() == before.sequence() + 1
                : id.incarnation() > before.incarnation() && id.sequence() == 1;
        if (next) {
            last.put(id.member(), new Last(id.incarnation(), id.sequence()));
            return Verdict.DELIVERED;
        }
        boolean past = id.incarnation() < before.incarnation()
                || (id.incarnation() == before.incarnation() && id.sequence() <= before.sequence());
        return past ? Verdict.REPEATED : Verdict.EARLY;
    }

    synchronized Last last(MemberId member) {
        return last.getOrDefault(member, NONE);
    }

    synchronized void want(MemberId member, boolean in) {
        if (in) {
            wanted.add(member);
        } else {
            wanted.remove(member);
        }
    }

    synchronized Set<MemberId> wanted() {
        return Set.copyOf(wanted);
    }

    synchronized byte[] encode() {
        int size = 2 * Integer.BYTES;
        for (MemberId member : last.keySet()) {
            size += Integer.BYTES + name(member).length + 2 * Long.BYTES;
        }
        for (MemberId member : wanted) {
            size += Integer.BYTES + name(member).length;
        }
        ByteBuffer bytes = ByteBuffer.allocate(size);
        bytes.putInt(last.size());
        last.forEach((member, known) -> {
            put(bytes, member);
            bytes.putLong(known.incarnation()).putLong(known.sequence());
        });
        bytes.putInt(wanted.size());
        wanted.forEach(member -> put(bytes, member));
        return bytes.array();
    }

    /** Starts over from what {@link #encode} made. */
    synchronized void reset(ByteBuffer bytes) {
        last.clear();
        wanted.clear();
        for (int left = bytes.getInt(); left > 0; left--) {
            last.put(member(bytes), new Last(bytes.getLong(), bytes.getLong()));
        }
        for (int left = bytes.getInt(); left > 0; left--) {
            wanted.add(member(bytes));
        }
    }

    private static byte[] name(MemberId member) {
        return member.name().getBytes(StandardCharsets.UTF_8);
    }

    private static void put(ByteBuffer bytes, MemberId member) {
        bytes.putInt(name(member).length).put(name(member));
    }

    private static MemberId member(ByteBuffer bytes) {
        int length = bytes.getInt();
        if (length < 0 || length > bytes.remaining()) {
            throw new IllegalStateException("a name of " + length + " bytes in the remaining " + bytes.remaining());
        }
        byte[] name = new byte[length];
        bytes.get(name);
        return new MemberId(new String(name, StandardCharsets.UTF_8));
    }
}
