package org.gorda.bench.torture;

import java.time.Duration;
import java.util.List;
import java.util.Locale;

/**
 * Something that is done to replicas, and undone again. Immutable.
 *
 * @param atMillis when, since the load began
 * @param lengthMillis until it is undone
 * @param victims by number, from 0
 * @param severity 0 to 1: of {@link Kind#KILL}, {@link Kind#SLOW}, {@link Kind#DISK_FULL} and {@link Kind#CLOCK}
 */
record Fault(Kind kind, long atMillis, long lengthMillis, List<Integer> victims, double severity) {

    /** What is done. */
    enum Kind {
        /** SIGKILL, also of the databases' servers in half of the cases; they are started again in the order in which they stand. */
        KILL("kill"),
        /** SIGSTOP, then SIGCONT. */
        PAUSE("pause"),
        /** Between the victims and the others nothing arrives any more; connections stay. */
        PARTITION("partition"),
        /** Nothing arrives that the victims send. */
        PARTITION_OUT("partition"),
        /** As {@link #PARTITION}, and connections are reset. */
        PARTITION_RESET("partition"),
        /** As {@link #PARTITION}, twice a second on and off. */
        FLAPPING("partition"),
        /** All that victims send and receive arrives later. */
        SLOW("slow"),
        /** No file of theirs can grow beyond a size. */
        DISK_FULL("disk-full"),
        /** Their wall clocks are moved, and back again. */
        CLOCK("clock");

        private final String family;

        Kind(String family) {
            this.family = family;
        }

        /** By which it is asked for. */
        String family() {
            return family;
        }

        boolean isOfLinks() {
            return family.equals("partition");
        }

        /** Whether a replica can have only one of these at a time. */
        boolean isOfProcess() {
            return this == KILL || this == PAUSE || this == DISK_FULL;
        }
    }

    private static final double DELAY_MILLIS_MAX = 200;
    private static final double DAY_SECONDS = 86_400;
    private static final int SIZE_BITS_MIN = 12;
    private static final int SIZE_BITS_MAX = 22;

    /** How much later, with {@link Kind#SLOW}. */
    int delayMillis() {
        return (int) Math.max(1, severity * DELAY_MILLIS_MAX);
    }

    /** How large files may become, with {@link Kind#DISK_FULL}: 4 KB to 4 MB. */
    long fileBytesMax() {
        return 1L << Math.round(SIZE_BITS_MIN + severity * (SIZE_BITS_MAX - SIZE_BITS_MIN));
    }

    /** Whether the databases' servers, where there are some, are killed with their replicas. */
    boolean hitsServers() {
        return kind == Kind.KILL && severity < 0.5;
    }

    /** How far clocks are moved, with {@link Kind#CLOCK}: a second to a day, forwards or backwards. */
    Duration clockAhead() {
        double away = Math.abs(2 * severity - 1);
        long seconds = Math.round(Math.pow(DAY_SECONDS, away));
        return Duration.ofSeconds(severity < 0.5 ? -seconds : seconds);
    }

    /** For people. */
    String describe() {
        List<Integer> names = victims.stream().map(victim -> victim + 1).toList();
        String what = switch (kind) {
            case KILL -> "kill -9";
            case PAUSE -> "pause";
            case PARTITION -> "cut off";
            case PARTITION_OUT -> "cut off what is sent by";
            case PARTITION_RESET -> "cut off, with resets,";
            case FLAPPING -> "cut off, on and off,";
            case SLOW -> "delay by " + delayMillis() + " ms";
            case DISK_FULL -> "let no file grow beyond " + fileBytesMax() + " bytes of";
            case CLOCK ->
                String.format(
                        Locale.ROOT, "move by %+d s the clock of", clockAhead().toSeconds());
        };
        return String.format(Locale.ROOT, "%s replica %s for %.1f s", what, join(names), lengthMillis / 1e3);
    }

    private static String join(List<Integer> names) {
        return names.stream()
                .map(String::valueOf)
                .reduce((a, b) -> a + ", " + b)
                .orElse("");
    }
}
