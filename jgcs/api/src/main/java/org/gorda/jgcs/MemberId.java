package org.gorda.jgcs;

import java.nio.charset.StandardCharsets;

/**
 * Names one member of a group by the address its peers reach it at, for instance {@code db1:7800}. Immutable.
 *
 * @param name {@code host:port}, at most {@value #NAME_BYTES_MAX} bytes in UTF-8; the same text on all members
 */
public record MemberId(String name) implements Comparable<MemberId> {

    /** So much of a name fits into what members send each other; hosts' names are shorter. */
    public static final int NAME_BYTES_MAX = 255;

    /** No character of Java's takes more bytes in UTF-8. */
    private static final int BYTES_PER_CHAR_MAX = 3;

    public MemberId {
        int colon = name.lastIndexOf(':');
        if (colon <= 0 || !isPort(name, colon + 1)) {
            throw new IllegalArgumentException(
                    "member '" + name + "' is not host:port with a port of 1 to 65535, for instance db1:7800");
        }
        if (name.length() > NAME_BYTES_MAX / BYTES_PER_CHAR_MAX) {
            int bytes = name.getBytes(StandardCharsets.UTF_8).length;
            if (bytes > NAME_BYTES_MAX) {
                throw new IllegalArgumentException("member '" + name.substring(0, 20) + "...' has a name of " + bytes
                        + " bytes but must have one of at most " + NAME_BYTES_MAX);
            }
        }
    }

    /** Asked for each frame that is received. */
    private static boolean isPort(String text, int from) {
        int digits = text.length() - from;
        int port = 0;
        for (int i = from; i < text.length() && digits <= 5; i++) {
            char c = text.charAt(i);
            if (c < '0' || c > '9') {
                return false;
            }
            port = port * 10 + c - '0';
        }
        return digits <= 5 && port >= 1 && port <= 65535;
    }

    /** The part before the last colon: a host name or an address. */
    public String host() {
        return name.substring(0, name.lastIndexOf(':'));
    }

    /** The part after the last colon, 1 to 65535. */
    public int port() {
        return Integer.parseInt(name.substring(name.lastIndexOf(':') + 1));
    }

    @Override
    public int compareTo(MemberId other) {
        return name.compareTo(other.name);
    }

    @Override
    public String toString() {
        return name;
    }
}
