/** A member's directory: its log in segments, its term and vote, and what it must not forget. */
@NullMarked
package org.gorda.jgcs.raft.log;

import org.jspecify.annotations.NullMarked;
