package org.gorda.jgcs.raft;

import java.nio.file.Path;
import java.security.SecureRandom;
import java.util.function.Function;
import org.gorda.jgcs.Group;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.Protocol;
import org.gorda.jgcs.Recovery;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.raft.log.FileStorage;
import org.gorda.jgcs.raft.log.LogRecovery;
import org.gorda.jgcs.raft.member.Storage;
import org.gorda.jgcs.raft.transport.TcpTransport;
import org.gorda.jgcs.raft.transport.Transport;

/** Uniform total order with a durable log. The name it is configured by is {@code raft}. Thread-safe. */
public final class RaftProtocol implements Protocol {

    private static final SecureRandom RANDOM = new SecureRandom();

    private final Function<GroupConfiguration, Storage> storages;
    private final Function<GroupConfiguration, Transport> transports;

    /** For {@link java.util.ServiceLoader}. */
    public RaftProtocol() {
        this(RaftProtocol::openStorage, TcpTransport::new);
    }

    /** With a storage and a transport of the caller's, which tests use to break them. */
    RaftProtocol(Function<GroupConfiguration, Storage> storages, Function<GroupConfiguration, Transport> transports) {
        this.storages = storages;
        this.transports = transports;
    }

    static Storage openStorage(GroupConfiguration configuration) {
        return new FileStorage(configuration, RANDOM::nextLong);
    }

    @Override
    public String name() {
        return "raft";
    }

    @Override
    public Service offers(GroupConfiguration configuration) {
        return new Service(Service.Order.TOTAL, Service.Uniformity.UNIFORM, configuration.durability());
    }

    @Override
    public Group open(GroupConfiguration configuration, Service required, GroupListener listener) {
        requireOffered(configuration, required);
        Storage storage = storages.apply(configuration);
        try {
            return new RaftGroup(configuration, storage, transports.apply(configuration), listener);
        } catch (RuntimeException e) {
            storage.close(false);
            throw e;
        }
    }

    @Override
    public Recovery recovery(Path directory) {
        return LogRecovery.open(directory, RANDOM::nextLong);
    }
}
