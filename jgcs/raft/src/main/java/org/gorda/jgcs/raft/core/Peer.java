package org.gorda.jgcs.raft.core;

import java.util.ArrayDeque;
import java.util.Deque;
import org.gorda.jgcs.MemberId;

/** What a leader knows of one other member (section 3.5). Confined to the core's caller. */
final class Peer {

    private record Sent(long lastIndex, int bytes) {}

    final MemberId id;

    /** Everything up to here is stored there and equal to the leader's log. */
    long match;

    /** The last entry that its word counted for: no majority was known before that came. */
    long counted;

    /** The next entry to send. */
    long next;

    /** True while the place where the logs part is sought: one message at a time. */
    boolean probing = true;

    /** While probing, when the outstanding message was sent, 0 if there is none. */
    long probeSentNanos;

    /** Whether the shell is reading entries for this peer. */
    boolean fetching;

    /**
     * When it last answered this leader. Other messages do not count: from a member that this leader cannot reach any more they may
     * still come, and that member must not keep it in its place.
     */
    long answeredNanos;

    long ackedRound;
    long toldCommit;

    /** The admission under which it speaks, 0 if it has not spoken. */
    long admission;

    /** Whether it has answered this leader, in its term, under that admission. */
    boolean answers;

    /** Numbers the runs of its process; later ones have higher numbers, under whatever admission. */
    long run;

    private final Deque<Sent> inFlight = new ArrayDeque<>();
    private long inFlightBytes;

    Peer(MemberId id, long next, long nowNanos) {
        this.id = id;
        this.next = next;
        this.answeredNanos = nowNanos;
    }

    /**
     * Something came from it.
     *
     * @return false if that is of an earlier run, perhaps of a directory that is gone
     */
    boolean heard(long ofAdmission, long ofRun) {
        if (ofRun < run) {
            return false;
        }
        if (ofAdmission != admission || ofRun > run) {
            // It may have lost what it acknowledged before.
            answers &= ofAdmission == admission;
            admission = ofAdmission;
            run = ofRun;
            match = 0;
            probe(next);
        }
        return true;
    }

    boolean hasRoom(long windowBytes) {
        return inFlightBytes < windowBytes;
    }

    void sent(long lastIndex, int bytes) {
        next = lastIndex + 1;
        inFlight.addLast(new Sent(lastIndex, bytes));
        inFlightBytes += bytes;
    }

    void matched(long index) {
        match = Math.max(match, index);
        next = Math.max(next, match + 1);
        probing = false;
        probeSentNanos = 0;
        while (!inFlight.isEmpty() && inFlight.getFirst().lastIndex() <= match) {
            inFlightBytes -= inFlight.removeFirst().bytes();
        }
    }

    void probe(long from) {
        next = Math.max(match + 1, from);
        probing = true;
        probeSentNanos = 0;
        fetching = false;
        inFlight.clear();
        inFlightBytes = 0;
    }
}
