package org.gorda.jgcs.jgroups;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Protocol;
import org.gorda.jgcs.Service;
import org.jgroups.JChannel;

/**
 * Messages on a plain JGroups channel, by its SEQUENCER if total order is required. The name it is configured by is {@code jgroups}.
 * Thread-safe.
 *
 * <p>It is fast and not safe enough to replicate with: a sequencer that dies after a lossy moment leaves survivors with different histories, and
 * nothing survives in a log. Hence it offers no uniformity and no durability, and whoever asks for more is refused. Of a configuration it
 * ignores the directory, the durability and the size of segments.
 */
public final class JGroupsProtocol implements Protocol {

    private static final Service OFFERED =
            new Service(Service.Order.TOTAL, Service.Uniformity.LOCAL, Service.Durability.NONE);

    /** For {@link java.util.ServiceLoader}. */
    public JGroupsProtocol() {}

    @Override
    public String name() {
        return "jgroups";
    }

    @Override
    public Service offers(GroupConfiguration configuration) {
        return OFFERED;
    }

    @Override
    public Group open(GroupConfiguration configuration, Service required, GroupListener listener) {
        requireOffered(configuration, required);
        configuration.requirePlain(name());
        requireFree(configuration.self());
        return new JGroupsGroup(configuration, required.order(), listener);
    }

    /**
     * The toolkit itself, a channel on the stack that a group of this configuration has: to measure what jGCS costs beside it.
     *
     * @throws GroupException if this configuration cannot have a channel
     */
    public static JChannel channel(GroupConfiguration configuration, Service.Order order) {
        return Channels.create(configuration, order);
    }

    /** The channel binds when it joins, in the background. */
    private static void requireFree(MemberId self) {
        try (ServerSocket socket = new ServerSocket()) {
            socket.bind(new InetSocketAddress(InetAddress.getByName(self.host()), self.port()));
        } catch (IOException e) {
            throw new GroupException(
                    GroupException.Disposition.CORRECT,
                    "cannot listen on " + self + " (" + e.getMessage()
                            + "): is another process using that port, and is the host an address of this machine?",
                    e);
        }
    }
}
