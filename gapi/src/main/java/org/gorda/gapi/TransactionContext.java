package org.gorda.gapi;

import org.jspecify.annotations.Nullable;

/** A transaction that changes something, from its first change on. Thread-safe. */
public interface TransactionContext {

    ConnectionContext connection();

    TransactionId id();

    /** What {@link TransactionListener#beginning} gave before its first statement, or earlier: all that its checks have seen. */
    long begunAt();

    /**
     * Rolls the transaction back from any thread: idle, running, waiting for a lock or suspended in its commit. Its client is told
     * of the refusal at once or with its next call. Does nothing once the transaction has ended, or was {@linkplain
     * SuspendedCommit#handOver handed over}: then only its commit's answer decides.
     */
    void abort(Refusal refusal);

    /** What the meta level has attached, if anything. */
    @Nullable
    Object attachment();

    void attach(@Nullable Object attachment);
}
