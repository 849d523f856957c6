package org.gorda.bindings.postgresql.wire;

import java.util.ArrayList;
import java.util.List;
import org.jspecify.annotations.Nullable;

/** What the server answers to statements of ours. Confined to one thread at a time. */
final class Exchange {

    private final List<List<@Nullable String>> rows = new ArrayList<>();
    private @Nullable ServerError error;
    private boolean done;

    void row(List<@Nullable String> row) {
        rows.add(row);
    }

    void failed(ServerError failure) {
        error = failure;
    }

    void done() {
        done = true;
    }

    boolean isDone() {
        return done;
    }

    @Nullable
    ServerError error() {
        return error;
    }

    List<List<@Nullable String>> rows() throws ServerError {
        ServerError failure = error;
        if (failure != null) {
            throw failure;
        }
        return rows;
    }
}
