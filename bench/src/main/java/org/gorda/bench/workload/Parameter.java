package org.gorda.bench.workload;

import java.time.Duration;
import java.util.List;
import java.util.function.Consumer;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.Setting;

/**
 * Something that can be chosen about a load test. Immutable.
 *
 * @param name lower case, words divided by {@code -}
 * @param standard what it is if nothing is chosen
 * @param range what it may be, for people
 * @param text what it is for
 * @param check throws {@link BenchException} if a value cannot be
 */
public record Parameter(String name, String standard, String range, String text, Consumer<String> check) {

    /** A whole number. */
    public static Parameter number(String name, long standard, long min, long max, String text) {
        String range = min + ".." + max;
        return new Parameter(name, Long.toString(standard), range, text, value -> {
            long number = min - 1;
            try {
                number = Long.parseLong(value);
            } catch (NumberFormatException e) {
                // Told below.
            }
            if (number < min || number > max) {
                throw wrong(name, value, min + " to " + max);
            }
        });
    }

    /** So many of a hundred. */
    public static Parameter percent(String name, int standard, String text) {
        return number(name, standard, 0, 100, text);
    }

    /** One of some words. */
    public static Parameter word(String name, String standard, List<String> words, String text) {
        String range = String.join("|", words);
        return new Parameter(name, standard, range, text, value -> {
            if (!words.contains(value)) {
                throw wrong(name, value, String.join(" or ", words));
            }
        });
    }

    /** A time such as 500ms, 30s, 5m, 1h. */
    public static Parameter duration(String name, String standard, String text) {
        return new Parameter(name, standard, "duration", text, value -> parse(name, value));
    }

    /** Anything. */
    public static Parameter text(String name, String standard, String range, String text) {
        return new Parameter(name, standard, range, text, value -> {});
    }

    private static BenchException wrong(String name, String value, String legal) {
        return new BenchException(name + " is " + value + " but must be " + legal);
    }

    static Duration parse(String name, String value) {
        try {
            return Setting.duration(name, value);
        } catch (ReplicaException e) {
            throw new BenchException(String.valueOf(e.getMessage()), e);
        }
    }
}
