/**
 * Uniform total order by Apache Ratis: its log and its elections under jGCS. {@link org.gorda.jgcs.ratis.RatisProtocol} says what it promises
 * and what it does not.
 */
@NullMarked
package org.gorda.jgcs.ratis;

import org.jspecify.annotations.NullMarked;
