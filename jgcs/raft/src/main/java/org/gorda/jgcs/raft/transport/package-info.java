/** Frames between members over TCP, by JGroups' connection layer. The only package that imports {@code org.jgroups}. */
@NullMarked
package org.gorda.jgcs.raft.transport;

import org.jspecify.annotations.NullMarked;
