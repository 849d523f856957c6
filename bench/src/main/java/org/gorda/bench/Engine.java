package org.gorda.bench;

/** A kind of database that replicas have in the stead of Derby: one with {@link ServerEngine servers}, or one {@link EmbeddedEngine without}. Immutable. */
public interface Engine {

    /** For people. */
    String name();

    /** By which replicas are told to use it. */
    String key();
}
