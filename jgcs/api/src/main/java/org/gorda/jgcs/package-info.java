/**
 * Group communication: members of a group exchange messages under stated guarantees, over pluggable toolkits.
 *
 * <p>A {@link org.gorda.jgcs.Protocol} opens a {@link org.gorda.jgcs.Group}; the group's sessions split its roles: {@link
 * org.gorda.jgcs.DataSession} sends, {@link org.gorda.jgcs.ControlSession} joins and leaves, {@link
 * org.gorda.jgcs.MembershipSession} changes who is a member and {@link org.gorda.jgcs.LogSession} forces and forgets the
 * ordered log. What a message is guaranteed is a {@link org.gorda.jgcs.Service}.
 */
@NullMarked
package org.gorda.jgcs;

import org.jspecify.annotations.NullMarked;
