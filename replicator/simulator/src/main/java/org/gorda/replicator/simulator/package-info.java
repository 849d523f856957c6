/**
 * Whole groups in virtual time, seeded, in one thread: the production code that orders ({@code jgcs/raft}) and decides ({@code
 * replicator/core}), with simulated databases, clients, networks and disks that fail. {@link
 * org.gorda.replicator.simulator.SimulationRun} is the way in.
 */
@NullMarked
package org.gorda.replicator.simulator;

import org.jspecify.annotations.NullMarked;
