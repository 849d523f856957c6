package org.gorda.gapi;

/**
 * What a transaction did to a key. Written against written, written against removed, removed against removed and removed against
 * referenced conflict; references do not conflict with writes, or all children of one parent would.
 */
public enum KeyMode {
    /** A row with this key was inserted or updated. */
    WRITTEN(1),
    /** The key ceased to exist: its row was deleted, or given another key. */
    REMOVED(2),
    /** A row that refers to this key of a parent table was inserted, or made to refer to it. */
    REFERENCED(3);

    private final byte code;

    KeyMode(int code) {
        this.code = (byte) code;
    }

    byte code() {
        return code;
    }

    static KeyMode of(int code) {
        return switch (code) {
            case 1 -> WRITTEN;
            case 2 -> REMOVED;
            case 3 -> REFERENCED;
            default -> throw new MalformedWriteSetException("unknown mode of a key " + code);
        };
    }
}
