package org.gorda.jgcs.ratis;

import java.nio.file.Path;
import java.util.Optional;
import org.apache.ratis.thirdparty.io.grpc.ServerInterceptor;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.Protocol;
import org.gorda.jgcs.Recovery;
import org.gorda.jgcs.Service;

/**
 * Uniform total order by Apache Ratis over gRPC. The name it is configured by is {@code ratis}. Thread-safe.
 *
 * <p>Ratis forces its log before it acknowledges, and without that would let a member vote that has lost a part of it with the power. So it is
 * always forced: a group that asks for WRITTEN is given SYNCED.
 *
 * <p>What it does not do: {@link org.gorda.jgcs.LogSession#deliverAhead deliver ahead} of a majority, {@linkplain Protocol#recovery go on alone}
 * after a majority was lost, and notice that somebody has cut off the end of its log.
 */
public final class RatisProtocol implements Protocol {

    private static final Service OFFERED =
            new Service(Service.Order.TOTAL, Service.Uniformity.UNIFORM, Service.Durability.SYNCED);

    private final Optional<ServerInterceptor> interceptor;

    /** For {@link java.util.ServiceLoader}. */
    public RatisProtocol() {
        this.interceptor = Optional.empty();
    }

    /** With something between the network and Ratis, which tests use to lose what comes and goes. */
    RatisProtocol(ServerInterceptor interceptor) {
        this.interceptor = Optional.of(interceptor);
    }

    @Override
    public String name() {
        return "ratis";
    }

    @Override
    public Service offers(GroupConfiguration configuration) {
        return OFFERED;
    }

    @Override
    public Group open(GroupConfiguration configuration, Service required, GroupListener listener) {
        requireOffered(configuration, required);
        configuration.requirePlain(name());
        return new RatisGroup(configuration, interceptor, listener);
    }

    @Override
    public Recovery recovery(Path directory) {
        throw new GroupException(
                GroupException.Disposition.CORRECT,
                "a member of ratis cannot go on alone, " + directory + ": bring back a majority of its group");
    }
}
