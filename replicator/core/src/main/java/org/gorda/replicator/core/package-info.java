/**
 * What replicas decide, as a library without threads, files or clocks: {@link org.gorda.replicator.core.ReplicaCore} is told of
 * ordered messages and of views and answers through {@link org.gorda.replicator.core.Effects}. All replicas run it over the same
 * messages and so decide alike, without voting.
 */
@NullMarked
package org.gorda.replicator.core;

import org.jspecify.annotations.NullMarked;
