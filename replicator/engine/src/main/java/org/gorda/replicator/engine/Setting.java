package org.gorda.replicator.engine;

import java.nio.file.Path;
import java.time.Duration;
import java.util.Arrays;
import java.util.Comparator;
import java.util.Locale;
import java.util.Optional;
import java.util.Set;
import java.util.function.BiConsumer;
import java.util.function.Function;
import java.util.regex.Matcher;
import java.util.regex.Pattern;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.gorda.replicator.core.ReplicationProtocol;

/**
 * All settings as text, each declared once: for URLs, properties, files, the environment and the command line, which {@link Settings}
 * puts together. {@link #apply} gives those of a replica to a {@link Replica.Builder}.
 */
public enum Setting {
    CONFIG("config", "path", "no file", "a YAML file with more settings", Use.ALL),
    ENGINE("engine", "name", "derby", "the kind of database", Use.NODE_ONLY),
    DATABASE(
            "database",
            "path",
            "must be given",
            "the database's path, or //host:port/name of a server's; made if it is not there",
            Use.NODE_ONLY),
    SERVICES(
            "services",
            "host:port,...",
            "each member's port + 1",
            "where each member is asked by clients and people",
            Use.NODE_ONLY),
    CLIENTS(
            "clients",
            "host:port",
            "this member's port + 2",
            "where the database's own protocol is spoken",
            Use.NODE_ONLY),
    CONNECT_TIMEOUT(
            "connect-timeout",
            "duration",
            "30s; 2m if this JVM is a replica, which may have to catch up",
            "how long a new connection waits until there is a primary",
            Use.CONNECTIONS),
    RETRY(
            "retry",
            "0 to 1000",
            "0, never",
            "how often a transaction that was refused with 40001 is run again before the application is told",
            Use.CONNECTIONS),
    USER(
            "user",
            "name",
            "the database's own default",
            "as whom to connect; of a replica, as whom it opens the database",
            Use.ALL,
            (builder, text) -> builder.attribute("user", text)),
    PASSWORD(
            "password",
            "text",
            "none",
            "of that user; a command line can be read by others, a file need not be",
            Use.ALL,
            (builder, text) -> builder.attribute("password", text)),
    GROUP(
            "group",
            "name",
            "gorda",
            "the group's name, the same on all replicas",
            Use.REPLICAS,
            (builder, text) -> builder.group(text)),
    TOOLKIT(
            "toolkit",
            "name",
            "raft",
            "what orders the group's messages, the same on all replicas; `ratis` has to be put on the class path",
            Use.REPLICAS,
            (builder, text) -> builder.toolkit(text)),
    SELF(
            "self",
            "host:port",
            "the one member of this machine; for `gorda node` the only member",
            "this replica's address for the others",
            Use.REPLICAS,
            (builder, text) -> builder.self(text)),
    MEMBERS(
            "members",
            "host:port,...",
            "this replica alone",
            "the addresses of all replicas, the same list on all",
            Use.REPLICAS,
            (builder, text) -> builder.members(text.split(","))),
    DIRECTORY(
            "directory",
            "path",
            "the database's path and .gorda; must be given for a server's",
            "where log and checkpoints are kept",
            Use.REPLICAS,
            (builder, text) -> builder.directory(Path.of(text))),
    PROTOCOL(
            "protocol",
            names(ReplicationProtocol.values(), ReplicationProtocol::key),
            "primary-backup",
            "how a new group replicates; one that exists keeps to its own, see `gorda protocol`",
            Use.REPLICAS,
            (builder, text) -> builder.protocol(protocol(text))),
    DURABILITY(
            "durability",
            names(Durability.values(), Durability::key),
            "group",
            "when a commit is answered",
            Use.REPLICAS,
            (builder, text) -> builder.durability(one("durability", text, Durability.values(), Durability::key))),
    READS(
            "reads",
            "any|strong; any|session for a cluster",
            "any",
            "strong: each statement first makes sure to see everything committed before; session: what a connection reads after"
                    + " setReadOnly(true) has everything that it wrote or read before",
            Use.ALL,
            (builder, text) -> builder.strongReads(strong(text))),
    COMMIT_TIMEOUT(
            "commit-timeout",
            "duration",
            "30s",
            "how long a commit may wait to be ordered, and a replica for an answer of its database before another one leads (10s at least)",
            Use.REPLICAS,
            (builder, text) -> builder.commitTimeout(duration("commit-timeout", text))),
    READ_GRACE(
            "read-grace",
            "duration",
            "1s",
            "how long transactions that only read may hold up changes of others",
            Use.REPLICAS,
            (builder, text) -> builder.readGrace(duration("read-grace", text))),
    LAG_MAX(
            "lag-max",
            "number",
            "10000",
            "how many transactions a replica may be behind the one that shows most; from half of that on writers wait for it",
            Use.REPLICAS,
            (builder, text) -> builder.lagMax(number("lag-max", text))),
    LAG_PATIENCE(
            "lag-patience",
            "duration",
            "30s",
            "how long they wait for one that stays behind; then it takes no writers until it has caught up",
            Use.REPLICAS,
            (builder, text) -> builder.lagPatience(duration("lag-patience", text))),
    ELECTION_TIMEOUT(
            "election-timeout",
            "duration",
            "1s",
            "how long a silent leader is believed in",
            Use.REPLICAS,
            (builder, text) -> builder.electionTimeout(duration("election-timeout", text))),
    WRITE_SET_BYTES_MAX(
            "write-set-bytes-max",
            "size",
            "1GB",
            "the largest transaction",
            Use.REPLICAS,
            (builder, text) -> builder.writeSetBytesMax(size("write-set-bytes-max", text))),
    LOG_RETAIN_BYTES(
            "log-retain-bytes",
            "size",
            "1GB",
            "how much of the log is kept, and twice as much while a member lacks it; who lacks more receives the database",
            Use.REPLICAS,
            (builder, text) -> builder.logRetainBytes(size("log-retain-bytes", text))),
    TRANSFER_BYTES_PER_SECOND(
            "transfer-bytes-per-second",
            "size",
            "64MB",
            "how fast this replica receives a database, at most",
            Use.REPLICAS,
            (builder, text) -> builder.transferBytesPerSecond(size("transfer-bytes-per-second", text))),
    TLS_AUTHORITY(
            "tls-authority",
            "path",
            "nothing is encrypted",
            "PEM file with the certificate of who issued those of the group's members; with it all that is sent is encrypted",
            Use.ALL),
    TLS_CERTIFICATE(
            "tls-certificate",
            "path",
            "none; a replica must have one if anything is encrypted",
            "PEM file with this process's own certificate, which for a replica names the host of its address",
            Use.ALL),
    TLS_KEY("tls-key", "path", "none; goes with tls-certificate", "PEM file with the key of that certificate", Use.ALL),
    INSECURE(
            "insecure",
            "true|false",
            "false",
            "lets replicas talk over a network without encryption",
            Use.REPLICAS,
            (builder, text) -> builder.insecure(bool("insecure", text)));

