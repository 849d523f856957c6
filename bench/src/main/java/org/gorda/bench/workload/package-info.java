/** What load tests run: transactions of a kind, on tables of its own, through plain JDBC and so on any database. */
@org.jspecify.annotations.NullMarked
package org.gorda.bench.workload;
