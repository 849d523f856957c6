package org.gorda.bench.gcs;

import java.util.Arrays;
import java.util.List;
import java.util.Optional;
import java.util.ServiceLoader;
import org.gorda.bench.workload.BenchException;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.Protocol;
import org.gorda.jgcs.Service;

/** What is measured. Every member has one group of each kind, all of them in one process. */
enum Kind {
    /** JGroups as it is, each sender's messages in their order. */
    FIFO_NATIVE("jgroups-fifo", Service.Order.FIFO),
    /** The same once more: what differs between these two is the spread of the measurement. */
    FIFO_AGAIN("jgroups-fifo", Service.Order.FIFO),
    /** The same stack through jGCS. */
    FIFO_JGCS("jgroups-fifo", Service.Order.FIFO),
    SEQUENCER_NATIVE("jgroups-sequencer", Service.Order.TOTAL),
    SEQUENCER_AGAIN("jgroups-sequencer", Service.Order.TOTAL),
    SEQUENCER_JGCS("jgroups-sequencer", Service.Order.TOTAL),
    /** Gives more: what is delivered is in a majority's files. */
    RAFT("raft", Service.Order.TOTAL),
    /** Gives still more: it is forced there. Not on every class path. */
    RATIS("ratis", Service.Order.TOTAL);

    /** Those whose toolkits are there. */
    static final List<Kind> ALL = Arrays.stream(values())
            .filter(kind -> kind != RATIS || find(RATIS.toolkit).isPresent())
            .toList();

    private final String toolkit;
    private final Service.Order order;

    Kind(String toolkit, Service.Order order) {
        this.toolkit = toolkit;
        this.order = order;
    }

    /** For people. */
    String toolkit() {
        return toolkit;
    }

    Service.Order order() {
        return order;
    }

    /** Whether it keeps a log; it has no other way than jGCS. */
    boolean keepsLog() {
        return this == RAFT || this == RATIS;
    }

    /** Opens a member's side, which has not joined yet. */
    Side open(GroupConfiguration configuration) {
        return switch (this) {
            case FIFO_NATIVE, FIFO_AGAIN, SEQUENCER_NATIVE, SEQUENCER_AGAIN -> new NativeSide(configuration, order);
            case FIFO_JGCS, SEQUENCER_JGCS ->
                new GroupSide(
                        configuration,
                        protocol("jgroups"),
                        new Service(order, Service.Uniformity.LOCAL, Service.Durability.NONE));
            case RAFT, RATIS ->
                new GroupSide(
                        configuration,
                        protocol(toolkit),
                        new Service(order, Service.Uniformity.UNIFORM, Service.Durability.WRITTEN));
        };
    }

    private static Protocol protocol(String name) {
        return find(name).orElseThrow(() -> new BenchException("the class path has no protocol " + name));
    }

    private static Optional<Protocol> find(String name) {
        return ServiceLoader.load(Protocol.class).stream()
                .map(ServiceLoader.Provider::get)
                .filter(protocol -> protocol.name().equals(name))
                .findFirst();
    }
}
