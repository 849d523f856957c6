package org.gorda.bench.torture;

/** What a client knows of a transaction after its end. */
enum Outcome {
    /** It is committed. */
    OK("ok"),
    /** It did not happen. */
    FAILED("fail"),
    /** Nobody could tell: SQLSTATE 08007, or a connection that was lost in a commit, which other drivers than ours leave at that. */
    UNKNOWN("info");

    private final String type;

    Outcome(String type) {
        this.type = type;
    }

    /** As Jepsen's histories name it: the value of {@code :type}. */
    String type() {
        return type;
    }
}
