/** What is tested of every database behind triggers, beside the suites of {@code gapi}: abstract, run by each binding. */
package org.gorda.bindings.triggers.tck;
