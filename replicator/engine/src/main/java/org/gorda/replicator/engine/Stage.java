package org.gorda.replicator.engine;

import java.util.Locale;

/** What a transaction that changes something goes through, one stage after the other. */
public enum Stage {
    /** At its origin, from its first change to its commit call: its statements, and the time that its client takes between them. */
    EXECUTE(true, "from its first change to its commit, the client's pauses too"),
    /** From there until it is handed to the group: the room for what it sends, too. */
    ENCODE(true, "until its write set is given to the group"),
    /** Until a majority has it, as {@code durability} says; with an asynchronous primary, until this one has. */
    ORDER(true, "until a majority has it"),
    /** In wait for the delivery thread, and for what was ordered before. */
    TURN(true, "in wait for those ordered before it"),
    /** To decide about it. */
    CERTIFY(true, "the decision"),
    /** In the origin's database. */
    COMMIT(true, "in the database"),
    /** Until its client's thread goes on; with {@code durability=local} also until the database is forced to disk. */
    WAKE(true, "until the client goes on"),

    /** At another replica: its write set. */
    DECODE(false, "its write set"),
    /** Its changes, without their commit. */
    APPLY(false, "its changes"),
    /** The commit of what was applied: of one transaction or of several together. */
    INSTALL(false, "the commit of one or several together");

    private final boolean atOrigin;
    private final String text;

    Stage(boolean atOrigin, String text) {
        this.atOrigin = atOrigin;
        this.text = text;
    }

    /** Whether it is the origin's, where the client waits for it; otherwise that of the others. */
    public boolean isAtOrigin() {
        return atOrigin;
    }

    /** One line for people. */
    public String text() {
        return text;
    }

    @Override
    public String toString() {
        return name().toLowerCase(Locale.ROOT);
    }
}
