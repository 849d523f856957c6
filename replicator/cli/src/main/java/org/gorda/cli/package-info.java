/** The command {@code gorda}. */
@org.jspecify.annotations.NullMarked
package org.gorda.cli;
