package org.gorda.jgcs.jgroups;

import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Collections;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Collectors;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Service;
import org.jgroups.Address;
import org.jgroups.JChannel;
import org.jgroups.protocols.FD_ALL3;
import org.jgroups.protocols.FD_SOCK2;
import org.jgroups.protocols.FRAG4;
import org.jgroups.protocols.MERGE3;
import org.jgroups.protocols.NAKACK4;
import org.jgroups.protocols.SEQUENCER;
import org.jgroups.protocols.TCP;
import org.jgroups.protocols.TCPPING;
import org.jgroups.protocols.UNICAST4;
import org.jgroups.protocols.VERIFY_SUSPECT2;
import org.jgroups.protocols.pbcast.GMS;
import org.jgroups.stack.Protocol;
import org.jgroups.util.ExtendedUUID;
import org.jspecify.annotations.Nullable;

/** Makes channels: the stack of protocols with the settings that matter, and addresses that carry the member's name. */
final class Channels {

    private static final String MEMBER = "m";

    private Channels() {}

    /**
     * A channel that is not connected yet.
     *
     * @throws GroupException if this configuration cannot have one
     */
    static JChannel create(GroupConfiguration configuration, Service.Order order) {
        try {
            return channel(configuration, order);
        } catch (Exception e) { // as JGroups declares
            throw new GroupException(
                    GroupException.Disposition.CORRECT, "no channel for " + configuration.self() + ": " + e, e);
        }
    }

    private static JChannel channel(GroupConfiguration configuration, Service.Order order)
            throws Exception { // as JGroups declares
        long electionMillis = configuration.electionTimeout().toMillis();
        InetAddress host = InetAddress.getByName(configuration.self().host());
        List<InetSocketAddress> members = new ArrayList<>();
        for (MemberId member : configuration.members()) {
            members.add(new InetSocketAddress(member.host(), member.port()));
        }
        TCP transport = new TCP();
        transport.setBindAddress(host).setBindPort(configuration.self().port()).setPortRange(0);
        // Without it the delayed acknowledgements of TCP triple the latency.
        transport.setValue("tcp_nodelay", true);
        TCPPING discovery = new TCPPING();
        discovery.setPortRange(0).setInitialHosts(members);
        List<Protocol> stack = new ArrayList<>(List.of(
                transport,
                discovery,
                new MERGE3().setMinInterval(electionMillis).setMaxInterval(3 * electionMillis),
                // At once when a process dies, and after the election timeout when it is silent.
                new FD_SOCK2().setBindAddress(host),
                new FD_ALL3().setTimeout(electionMillis).setInterval(Math.max(1, electionMillis / 4)),
                new VERIFY_SUSPECT2().setTimeout(Math.max(1, electionMillis / 2)),
                // Their senders block when a receiver does not keep up.
                new NAKACK4().setValue("use_mcast_xmit", false),
                new UNICAST4(),
                new GMS()
                        .setJoinTimeout(electionMillis)
                        .setLeaveTimeout(electionMillis)
                        .setMembershipChangePolicy(new LargestPartLeads())
                        .printLocalAddress(false)));
        if (order == Service.Order.TOTAL) {
            // Right above GMS, so that views lie at the same place among the messages.
            stack.add(new SEQUENCER());
        }
        stack.add(new FRAG4());
        JChannel channel = new JChannel(stack);
        transport.getDiagnosticsHandler().setEnabled(false);
        byte[] name = configuration.self().name().getBytes(StandardCharsets.UTF_8);
        channel.setName(configuration.self().name());
        channel.addAddressGenerator(
                () -> ExtendedUUID.randomUUID(configuration.self().name()).put(MEMBER, name));
        return channel;
    }

    /**
     * Who was cut off never coordinates the merged view, from which it leaves at once. Otherwise a majority's member that sees that view
     * only on one side keeps a coordinator that has stopped to be one, and that drops what it is sent to be ordered.
     */
    private static final class LargestPartLeads extends GMS.DefaultMembershipPolicy {

        @Override
        public List<Address> getNewMembership(Collection<Collection<Address>> parts) {
            return parts.stream()
                    .sorted(Comparator.<Collection<Address>>comparingInt(Collection::size)
                            .reversed()
                            .thenComparing(part -> Collections.min(part)))
                    .flatMap(Collection::stream)
                    .distinct()
                    .collect(Collectors.toCollection(ArrayList::new)); // the caller removes from it
        }
    }

    /** The member at an address, null if it is none of ours. */
    static @Nullable MemberId memberAt(Address address) {
        byte[] name = address instanceof ExtendedUUID named ? named.get(MEMBER) : null;
        try {
            return name == null ? null : new MemberId(new String(name, StandardCharsets.UTF_8));
        } catch (IllegalArgumentException e) {
            return null;
        }
    }
}