    /** What a setting may be for. */
    public enum Use {
        /** A replica process. */
        NODE("gorda node"),
        /** A URL that makes this JVM a replica. */
        EMBEDDED("jdbc:gorda:derby:PATH"),
        /** A URL of a client of replica processes. */
        CLUSTER("jdbc:gorda://HOST:PORT,.../DB");

        private static final Set<Use> ALL = Set.of(values());
        private static final Set<Use> NODE_ONLY = Set.of(NODE);
        private static final Set<Use> REPLICAS = Set.of(NODE, EMBEDDED);
        private static final Set<Use> CONNECTIONS = Set.of(EMBEDDED, CLUSTER);

        private final String where;

        Use(String where) {
            this.where = where;
        }

        /** What it is, for people. */
        public String where() {
            return where;
        }
    }

    private static final Pattern DURATION = Pattern.compile("(\\d{1,9})\\s*(ms|s|m|h)");

    /** Over a year, and several of them are a number of nanoseconds still. */
    private static final long HOURS_MAX = 10_000;

    private static final int RETRIES_MAX = 1000;
    private static final Pattern SIZE = Pattern.compile("(\\d{1,12})\\s*(B|KB|MB|GB)?");

    private final String key;
    private final String range;
    private final String standard;
    private final String text;

    @SuppressWarnings("ImmutableEnumChecker") // never changed
    private final Set<Use> uses;

