/** Load tests, and groups of replica processes to run them on. */
@org.jspecify.annotations.NullMarked
package org.gorda.bench;
