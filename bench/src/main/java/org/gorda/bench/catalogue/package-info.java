/** Which workloads there are: above the packages that have them, so that those need not know each other. */
@org.jspecify.annotations.NullMarked
package org.gorda.bench.catalogue;
