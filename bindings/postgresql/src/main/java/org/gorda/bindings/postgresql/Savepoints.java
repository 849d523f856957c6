package org.gorda.bindings.postgresql;

import java.util.ArrayList;
import java.util.List;
import org.gorda.bindings.postgresql.wire.SqlStatement;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.WriteSetWriter;

/** The savepoints of a client's transaction, with what its write set was at each. Confined to the client's thread. */
final class Savepoints {

    private final WriteSetWriter out;
    private final List<Savepoint> savepoints = new ArrayList<>();

    private record Savepoint(String name, WriteSetWriter.Mark mark) {}

    Savepoints(WriteSetWriter out) {
        this.out = out;
    }

    /**
     * A statement has ended well, which may be about a savepoint.
     *
     * @return whether changes were taken back
     * @throws RefusedException if it is not known which
     */
    boolean executed(SqlStatement statement) {
        switch (statement.kind()) {
            case SAVEPOINT -> savepoints.add(new Savepoint(statement.name(), out.mark()));
            case RELEASE ->
                savepoints.subList(find(statement.name()), savepoints.size()).clear();
            case ROLLBACK_TO -> {
                int set = find(statement.name());
                if (set == savepoints.size()) {
                    throw new RefusedException(Refusal.unsupported(
                            "the server has gone back to a savepoint that the replica does not know: "
                                    + statement.text()));
                }
                out.cutBack(savepoints.get(set).mark());
                savepoints.subList(set + 1, savepoints.size()).clear();
                return true;
            }
            default -> {}
        }
        return false;
    }

    /** The last of that name; behind all if there is none. */
    private int find(String name) {
        int i = savepoints.size() - 1;
        while (i >= 0 && !savepoints.get(i).name().equals(name)) {
            i--;
        }
        return i < 0 ? savepoints.size() : i;
    }

    void clear() {
        savepoints.clear();
    }
}
