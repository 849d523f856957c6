/**
 * SQLite in the replica's own process: triggers tell which rows are touched, {@link org.gorda.bindings.sqlite.TouchedRows} how they are before the commit and were
 * before the transaction, and {@link org.gorda.bindings.sqlite.SqliteRows} changes rows by SQL, where triggers do nothing.
 */
@NullMarked
package org.gorda.bindings.sqlite;

import org.jspecify.annotations.NullMarked;