    @SuppressWarnings("ImmutableEnumChecker") // the lambdas hold nothing
    private final BiConsumer<Replica.Builder, String> setter;

    Setting(
            String key,
            String range,
            String standard,
            String text,
            Set<Use> uses,
            BiConsumer<Replica.Builder, String> setter) {
        this.key = key;
        this.range = range;
        this.standard = standard;
        this.text = text;
        this.uses = uses;
        this.setter = setter;
    }

    /** One that is not the replica's own. */
    Setting(String key, String range, String standard, String text, Set<Use> uses) {
        this(key, range, standard, text, uses, (builder, value) -> {});
    }

    public String key() {
        return key;
    }

    /** What values there are, for people. */
    public String range() {
        return range;
    }

    /** What holds if it is not set, for people. */
    public String standard() {
        return standard;
    }

    /** One line of explanation. */
    public String text() {
        return text;
    }

    public boolean isFor(Use use) {
        return uses.contains(use);
    }

    /**
     * Gives the value to the builder, unless the setting is none of the replica's own.
     *
     * @throws ReplicaException naming key, value and what values there are
     */
    public void apply(Replica.Builder builder, String value) {
        try {
            setter.accept(builder, this == PASSWORD ? value : value.strip());
        } catch (IllegalArgumentException e) {
            throw new ReplicaException(key + "=" + value + ": " + e.getMessage(), e);
        }
    }

    /** The setting with a key, in whatever case it is written. */
    public static Optional<Setting> of(String key) {
        String lower = key.toLowerCase(Locale.ROOT);
        return Arrays.stream(values())
                .filter(setting -> setting.key.equals(lower))
                .findFirst();
    }

    /** Says that there is no such key for a use, and which is nearest to it or what it is for. */
    static ReplicaException unknown(String key, Use use, Stream<String> others) {
        Optional<Setting> elsewhere = of(key);
        if (elsewhere.isPresent()) {
            return new ReplicaException("'" + key + "' is no setting for " + use.where() + " but for "
                    + Arrays.stream(Use.values())
                            .filter(elsewhere.get()::isFor)
                            .map(Use::where)
                            .collect(Collectors.joining(" and ")));
        }
        Stream<String> known = Stream.concat(
                Arrays.stream(values()).filter(setting -> setting.isFor(use)).map(Setting::key), others);
        return new ReplicaException("there is no setting '" + key + "'; did you mean '" + nearest(key, known) + "'?");
    }

    /** The key, or other word, that was probably meant; empty if none is known. */
    public static String nearest(String key, Stream<String> known) {
        String lower = key.toLowerCase(Locale.ROOT);
        return known.min(Comparator.comparingInt(one -> distance(one.toLowerCase(Locale.ROOT), lower)))
                .orElse("");
    }

    /** How many letters must be changed, added or left out (Levenshtein 1965). */
    private static int distance(String a, String b) {
        int[] row = new int[b.length() + 1];
        for (int j = 0; j <= b.length(); j++) {
            row[j] = j;
        }
        for (int i = 1; i <= a.length(); i++) {
            int diagonal = row[0];
            row[0] = i;
            for (int j = 1; j <= b.length(); j++) {
                int substituted = diagonal + (a.charAt(i - 1) == b.charAt(j - 1) ? 0 : 1);
                diagonal = row[j];
                row[j] = Math.min(substituted, 1 + Math.min(row[j], row[j - 1]));
            }
        }
        return row[b.length()];
    }

