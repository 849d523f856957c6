/** The conformance suite of database bindings: abstract, run unchanged by every binding. */
package org.gorda.gapi.tck;
