package org.gorda.jgcs.jgroups;

import java.util.function.BooleanSupplier;
import org.jgroups.Message;
import org.jgroups.conf.ClassConfigurator;
import org.jgroups.protocols.SEQUENCER;
import org.jgroups.util.MaxOneThreadPerSender;
import org.jgroups.util.MessageBatch;

/**
 * Brings a group's messages up on the thread that has read them. JGroups would hand them to another one, because its users may take
 * their time with a message; but here they are only put down for the delivery thread, and one change of threads is enough. All else goes
 * JGroups' way: what is not a multicast of ours, since that can make JGroups send and hence wait; and everything while the delivery
 * lags, since what then waits for room must not keep the heartbeats behind it from being read. Thread-safe.
 */
final class ShortWayUp extends MaxOneThreadPerSender {

    private static final short SEQUENCER_ID = ClassConfigurator.getProtocolId(SEQUENCER.class);

    /** Whose value is whether this thread must not wait. */
    private static final ThreadLocal<Boolean> TAKEN = ThreadLocal.withInitial(() -> false);

    private final BooleanSupplier free;

    /** @param free whether so much room is left that a window of messages may come up without waiting for any */
    ShortWayUp(BooleanSupplier free) {
        this.free = free;
    }

    /** Whether the current thread has a message come up the short way, so that it must not wait. */
    static boolean isTaken() {
        return TAKEN.get();
    }

    @Override
    public boolean loopback(Message message, boolean oob) {
        return take(message, oob, true) || super.loopback(message, oob);
    }

    @Override
    public boolean loopback(MessageBatch batch, boolean oob) {
        return take(batch, oob, true) || super.loopback(batch, oob);
    }

    @Override
    public boolean process(Message message, boolean oob) {
        return take(message, oob, false) || super.process(message, oob);
    }

    @Override
    public boolean process(MessageBatch batch, boolean oob) {
        return take(batch, oob, false) || super.process(batch, oob);
    }

    private boolean take(Message message, boolean oob, boolean loopback) {
        return !oob
                && isOurs(message)
                && free.getAsBoolean()
                && run(() -> tp.passMessageUp(message, !loopback, true, !loopback));
    }

    private boolean take(MessageBatch batch, boolean oob, boolean loopback) {
        if (oob || !batch.multicast() || !free.getAsBoolean()) {
            return false;
        }
        for (Message message : batch) {
            if (!isOurs(message)) {
                return false;
            }
        }
        return run(() -> tp.passBatchUp(batch, !loopback, !loopback));
    }

    /** A multicast of the group's user, and not one of JGroups about views. */
    private static boolean isOurs(Message message) {
        return message.getDest() == null
                && (SequenceHeader.of(message) != null || message.getHeader(SEQUENCER_ID) != null);
    }

    private boolean run(Runnable way) {
        TAKEN.set(true);
        try {
            way.run();
        } catch (RuntimeException e) {
            log.error("a message could not be passed up", e); // as JGroups' own threads do
        } finally {
            TAKEN.set(false);
        }
        return true;
    }
}
