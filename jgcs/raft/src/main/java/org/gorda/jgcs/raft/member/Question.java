package org.gorda.jgcs.raft.member;

/** What a leader can be asked. */
public enum Question {
    /** From where on a read sees everything decided so far. */
    READ(1),
    /** Take a member in, as a learner. */
    ADD(2),
    REMOVE(3),
    /** Hand leadership over. */
    TRANSFER(4);

    final byte code;

    Question(int code) {
        this.code = (byte) code;
    }
}
