package org.gorda.gapi;

import org.jspecify.annotations.Nullable;

/** A client's connection to the database. Lives as long as the connection. Thread-safe. */
public interface ConnectionContext {

    /** Whether its transactions are to be as if one ran after the other. To be asked in the client's thread. */
    boolean isSerializable();

    /** What the meta level has attached, if anything. */
    @Nullable
    Object attachment();

    void attach(@Nullable Object attachment);
}
