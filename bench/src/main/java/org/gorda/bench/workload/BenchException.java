package org.gorda.bench.workload;

import org.jspecify.annotations.Nullable;

/** A load test or a demonstration could not be run, or its proof failed; the message says what and where. */
public final class BenchException extends RuntimeException {

    private static final long serialVersionUID = 1L;

    public BenchException(String message) {
        super(message);
    }

    public BenchException(String message, @Nullable Throwable cause) {
        super(message, cause);
    }
}
