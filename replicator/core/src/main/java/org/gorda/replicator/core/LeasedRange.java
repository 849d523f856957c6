package org.gorda.replicator.core;

/**
 * Values of a generator that nobody else ever gets. Immutable.
 *
 * @param count how many, 0 if the generator has none left
 */
public record LeasedRange(long first, int count, long increment) {

    static final LeasedRange NONE_LEFT = new LeasedRange(0, 0, 1);
}
