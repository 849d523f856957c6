/**
 * A database of a PostgreSQL server, reflected: triggers tell of rows when a transaction is about to commit, and clients reach the server through a door on
 * the wire that holds their commits.
 */
@NullMarked
package org.gorda.bindings.postgresql;

import org.jspecify.annotations.NullMarked;
