package org.gorda.jdbc;

import javax.net.ssl.SSLContext;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * What the driver needs to speak TLS with replicas. Immutable.
 *
 * @param context for drivers that take one
 * @param trust whom that trusts
 */
record DriverTls(SSLContext context, X509ExtendedTrustManager trust) {}
