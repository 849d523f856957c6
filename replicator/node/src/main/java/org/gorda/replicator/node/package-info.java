/** A replica as a process of its own. */
@org.jspecify.annotations.NullMarked
package org.gorda.replicator.node;
