/**
 * The Raft protocol as a library: no threads, sockets, files, clocks or randomness. {@link
 * org.gorda.jgcs.raft.core.RaftCore} is told of events and answers through {@link org.gorda.jgcs.raft.core.Effects}. The same
 * code runs in production and under the simulator.
 *
 * <p>After Ongaro, "Consensus: Bridging Theory and Practice", Stanford 2014; section numbers in comments are its.
 */
@NullMarked
package org.gorda.jgcs.raft.core;

import org.jspecify.annotations.NullMarked;
