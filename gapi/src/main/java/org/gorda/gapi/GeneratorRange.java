package org.gorda.gapi;

/**
 * Values of a generator that are leased, each one increment after the other. Immutable.
 *
 * @param count how many, 0 if the generator has none left
 */
public record GeneratorRange(long first, int count) {}