    // ------------------------------------------------------------------------------------------------------ values

    private static <T> String names(T[] values, Function<T, String> name) {
        return Arrays.stream(values).map(name).collect(Collectors.joining("|"));
    }

    static <T> T one(String key, String text, T[] values, Function<T, String> name) {
        return Arrays.stream(values)
                .filter(value -> name.apply(value).equals(text))
                .findFirst()
                .orElseThrow(() ->
                        new ReplicaException(key + " is '" + text + "' but must be one of " + names(values, name)));
    }

    /**
     * A protocol by the name it is configured by.
     *
     * @throws ReplicaException if there is none of that name, naming those that there are
     */
    public static ReplicationProtocol protocol(String text) {
        return one("protocol", text, ReplicationProtocol.values(), ReplicationProtocol::key);
    }

    private static boolean strong(String text) {
        return isFirst("reads", text, "strong", "any");
    }

    /**
     * Parses the value of {@link #READS} in a cluster's URL.
     *
     * @throws ReplicaException if it is neither any nor session
     */
    public static boolean sessionReads(String text) {
        if (text.equals("strong")) {
            throw new ReplicaException(
                    "reads is 'strong' but must be any or session: strong is for the replicas themselves,"
                            + " gorda node --reads strong");
        }
        return isFirst("reads", text, "session", "any");
    }

    private static boolean isFirst(String key, String text, String first, String second) {
        if (!text.equals(first) && !text.equals(second)) {
            throw new ReplicaException(key + " is '" + text + "' but must be " + first + " or " + second);
        }
        return text.equals(first);
    }

    private static boolean bool(String key, String text) {
        return isFirst(key, text, "true", "false");
    }

    /**
     * Parses a duration such as {@code 500ms}, {@code 30s}, {@code 5m} or {@code 1h}.
     *
     * @throws ReplicaException naming the key if it is none
     */
    public static Duration duration(String key, String text) {
        Matcher matcher = DURATION.matcher(text);
        if (!matcher.matches()) {
            throw new ReplicaException(key + " is '" + text + "' but must be a duration such as 500ms, 30s, 5m or 1h");
        }
        long amount = Long.parseLong(matcher.group(1));
        Duration duration = switch (matcher.group(2)) {
            case "ms" -> Duration.ofMillis(amount);
            case "s" -> Duration.ofSeconds(amount);
            case "m" -> Duration.ofMinutes(amount);
            default -> Duration.ofHours(amount);
        };
        if (duration.toHours() > HOURS_MAX) {
            throw new ReplicaException(key + " is '" + text + "' but must be at most " + HOURS_MAX + "h");
        }
        return duration;
    }

    /**
     * Parses the value of {@link #RETRY}.
     *
     * @throws ReplicaException if it is no such number
     */
    public static int retries(String text) {
        if (!text.matches("\\d{1,4}") || Integer.parseInt(text) > RETRIES_MAX) {
            throw new ReplicaException(
                    "retry is '" + text + "' but must be a number from 0 to " + RETRIES_MAX + ", 0 meaning never");
        }
        return Integer.parseInt(text);
    }

    private static long number(String key, String text) {
        if (!text.matches("\\d{1,12}")) {
            throw new ReplicaException(key + " is '" + text + "' but must be a number such as 10000");
        }
        return Long.parseLong(text);
    }

    private static long size(String key, String text) {
        Matcher matcher = SIZE.matcher(text);
        if (!matcher.matches()) {
            throw new ReplicaException(key + " is '" + text + "' but must be a size such as 65536, 64KB, 16MB or 1GB");
        }
        long amount = Long.parseLong(matcher.group(1));
        String unit = matcher.group(2) == null ? "B" : matcher.group(2);
        return switch (unit) {
            case "KB" -> amount << 10;
            case "MB" -> amount << 20;
            case "GB" -> amount > Long.MAX_VALUE >> 30 ? Long.MAX_VALUE : amount << 30;
            default -> amount;
        };
    }
}
