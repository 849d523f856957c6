package org.gorda.gapi;

/**
 * What a database's catalogue says of a generator without CYCLE. Immutable.
 *
 * @param next the value it would generate next
 * @param increment from one value to the next, not 0; below 0 it counts down
 * @param minimum the lowest value that it may generate
 * @param maximum the highest one
 */
public record GeneratorState(Generator generator, long next, long increment, long minimum, long maximum) {

    /**
     * Describes a generator.
     *
     * @throws IllegalArgumentException if it could not generate any value
     */
    public GeneratorState {
        if (increment == 0 || minimum > maximum) {
            throw new IllegalArgumentException(
                    generator + " with increment " + increment + " from " + minimum + " to " + maximum);
        }
    }
}
