package org.gorda.jgcs;

/**
 * Names one member of a group by the address its peers reach it at, for instance {@code db1:7800}. Immutable.
 *
 * @param name {@code host:port}; the same text on all members
 */
public record MemberId(String name) implements Comparable<MemberId> {

    public MemberId {
        int colon = name.lastIndexOf(':');
        if (colon <= 0 || !isPort(name, colon + 1)) {
            throw new IllegalArgumentException(
                    "member '" + name + "' is not host:port with a port of 1 to 65535, for instance db1:7800");
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
