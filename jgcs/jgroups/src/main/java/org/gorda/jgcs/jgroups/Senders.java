package org.gorda.jgcs.jgroups;

import java.util.HashMap;
import java.util.HashSet;
import java.util.Map;
import java.util.Set;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.View;

/**
 * Whose messages can be delivered. Who was put out of the group and is taken in again has sent what was brought to nobody; it will stop, but
 * not before it learns of that. Of what it sends until then nothing is delivered behind what is missing, nor is anything behind what its sender sent
 * after it. Confined to one thread.
 */
final class Senders {

    private final Map<MemberId, MessageId> last = new HashMap<>();

    /** Those that were never out of the group since this member or their own run began, so that nothing of theirs is missing. */
    private final Set<MemberId> stayed = new HashSet<>();

    private boolean works;

    void see(View view) {
        if (works) {
            stayed.retainAll(view.members());
        } else {
            stayed.addAll(view.members()); // what they sent before is none of this member's business
            works = view.working();
        }
    }

    /** Whether a message is to be delivered, as the next one of its sender. */
    boolean take(MessageId id) {
        MessageId before = last.get(id.member());
        long lastOfRun = before != null && before.incarnation() == id.incarnation() ? before.sequence() : 0;
        boolean newRun = before != null && lastOfRun == 0;
        boolean good = !works
                || id.sequence() == lastOfRun + 1
                || (stayed.contains(id.member()) && !newRun && id.sequence() > lastOfRun);
        if (good) {
            last.put(id.member(), id);
            if (id.sequence() == 1) {
                stayed.add(id.member());
            }
        }
        return good;
    }
}
