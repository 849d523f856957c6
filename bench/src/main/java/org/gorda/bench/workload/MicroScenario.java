package org.gorda.bench.workload;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.List;

/**
 * What Bristlecone's small scenarios have in common: tables that know how to fill themselves and what must hold of them. Their ideas and
 * the names of their parameters are Bristlecone's (Continuent, 2006 to 2013), the transactions are our own. Thread-safe.
 */
abstract class MicroScenario implements Workload {

    /** What they work on. Thread-safe. */
    interface Content {
        /** As {@link Workload#load}. */
        void load(Connection connection, Loading progress) throws SQLException;

        /** As {@link Workload#isLoaded}. */
        boolean isLoaded(Connection connection) throws SQLException;

        /** As {@link Workload#check}. */
        Check check(Connection connection) throws SQLException;
    }

    private final Kind kind;
    private final Content content;

    MicroScenario(Kind kind, Content content) {
        this.kind = kind;
        this.content = content;
    }

    /** Those of the content, then its own. */
    static List<Parameter> with(List<Parameter> content, Parameter... own) {
        List<Parameter> all = new ArrayList<>(content);
        all.addAll(List.of(own));
        return all;
    }

    @Override
    public final Kind kind() {
        return kind;
    }

    @Override
    public final void load(Connection connection, Loading progress) throws SQLException {
        content.load(connection, progress);
    }

    @Override
    public final boolean isLoaded(Connection connection) throws SQLException {
        return content.isLoaded(connection);
    }

    @Override
    public final Check check(Connection connection) throws SQLException {
        return content.check(connection);
    }
}
