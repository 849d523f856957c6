package org.gorda.cli;

import java.util.LinkedHashMap;
import java.util.Map;
import java.util.concurrent.Callable;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.ReplicaStatus;
import org.gorda.replicator.engine.Setting;
import org.gorda.replicator.node.Node;
import org.gorda.replicator.node.NodeConfiguration;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Model.CommandSpec;
import picocli.CommandLine.Model.OptionSpec;
import picocli.CommandLine.Spec;

/** One replica as this process. Its options are the {@linkplain Setting settings}; see {@link org.gorda.replicator.engine.Settings}. */
@Command(
        name = "node",
        mixinStandardHelpOptions = true,
        sortOptions = false,
        description =
                "Runs one replica until it is ended (SIGTERM ends it in order) or stops by itself, then with exit status 1. "
                        + "An option wins over the environment (GORDA_CONFIG for --config), and that over the file.")
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class NodeCommand implements Callable<Integer> {

    @Spec
    @SuppressWarnings("NullAway.Init") // by picocli
    private CommandSpec command;

    @Mixin
    private Output output = new Output();

    /** The command with an option for each setting. */
    static CommandSpec spec() {
        CommandSpec spec = CommandSpec.forAnnotatedObject(new NodeCommand());
        for (Setting setting : Setting.values()) {
            if (setting.isFor(Setting.Use.NODE)) {
                spec.addOption(OptionSpec.builder("--" + setting.key())
                        .paramLabel("<" + setting.range() + ">")
                        .description(setting.text() + " (default " + setting.standard() + ")")
                        .type(String.class)
                        .build());
            }
        }
        return spec;
    }

    @Override
    public Integer call() {
        Map<String, String> values = new LinkedHashMap<>();
        for (OptionSpec option : command.options()) {
            String key = option.longestName().substring(2);
            if (option.getValue() instanceof String value && Setting.of(key).isPresent()) {
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
