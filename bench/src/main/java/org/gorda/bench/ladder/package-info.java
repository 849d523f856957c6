/** What each step of replication costs, from the engine alone to three replicas that all take writes. */
@org.jspecify.annotations.NullMarked
package org.gorda.bench.ladder;
