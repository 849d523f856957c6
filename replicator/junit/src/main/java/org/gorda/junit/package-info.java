/** A JUnit extension: a test class gets a group of replica processes, and does to them what happens to real ones. */
@org.jspecify.annotations.NullMarked
package org.gorda.junit;
