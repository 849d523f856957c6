package org.gorda.cli;

import java.nio.file.Path;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.ReplicaStatus;
import org.gorda.replicator.engine.Setting;
import org.gorda.replicator.node.Node;
import org.gorda.replicator.node.NodeConfiguration;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Option;
import picocli.CommandLine.Spec;

/** One replica as this process. Its options are the {@linkplain Setting settings}. */
@Command(
        name = "node",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Runs one replica until it is ended (SIGTERM ends it in order) or stops by itself, then with exit status 1.")
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class NodeCommand implements Callable<Integer> {

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec command;

    @Mixin
    private Output output = new Output();

    @Option(
            names = "--config",
            paramLabel = "FILE",
            description = "YAML, with the same keys as the options below; an option wins over the file.")
    private @Nullable Path file;

    /** The command with an option for each setting. */
    static CommandSpec spec() {
        CommandSpec spec = CommandSpec.forAnnotatedObject(new NodeCommand());
        NodeConfiguration.KEYS.forEach((key, text) -> spec.addOption(option(key, "VALUE", text)));
        for (Setting setting : Setting.values()) {
            spec.addOption(
                    option(setting.key(), setting.range(), setting.text() + " (default " + setting.standard() + ")"));
        }
        return spec;
    }

    private static OptionSpec option(String key, String label, String text) {
        return OptionSpec.builder("--" + key)
                .paramLabel("<" + label + ">")
                .description(text)
                .type(String.class)
                .build();
    }

    @Override
    public Integer call() {
        Path from = file;
        Map<String, String> values = new LinkedHashMap<>(from == null ? Map.of() : NodeConfiguration.load(from));
        for (OptionSpec option : command.options()) {
            String key = option.longestName().substring(2);
            if (option.getValue() instanceof String value
                    && (NodeConfiguration.KEYS.containsKey(key)
                            || Setting.of(key).isPresent())) {
                values.put(key, value);
            }
        }
        NodeConfiguration configuration = NodeConfiguration.of(values);
        try (Node node = Node.start(configuration)) {
            Runtime.getRuntime().addShutdownHook(new Thread(node::close, "gorda-end"));
            output.line("replica " + configuration.self() + " of " + configuration.members() + ", service "
                    + configuration.service() + ", clients " + configuration.clients() + ", database "
                    + configuration.database());
            node.awaitStopped();
            ReplicaStatus last = node.replica().status();
            output.result(last);
            if (node.replica().failure().isPresent()) {
                throw new ReplicaException("replica " + configuration.self() + " has stopped: " + last.explanation());
            }
            return 0;
        }
    }
}
