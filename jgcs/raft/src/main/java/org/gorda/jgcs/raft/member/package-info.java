/**
 * One member of a group around the {@link org.gorda.jgcs.raft.core.RaftCore}: sending with resend, ordering once, reading,
 * changing the membership. Free of threads, sockets, files and clocks, so that the simulator runs it too.
 */
@NullMarked
package org.gorda.jgcs.raft.member;

import org.jspecify.annotations.NullMarked;
