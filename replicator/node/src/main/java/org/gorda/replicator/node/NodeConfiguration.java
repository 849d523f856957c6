package org.gorda.replicator.node;

import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.gorda.jgcs.MemberId;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.Setting;
import org.gorda.replicator.engine.Settings;
import org.gorda.replicator.engine.Tls;
import org.jspecify.annotations.Nullable;

/**
 * How a replica process is set up: the replica's own {@linkplain Setting settings}, and where it is reached. Immutable.
 *
 * @param engine the kind of database, by the name of its binding
 * @param database where the database is, as the binding names it; for Derby its path
 * @param self this replica's address for the others
 * @param members the addresses of all replicas
 * @param services where each member tells of itself and is asked for outcomes, in the order of the members
 * @param clients where the engine's own clients connect to this replica
 * @param settings of the replica
 * @param tls by which all is encrypted that leaves the process, null if nothing is
 */
public record NodeConfiguration(
        String engine,
        String database,
        MemberId self,
        List<MemberId> members,
        List<MemberId> services,
        MemberId clients,
        Map<Setting, String> settings,
        @Nullable Tls tls) {

    public NodeConfiguration {
        members = List.copyOf(members);
        services = List.copyOf(services);
        settings = Map.copyOf(settings);
    }

    /**
     * Makes sense of keys and values, {@linkplain Settings completed} by the environment and a file.
     *
     * @throws ReplicaException naming key and value, and what would do
     */
    public static NodeConfiguration of(Map<String, String> given) {
        Map<Setting, String> settings = new EnumMap<>(Setting.class);
        Settings.complete(Setting.Use.NODE, given, List.of())
                .forEach((key, value) -> settings.put(Setting.of(key).orElseThrow(), value));
        String database = settings.getOrDefault(Setting.DATABASE, "");
        if (database.isBlank()) {
            throw new ReplicaException("database is not set: give the database's path");
        }
        String givenSelf = settings.get(Setting.SELF);
        String givenMembers = settings.get(Setting.MEMBERS);
        if (givenSelf == null && givenMembers == null) {
            throw new ReplicaException("self and members are not set: give this replica's address and those of all");
        }
        List<MemberId> members =
                addresses(givenMembers == null ? "self" : "members", givenMembers == null ? givenSelf : givenMembers);
        if (givenSelf == null && members.size() > 1) {
            throw new ReplicaException("self is not set: say which of the members " + members + " this replica is");
        }
        MemberId self = givenSelf == null ? members.get(0) : address("self", givenSelf);
        if (!members.contains(self)) {
            throw new ReplicaException("self is " + self + " but must be one of the members " + members);
        }
        settings.put(Setting.SELF, self.toString());
        String givenServices = settings.get(Setting.SERVICES);
        List<MemberId> services = givenServices == null
                ? members.stream().map(member -> beside(member, 1)).toList()
                : addresses("services", givenServices);
        if (services.size() != members.size()) {
            throw new ReplicaException("services has " + services.size() + " addresses, but there are " + members.size()
                    + " members: give one for each, in the same order");
        }
        String givenClients = settings.get(Setting.CLIENTS);
        MemberId clients = givenClients == null ? beside(self, 2) : address("clients", givenClients);
        requireDistinct(members, services, clients);
        requireOfThisReplica("services", services.get(members.indexOf(self)));
        requireOfThisReplica("clients", clients);
        Tls tls = Tls.of(settings::get);
        if (tls == null && !"true".equals(settings.get(Setting.INSECURE))) {
            requireLoopback("services", services.get(members.indexOf(self)));
            requireLoopback("clients", clients);
        }
        if (isOfServer(database) && !settings.containsKey(Setting.DIRECTORY)) {
            throw new ReplicaException(
                    "directory is not set: say where this replica keeps its log and checkpoints, because " + database
                            + " is a server's database, which has no path");
        }
        return new NodeConfiguration(
                settings.getOrDefault(Setting.ENGINE, "derby"),
                database,
                self,
                members,
                services,
                clients,
                settings,
                tls);
    }

    /** The first to start would take another's port, and another member be told that it is taken. */
    private static void requireDistinct(List<MemberId> members, List<MemberId> services, MemberId clients) {
        Set<MemberId> taken = new HashSet<>();
        for (MemberId address : Stream.of(members, services, List.of(clients))
                .flatMap(List::stream)
                .toList()) {
            if (!taken.add(address)) {
                throw new ReplicaException("the address " + address
                        + " is given twice: each member needs one for the others, one for its service (default its port"
                        + " + 1) and one for clients (default its port + 2); leave room, or set services and clients");
            }
        }
    }

    /** Others are told it as it is: to them 0.0.0.0 is their own machine, and who listens there at that port may be another replica. */
    private static void requireOfThisReplica(String key, MemberId address) {
        if (resolve(key, address).isAnyLocalAddress()) {
            throw new ReplicaException(key + " is " + address
                    + ", which is every address of whatever machine it is used on, and clients are told it as it is: give a name or"
                    + " an address by which they reach this replica");
        }
    }

    /** What is said there is neither encrypted nor authenticated. */
    private static void requireLoopback(String key, MemberId address) {
        if (!resolve(key, address).isLoopbackAddress()) {
            throw new ReplicaException(key + " is " + address
                    + ", which others can reach, and nothing is encrypted there: set tls-authority, tls-certificate and tls-key,"
                    + " or insecure=true if the network is safe");
        }
    }

    private static InetAddress resolve(String key, MemberId address) {
        try {
            return InetAddress.getByName(address.host());
        } catch (UnknownHostException e) {
            throw new ReplicaException(key + " is " + address + ", and there is no such host", e);
        }
    }

    private static MemberId beside(MemberId member, int ports) {
        if (member.port() + ports > 65535) {
            throw new ReplicaException("there is no port " + member.port() + " + " + ports
                    + " for the service and the clients of member " + member + ": set services and clients");
        }
        return new MemberId(member.host() + ":" + (member.port() + ports));
    }

    private static MemberId address(String key, String text) {
        List<MemberId> addresses = addresses(key, text);
        if (addresses.size() > 1) {
            throw new ReplicaException(key + " is '" + text + "' but must be one address, this replica's");
        }
        return addresses.get(0);
    }

    private static List<MemberId> addresses(String key, @Nullable String text) {
        List<MemberId> addresses = new ArrayList<>();
        for (String address : Stream.of(text == null ? "" : text)
                .flatMap(all -> Stream.of(all.split(",", -1)))
                .toList()) {
            try {
                addresses.add(new MemberId(address.strip()));
            } catch (IllegalArgumentException e) {
                throw new ReplicaException(key + " is '" + text + "': " + e.getMessage(), e);
            }
        }
        return addresses;
    }

    /** This replica's own service address. */
    public MemberId service() {
        return services.get(members.indexOf(self));
    }

    /** The value of a setting of the replica, or what holds without one. */
    String setting(Setting setting) {
        return settings.getOrDefault(setting, setting.standard());
    }

    /** Whether the database is one of a server of its own, {@code //host:port/name}, and no path. */
    boolean isOfServer() {
        return isOfServer(database);
    }

    private static boolean isOfServer(String database) {
        return database.startsWith("//");
    }

    /** The name under which clients know the database: the last part of its path. */
    public String databaseName() {
        Path name = Path.of(database).getFileName();
        return name == null ? database : name.toString();
    }

    /** A description of the replica. */
    Replica.Builder replica() {
        Replica.Builder builder = Replica.builder()
                .database(
                        engine,
                        isOfServer()
                                ? database
                                : Path.of(database).toAbsolutePath().toString());
        settings.forEach((setting, value) -> setting.apply(builder, value));
        return builder.tls(tls);
    }
}
