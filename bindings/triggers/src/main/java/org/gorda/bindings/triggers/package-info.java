/**
 * The binding for databases that are reached by JDBC and whose changes of rows are captured by triggers: clients work through {@link
 * org.gorda.bindings.triggers.ClientConnection connections that see their transactions begin and commit}, triggers tell a {@link
 * org.gorda.bindings.triggers.RowCapture} what they change, and a {@link org.gorda.bindings.triggers.Dialect} is what a database does in
 * its own way.
 */
@NullMarked
package org.gorda.bindings.triggers;

import org.jspecify.annotations.NullMarked;
