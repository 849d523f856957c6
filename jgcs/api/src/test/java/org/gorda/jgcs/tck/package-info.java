/** The conformance suite of group communication: abstract, run unchanged by every binding. */
package org.gorda.jgcs.tck;
