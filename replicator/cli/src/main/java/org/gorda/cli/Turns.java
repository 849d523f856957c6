package org.gorda.cli;

import java.time.Duration;
import picocli.CommandLine.Option;

/** How long commands measure that have several sides take turns. */
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class Turns {

    @Option(
            names = "--warmup",
            description =
                    "How long each side runs before it is measured. Replicas that share two processors need a minute to compile.",
            defaultValue = "60s")
    private Duration warmup = Duration.ZERO;

    @Option(names = "--turn", description = "How long each turn lasts.", defaultValue = "5s")
    private Duration turn = Duration.ZERO;

    @Option(names = "--pairs", description = "How many turns each side has.", defaultValue = "5")
    private int pairs;

    Duration warmUp() {
        return warmup;
    }

    Duration each() {
        return turn;
    }

    int pairs() {
        return pairs;
    }
}
