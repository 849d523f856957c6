/**
 * PostgreSQL's protocol 3.x between a client and its server: frames, what SQL texts mean, and the {@link
 * org.gorda.bindings.postgresql.wire.Interceptor} that lets a session decide at the ends of its transactions. Knows nothing of replication.
 */
@NullMarked
package org.gorda.bindings.postgresql.wire;

import org.jspecify.annotations.NullMarked;
