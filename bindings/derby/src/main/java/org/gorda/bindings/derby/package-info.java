/**
 * Apache Derby, reflected from inside: three of its modules are replaced through its own module system, with unpatched jars.
 *
 * <ul>
 *   <li>{@link org.gorda.bindings.derby.ReflectedConnectionFactory} makes {@link org.gorda.bindings.derby.ReflectedConnection
 *       connections} that see transactions begin, commit, roll back and set savepoints.
 *   <li>{@link org.gorda.bindings.derby.ReflectedExecutionFactory} wraps what changes rows, and sees schema changes.
 *   <li>{@link org.gorda.bindings.derby.PriorityLockFactory} lets ordered changes win locks against local transactions.
 * </ul>
 */
@NullMarked
package org.gorda.bindings.derby;

import org.jspecify.annotations.NullMarked;
