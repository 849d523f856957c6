package org.gorda.bindings.postgresql.wire;

import java.util.Locale;
import java.util.Set;

/** In what a client writes its texts, as far as they are understood here. */
public final class ClientEncoding {

    /** As the server compares names of encodings. */
    private static final Set<String> UNDERSTOOD = Set.of("utf8", "unicode", "sqlascii");

    private ClientEncoding() {}

    /** Whether the texts of a client are understood that calls its encoding so. */
    public static boolean isUnderstood(String name) {
        return UNDERSTOOD.contains(name.toLowerCase(Locale.ROOT).replaceAll("[^a-z0-9]", ""));
    }

    /** What the client is told otherwise. */
    public static String refusal(String name) {
        return "client_encoding " + name + " is not understood by the replica: set it to UTF8";
    }
}
