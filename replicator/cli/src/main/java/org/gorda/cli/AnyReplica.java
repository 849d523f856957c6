package org.gorda.cli;

import picocli.CommandLine.Option;

/** The replica that a command asks, in each command the same option. */
final class AnyReplica {

    @Option(
            names = "--at",
            required = true,
            paramLabel = "HOST:PORT",
            description = "The service address of any replica of the group.")
    private String at = "";

    String service() {
        return at;
    }
}
