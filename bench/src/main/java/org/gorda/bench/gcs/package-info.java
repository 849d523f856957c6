/** What group communication costs: the toolkits as they are, and through jGCS. */
@org.jspecify.annotations.NullMarked
package org.gorda.bench.gcs;
