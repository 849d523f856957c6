package org.gorda.replicator.node;

import java.io.IOException;
import java.net.InetAddress;
import java.net.UnknownHostException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.gorda.jgcs.MemberId;
import org.gorda.replicator.engine.Replica;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.Setting;
import org.jspecify.annotations.Nullable;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;

/**
 * How a replica process is set up: the replica's own {@linkplain Setting settings}, and where it is reached. Immutable.
 *
 * @param engine the kind of database, by the name of its binding
 * @param database where the database is, as the binding names it; for Derby its path
 * @param self this replica's address for the others
 * @param members the addresses of all replicas
 * @param services where each member tells of itself and is asked for outcomes, in the order of the members
 * @param clients where the engine's own clients connect to this replica
 * @param credentials {@code user} and {@code password} as which the replica opens the database, if it wants any
 * @param settings of the replica
 */
public record NodeConfiguration(
        String engine,
        String database,
        MemberId self,
        List<MemberId> members,
        List<MemberId> services,
        MemberId clients,
        Map<String, String> credentials,
        Map<Setting, String> settings) {

    /** What is not a {@link Setting} of the replica, with a line of text for each. */
    public static final Map<String, String> KEYS = keys();

    private static final int FILE_BYTES_MAX = 1 << 20;

    public NodeConfiguration {
        members = List.copyOf(members);
        services = List.copyOf(services);
        credentials = Map.copyOf(credentials);
        settings = Map.copyOf(settings);
    }

    private static Map<String, String> keys() {
        Map<String, String> keys = new LinkedHashMap<>();
        keys.put("engine", "the kind of database (default derby)");
        keys.put("database", "the database's path; made if it is not there");
        keys.put(
                "services",
                "where each member is asked by clients and people, host:port,... (default each member's port + 1)");
        keys.put("clients", "where the database's own protocol is spoken, host:port (default this member's port + 2)");
        keys.put("user", "as whom the replica opens the database, if the database asks");
        keys.put(
                "password",
                "of that user; others can read a command line, but need not be able to read the file of --config");
        return keys;
    }

    /**
     * Reads a YAML file of {@code key: value}; a list of addresses may be a YAML list.
     *
     * @throws ReplicaException if it cannot be read or is no such file; the message names the file and the place
     */
    public static Map<String, String> load(Path file) {
        try {
            if (Files.size(file) > FILE_BYTES_MAX) {
                throw new ReplicaException(
                        file + " is larger than " + FILE_BYTES_MAX + " bytes, it is no configuration");
            }
            LoadSettings yaml = LoadSettings.builder().setLabel(file.toString()).build();
            Object content = new Load(yaml).loadFromString(Files.readString(file));
            if (!(content instanceof Map<?, ?> map)) {
                throw new ReplicaException(file + " is not a list of 'key: value' lines");
            }
            Map<String, String> values = new LinkedHashMap<>();
            map.forEach((key, value) -> values.put(String.valueOf(key), text(file, String.valueOf(key), value)));
            return values;
        } catch (IOException e) {
            throw new ReplicaException(file + " cannot be read: " + e, e);
        } catch (YamlEngineException e) {
            throw new ReplicaException(
                    file + " is not YAML: " + String.valueOf(e.getMessage()).replaceAll("\\s*\\R\\s*", ", "), e);
        }
    }

    private static String text(Path file, String key, @Nullable Object value) {
        if (value instanceof List<?> list) {
            return list.stream().map(String::valueOf).collect(Collectors.joining(","));
        }
        if (value == null || value instanceof Map<?, ?>) {
            throw new ReplicaException(file + ": " + key + " has no value that could be used");
        }
        return value.toString();
    }

    /**
     * Makes sense of keys and values.
     *
     * @throws ReplicaException naming key and value, and what would do
     */
    public static NodeConfiguration of(Map<String, String> values) {
        Map<Setting, String> settings = new EnumMap<>(Setting.class);
        values.forEach((key, value) -> {
            Optional<Setting> setting = Setting.of(key);
            if (setting.isPresent()) {
                settings.put(setting.get(), value);
            } else if (!KEYS.containsKey(key)) {
                throw Setting.unknown(key, KEYS.keySet().stream());
            }
        });
        String database = values.getOrDefault("database", "");
        if (database.isBlank()) {
            throw new ReplicaException("database is not set: give the database's path");
        }
        String givenSelf = settings.get(Setting.SELF);
        String givenMembers = settings.get(Setting.MEMBERS);
        if (givenSelf == null && givenMembers == null) {
            throw new ReplicaException("self and members are not set: give this replica's address and those of all");
        }
        List<MemberId> members = addresses("members", givenMembers == null ? givenSelf : givenMembers);
        MemberId self = givenSelf == null && members.size() == 1
                ? members.get(0)
                : addresses("self", givenSelf == null ? "" : givenSelf).get(0);
        if (!members.contains(self)) {
            throw new ReplicaException("self is " + self + " but must be one of the members " + members);
        }
        settings.put(Setting.SELF, self.toString());
        String givenServices = values.get("services");
        List<MemberId> services = givenServices == null
                ? members.stream().map(member -> beside(member, 1)).toList()
                : addresses("services", givenServices);
        if (services.size() != members.size()) {
            throw new ReplicaException("services has " + services.size() + " addresses, but there are " + members.size()
                    + " members: give one for each, in the same order");
        }
        String givenClients = values.get("clients");
        MemberId clients = givenClients == null
                ? beside(self, 2)
                : addresses("clients", givenClients).get(0);
        requireDistinct(members, services, clients);
        if (!"true".equals(settings.get(Setting.INSECURE))) {
            requireLoopback("services", services.get(members.indexOf(self)));
            requireLoopback("clients", clients);
        }
        Map<String, String> credentials = new LinkedHashMap<>(values);
        credentials.keySet().retainAll(Set.of("user", "password"));
        return new NodeConfiguration(
                values.getOrDefault("engine", "derby"),
                database,
                self,
                members,
                services,
                clients,
                credentials,
                settings);
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

    /** What is said there is neither encrypted nor authenticated yet. */
    private static void requireLoopback(String key, MemberId address) {
        try {
            if (InetAddress.getByName(address.host()).isLoopbackAddress()) {
                return;
            }
        } catch (UnknownHostException e) {
            throw new ReplicaException(key + " is " + address + ", and there is no such host", e);
        }
        throw new ReplicaException(
                key + " is " + address
                        + ", which others can reach, and nothing is encrypted there yet: set insecure=true if the network is safe");
    }

    private static MemberId beside(MemberId member, int ports) {
        if (member.port() + ports > 65535) {
            throw new ReplicaException("there is no port " + member.port() + " + " + ports
                    + " for the service and the clients of member " + member + ": set services and clients");
        }
        return new MemberId(member.host() + ":" + (member.port() + ports));
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

    /** The name under which clients know the database: the last part of its path. */
    public String databaseName() {
        Path name = Path.of(database).getFileName();
        return name == null ? database : name.toString();
    }

    /** A description of the replica. */
    Replica.Builder replica() {
        Path path = Path.of(database).toAbsolutePath();
        Replica.Builder builder = Replica.builder().database(engine, path.toString());
        settings.forEach((setting, value) -> setting.apply(builder, value));
        credentials.forEach(builder::attribute);
        return builder;
    }
}
