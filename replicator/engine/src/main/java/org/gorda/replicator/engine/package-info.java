/**
 * A replica: a database, a group and the core that decides, brought together. {@link org.gorda.replicator.engine.Replica} is the
 * way in.
 */
@NullMarked
package org.gorda.replicator.engine;

import org.jspecify.annotations.NullMarked;
