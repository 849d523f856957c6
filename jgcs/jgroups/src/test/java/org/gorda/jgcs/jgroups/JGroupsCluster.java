package org.gorda.jgcs.jgroups;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import java.util.function.BooleanSupplier;
import org.awaitility.Awaitility;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.LoopbackPorts;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.tck.Recorder;
import org.gorda.jgcs.tck.TckCluster;
import org.jgroups.Address;
import org.jgroups.JChannel;
import org.jgroups.View;
import org.jgroups.protocols.DISCARD;
import org.jgroups.protocols.FD_ALL3;
import org.jgroups.protocols.TP;
import org.jgroups.protocols.pbcast.GMS;
import org.jgroups.stack.ProtocolStack;
import org.jgroups.util.Util;

/** Members on real channels over loopback. What needs a disk, or a link that only delays, is not here: nothing asks for it. */
final class JGroupsCluster implements TckCluster {

    private final Service service;
    private final List<MemberId> ids = new ArrayList<>();
    private final List<Recorder> recorders = new ArrayList<>();
    private final Map<Integer, JGroupsGroup> groups = new HashMap<>();
    private final Map<Integer, DISCARD> losses = new HashMap<>();

    JGroupsCluster(int size, Service service) {
        this.service = service;
        for (int port : LoopbackPorts.free(size)) {
            ids.add(new MemberId("127.0.0.1:" + port));
            recorders.add(new Recorder());
        }
    }

    GroupConfiguration configuration(int member) {
        return GroupConfiguration.builder("tck", ids.get(member), Path.of("unused"))
                .members(ids)
                .electionTimeout(Duration.ofMillis(500))
                .sendBytesMax(16 << 20)
                .build();
    }

    @Override
    public int formed() {
        return ids.size();
    }

    @Override
    public MemberId id(int member) {
        return ids.get(member);
    }

    @Override
    public void start(int member) {
        recorders.get(member).restarted();
        JGroupsGroup group =
                (JGroupsGroup) new JGroupsProtocol().open(configuration(member), service, recorders.get(member));
        DISCARD loss = new DISCARD();
        try {
            group.channel().stack().insertProtocol(loss, ProtocolStack.Position.ABOVE, TP.class);
        } catch (Exception e) { // as JGroups declares
            throw new IllegalStateException(e);
        }
        losses.put(member, loss);
        groups.put(member, group);
        group.control().join(Position.START);
    }

    @Override
    public void kill(int member) {
        JGroupsGroup group = groups.remove(member);
        try {
            Util.shutdown(group.channel(), false);
        } catch (Exception e) { // as JGroups declares
            throw new IllegalStateException(e);
        }
        group.close();
    }

    private Address address(int member) {
        return groups.get(member).channel().getAddress();
    }

    @Override
    public void cut(int from, int to) {
        losses.get(to).addIgnoreMember(address(from));
    }

    /** Those who stay have a view without it, of which it does not hear, and it does not miss them. */
    void putOut(int member, int coordinator, int other) {
        channel(member).stack().<FD_ALL3>findProtocol(FD_ALL3.class).setTimeout(TimeUnit.MINUTES.toMillis(1));
        long next = channel(coordinator).getView().getViewId().getId() + 1;
        View view = View.create(address(coordinator), next, address(coordinator), address(other));
        for (int stays : List.of(other, coordinator)) {
            channel(stays).stack().<GMS>findProtocol(GMS.class).installView(view);
        }
    }

    @Override
    public void heal() {
        losses.values().forEach(DISCARD::resetIgnoredMembers);
    }

    @Override
    public Group group(int member) {
        return groups.get(member);
    }

    JChannel channel(int member) {
        return groups.get(member).channel();
    }

    @Override
    public Recorder recorder(int member) {
        return recorders.get(member);
    }

    @Override
    public void await(String what, BooleanSupplier condition) {
        Awaitility.await(what)
                .pollDelay(Duration.ZERO)
                .pollInterval(Duration.ofMillis(5))
                .atMost(Duration.ofSeconds(60))
                .until(condition::getAsBoolean);
    }

    @Override
    public void pass(Duration time) {
        LockSupport.parkNanos(time.toNanos());
    }

    @Override
    public Duration electionTime() {
        return Duration.ofSeconds(2);
    }

    @Override
    public void close() {
        groups.values().forEach(Group::close);
    }

    @Override
    public void losePower(int member) {
        throw noDisk();
    }

    @Override
    public void wipe(int member) {
        throw noDisk();
    }

    @Override
    public void loseTail(int member) {
        throw noDisk();
    }

    @Override
    public void failDisk(int member) {
        throw noDisk();
    }

    @Override
    public void mendDisk(int member) {
        throw noDisk();
    }

    private static UnsupportedOperationException noDisk() {
        return new UnsupportedOperationException("nothing is kept on disk");
    }

    @Override
    public void hold(int from, int to) {
        throw new UnsupportedOperationException("links lose, they do not delay");
    }

    @Override
    public void release(int from, int to) {
        hold(from, to);
    }

    @Override
    public void stall(int member, boolean stalled) {
        throw new UnsupportedOperationException("a member that stalls holds up the others, without a log");
    }
}
