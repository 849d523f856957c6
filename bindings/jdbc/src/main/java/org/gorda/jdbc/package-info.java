/**
 * The JDBC driver. {@code jdbc:gorda:derby:PATH;...} makes this JVM a replica; {@code jdbc:gorda://host:port,.../DB} makes it a
 * client of replica processes.
 */
@NullMarked
package org.gorda.jdbc;

import org.jspecify.annotations.NullMarked;
