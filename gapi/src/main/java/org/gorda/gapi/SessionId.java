package org.gorda.gapi;

import java.util.UUID;

/** Identifies a client's session with a database, drawn at random by the client or for it. Immutable. */
public record SessionId(long high, long low) {

    public static SessionId of(UUID uuid) {
        return new SessionId(uuid.getMostSignificantBits(), uuid.getLeastSignificantBits());
    }

    /**
     * Parses what {@link #toString} gives.
     *
     * @throws IllegalArgumentException if the text is not a session's identity
     */
    public static SessionId parse(String text) {
        return of(UUID.fromString(text));
    }

    @Override
    public String toString() {
        return new UUID(high, low).toString();
    }
}
