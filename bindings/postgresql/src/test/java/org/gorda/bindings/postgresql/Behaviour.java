package org.gorda.bindings.postgresql;

import java.util.List;

/**
 * Something that an application does with PostgreSQL's driver, to be compared with and without us.
 *
 * @param modes settings of the driver, as in its URL; it is compared in each
 */
record Behaviour(String name, List<String> modes, Body body) {

    static final String EXTENDED = "";
    static final String SIMPLE = "preferQueryMode=simple";
    static final String PREPARED_ONLY = "preferQueryMode=extendedForPrepared";
    static final String CACHED = "preferQueryMode=extendedCacheEverything";
    static final String AT_ONCE = "prepareThreshold=1";
    static final String BINARY = "prepareThreshold=-1";

    /** What it does, and what it looks at. */
    interface Body {
        void run(Observer client) throws Exception;
    }

    /** In the two forms of the protocol. */
    static Behaviour of(String name, Body body) {
        return new Behaviour(name, List.of(SIMPLE, EXTENDED), body);
    }

    Behaviour named(String other) {
        return new Behaviour("values of " + other, modes, body);
    }

    /** In these modes instead. */
    Behaviour in(String... others) {
        return new Behaviour(name, List.of(others), body);
    }
}
