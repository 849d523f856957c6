/** Real replica processes under real faults and the load of real clients, and what must hold all the same. */
@org.jspecify.annotations.NullMarked
package org.gorda.bench.torture;
