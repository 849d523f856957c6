package org.gorda.jgcs;

import java.nio.file.Path;

/** A way of group communication, found by {@link java.util.ServiceLoader} and its name. Implementations are thread-safe. */
public interface Protocol {

    /** The name it is configured by, for instance {@code raft}. */
    String name();

    /** The strongest service that a group under this configuration gives. */
    Service offers(GroupConfiguration configuration);

    /**
     * For who opens a group.
     *
     * @throws GroupException if a service is required that a group under this configuration does not give
     */
    default void requireOffered(GroupConfiguration configuration, Service required) {
        Service offered = offers(configuration);
        if (!offered.satisfies(required)) {
            throw new GroupException(
                    GroupException.Disposition.CORRECT,
                    "protocol " + name() + " as configured offers " + offered + ", but " + required
                            + " is required: use raft, with the durability that is required");
        }
    }

    /**
     * Opens this process's membership; {@link ControlSession#join} then starts it.
     *
     * @param required what every message must be guaranteed
     * @throws GroupException if the service is not offered, or the configuration or the member's directory cannot be used; the
     *     message says why and what to do
     */
    Group open(GroupConfiguration configuration, Service required, GroupListener listener);

    /**
     * Opens the directory of a member that does not run and has perhaps lost its group.
     *
     * @param directory what {@link GroupConfiguration#directory} was
     * @throws GroupException if the directory holds no member, is damaged or in use, or this protocol keeps nothing on disk
     */
    default Recovery recovery(Path directory) {
        throw new GroupException(
                GroupException.Disposition.CORRECT, "protocol " + name() + " keeps nothing that could be recovered");
    }
}
