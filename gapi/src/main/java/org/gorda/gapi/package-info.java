/**
 * The reflection API: turns what a database does into events for a meta level, which can delay and refuse commits, and lets the
 * meta level apply what others did. After the GORDA project's architecture (deliverable D2.2, 2005), with the contexts database,
 * connection and transaction and, of its pipeline, the stage that replication needs: a transaction's write set before its commit.
 *
 * <p>A {@link org.gorda.gapi.DatabaseBinding} opens a {@link org.gorda.gapi.ReflectedDatabase}, which tells a {@link
 * org.gorda.gapi.TransactionListener} of its transactions. What a binding reflects beyond that it states as {@link
 * org.gorda.gapi.Capability} values.
 */
@NullMarked
package org.gorda.gapi;

import org.jspecify.annotations.NullMarked;
