/**
 * H2 in the replica's own process: {@link org.gorda.bindings.h2.CaptureTrigger} tells what clients change, and {@link org.gorda.bindings.h2.H2Rows}
 * changes rows below SQL.
 */
@NullMarked
package org.gorda.bindings.h2;

import org.jspecify.annotations.NullMarked;
