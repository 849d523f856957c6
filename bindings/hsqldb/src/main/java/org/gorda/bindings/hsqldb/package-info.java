/**
 * HSQLDB in the replica's own process: {@link org.gorda.bindings.hsqldb.CaptureTrigger} tells what clients change, and {@link
 * org.gorda.bindings.hsqldb.HsqldbRows} changes rows below SQL.
 */
@NullMarked
package org.gorda.bindings.hsqldb;

import org.jspecify.annotations.NullMarked;
