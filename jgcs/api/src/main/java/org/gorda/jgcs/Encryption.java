package org.gorda.jgcs;

import javax.net.ssl.SSLContext;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * What encrypts all that members say to each other. Immutable.
 *
 * @param context makes the connections
 * @param trust whom the context trusts; it is to be asked of each connection, because Java does not ask it when a session is resumed, which may be long
 *     after somebody's certificate has ceased to be trusted
 */
public record Encryption(SSLContext context, X509ExtendedTrustManager trust) {}
