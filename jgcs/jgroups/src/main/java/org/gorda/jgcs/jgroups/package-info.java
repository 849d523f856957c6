/** Group communication on a plain JGroups channel: FIFO, views, total order that is not uniform. */
@org.jspecify.annotations.NullMarked
package org.gorda.jgcs.jgroups;
