package org.gorda.cli;

import java.nio.file.Path;
import java.util.Map;
import java.util.TreeMap;
import java.util.function.BiConsumer;
import java.util.function.Function;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.Setting;
import org.gorda.replicator.engine.Tls;
import org.gorda.replicator.node.NodeClient;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Help;
import picocli.CommandLine.Option;

/** The replica that a command asks, in each command the same options. */
final class AnyReplica {

    @Option(
            names = "--at",
            required = true,
            paramLabel = "HOST:PORT",
            showDefaultValue = Help.Visibility.NEVER,
            description = "The service address of any replica of the group.")
    private String at = "";

    @Option(
            names = "--tls-authority",
            paramLabel = "FILE",
            defaultValue = "${GORDA_TLS_AUTHORITY}",
            showDefaultValue = Help.Visibility.NEVER,
            description =
                    "If the group encrypts: PEM file with the certificate of its authority. The environment may have it and"
                            + " the next two: GORDA_TLS_AUTHORITY.")
    private @Nullable Path authority;

    @Option(
            names = "--tls-certificate",
            paramLabel = "FILE",
            defaultValue = "${GORDA_TLS_CERTIFICATE}",
            showDefaultValue = Help.Visibility.NEVER,
            description = "For all but `status`: PEM file with a certificate by that authority.")
    private @Nullable Path certificate;

    @Option(
            names = "--tls-key",
            paramLabel = "FILE",
            defaultValue = "${GORDA_TLS_KEY}",
            showDefaultValue = Help.Visibility.NEVER,
            description = "PEM file with the key of that certificate.")
    private @Nullable Path key;

    /** What the replicas of a group answer, and why others do not, by their names. */
    record Answers<T>(Map<String, T> replicas, Map<String, String> missing) {}

    String service() {
        return at;
    }

    /** What asks it, and the others of its group. */
    NodeClient client() {
        return new NodeClient(Tls.of(this::value));
    }

    /**
     * Asks all replicas of a group, one after the other.
     *
     * @param services where, by their names
     * @param question is given an address
     * @param answered is given the name and the answer
     * @param silent is given the name and why there is no answer
     */
    static <T> Answers<T> ask(
            Map<String, String> services,
            Function<String, T> question,
            BiConsumer<String, T> answered,
            BiConsumer<String, String> silent) {
        Answers<T> answers = new Answers<>(new TreeMap<>(), new TreeMap<>());
        services.forEach((member, service) -> {
            try {
                T answer = question.apply(service);
                answers.replicas.put(member, answer);
                answered.accept(member, answer);
            } catch (ReplicaException e) {
                String why = String.valueOf(e.getMessage());
                answers.missing.put(member, why);
                silent.accept(member, why);
            }
        });
        return answers;
    }

    private @Nullable String value(Setting setting) {
        Path file = switch (setting) {
            case TLS_AUTHORITY -> authority;
            case TLS_CERTIFICATE -> certificate;
            case TLS_KEY -> key;
            default -> null;
        };
        return file == null ? null : file.toString();
    }
}
