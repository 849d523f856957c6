package org.gorda.gapi;

/**
 * What a transaction did to a key. Written against written, written against removed, removed against removed and removed against
 * referenced conflict; references do not conflict with writes, or all children of one parent would. Read conflicts with what comes
 * before it in the order and is written, removed or changed, and with nothing that comes after it.
 */
public enum KeyMode {
    /** A row with this key was inserted or updated. */
    WRITTEN(1),
    /** The key ceased to exist: its row was deleted, or given another key. */
    REMOVED(2),
    /** A row that refers to this key of a parent table was inserted, or made to refer to it. */
    REFERENCED(3),
    /**
     * The key was looked for, whether it was there or not, and what was found must not have changed until the commit; only of transactions
     * that are SERIALIZABLE.
     */
    READ(4),
    /** Some rows of the table were changed that the key stands for. */
    CHANGED(5),
    /** As {@link #READ}, but no lock has kept what was found as it was. */
    READ_UNLOCKED(6);

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
            case 4 -> READ;
            case 5 -> CHANGED;
            case 6 -> READ_UNLOCKED;
            default -> throw new MalformedWriteSetException("unknown mode of a key " + code);
        };
    }
}
