package org.gorda.jgcs.tck;

import java.time.Duration;
import java.util.function.BooleanSupplier;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.MemberId;

/**
 * A group under test with the power to break it. Members are numbered from 0; the first {@link #formed} of them form the group,
 * the others can be added. All are stopped at first.
 */
public interface TckCluster extends AutoCloseable {

    /** How many members form the group. */
    int formed();

    MemberId id(int member);

    /** Starts or restarts a member; its recorder keeps what earlier runs delivered and joins behind it. */
    void start(int member);

    /** The process is killed: what it has written stays. */
    void kill(int member);

    /** The machine loses power: what was not forced to disk may be lost. */
    void losePower(int member);

    /** While the member is down, somebody deletes its directory. */
    void wipe(int member);

    /** While the member is down, somebody deletes the end of its log. */
    void loseTail(int member);

    /** Every write to the member's disk fails from now on, until {@link #mendDisk}. */
    void failDisk(int member);

    void mendDisk(int member);

    /** What one member sends to the other is lost from now on. */
    void cut(int from, int to);

    /** What one member sends to the other is kept back, until {@link #release} delivers it late. */
    void hold(int from, int to);

    void release(int from, int to);

    /** Mends all links and releases what was kept back. */
    void heal();

    /** The member's user takes no messages, until told otherwise. */
    void stall(int member, boolean stalled);

    Group group(int member);

    Recorder recorder(int member);

    /** Waits until the condition holds; fails, naming {@code what}, if that takes unreasonably long. */
    void await(String what, BooleanSupplier condition);

    /** Lets some time pass. */
    void pass(Duration time);

    /** A time in which a silent leader is surely replaced. */
    Duration electionTime();

    @Override
    void close();
}
