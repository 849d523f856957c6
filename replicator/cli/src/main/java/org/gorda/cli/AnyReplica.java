package org.gorda.cli;

import picocli.CommandLine.Help;
import picocli.CommandLine.Option;

/** The replica that a command asks, in each command the same option. */
final class AnyReplica {

    @Option(
            names = "--at",
            required = true,
            paramLabel = "HOST:PORT",
            showDefaultValue = Help.Visibility.NEVER,
            description = "The service address of any replica of the group.")
    private String at = "";

    String service() {
        return at;
    }
}
