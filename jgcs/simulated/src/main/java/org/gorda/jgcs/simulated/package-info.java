/**
 * Groups in virtual time: {@link org.gorda.jgcs.simulated.Simulation} runs everything in one thread, seeded; {@link
 * org.gorda.jgcs.simulated.SimulatedNetwork} and {@link org.gorda.jgcs.simulated.SimulatedDisk} fail on command; and the code
 * that orders is the production code of {@code jgcs/raft}.
 */
@NullMarked
package org.gorda.jgcs.simulated;

import org.jspecify.annotations.NullMarked;
