package org.gorda.jgcs;

/**
 * Names one member of a group by the address its peers reach it at, for instance {@code db1:7800}. Immutable.
 *
 * @param name {@code host:port}; the same text on all members
 */
public record MemberId(String name) implements Comparable<MemberId> {

    public MemberId {
        int colon = name.lastIndexOf(':');
        if (colon <= 0 || !isPort(name.substring(colon + 1))) {
            throw new IllegalArgumentException(
                    "member '" + name + "' is not host:port with a port of 1 to 65535, for instance db1:7800");
        }
    }

    private static boolean isPort(String text) {
        if (text.isEmpty() || text.length() > 5 || !text.chars().allMatch(c -> c >= '0' && c <= '9')) {
            return false;
        }
        int port = Integer.parseInt(text);
        return port >= 1 && port <= 65535;
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
