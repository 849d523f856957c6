package org.gorda.bindings.triggers;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.function.Predicate;
import java.util.stream.Collectors;
import org.gorda.gapi.Finding;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;

/** What in a database cannot be replicated, found by its catalogue. Immutable. */
public record Fitness(List<Search> searches) {

    /**
     * What is looked for, and what to do about it.
     *
     * @param unseen whether clients could change something there without its being seen
     * @param kind of what is found, for people
     * @param query its rows are names, of schemas first, and behind them the text that made it if that is looked at
     * @param text whether that is one of those that are meant; null if all are that the query finds
     */
    public record Search(
            boolean unseen,
            String kind,
            String query,
            @Nullable Predicate<String> text,
            String problem,
            String fix) {

        /** For all that the query finds. */
        public Search(boolean unseen, String kind, String query, String problem, String fix) {
            this(unseen, kind, query, null, problem, fix);
        }
    }

    /**
     * Refuses what is not seen.
     *
     * @throws ReflectionException if clients could change something there without its being seen
     */
    public void require(Connection connection) throws SQLException {
        List<Finding> found =
                find(connection, searches.stream().filter(Search::unseen).toList());
        if (!found.isEmpty()) {
            throw new ReflectionException("the database is not fit to be replicated: "
                    + found.stream()
                            .map(finding -> finding.object() + ": " + finding.problem() + " (" + finding.fix() + ")")
                            .collect(Collectors.joining("; ")));
        }
    }

    /** As {@link org.gorda.gapi.DatabaseBinding#examine}. */
    public List<Finding> findings(Connection connection) throws SQLException {
        return find(connection, searches);
    }

    private static List<Finding> find(Connection connection, List<Search> searches) throws SQLException {
        List<Finding> found = new ArrayList<>();
        for (Search search : searches) {
            List<String> objects = new ArrayList<>();
            try (Statement statement = connection.createStatement();
                    ResultSet rows = statement.executeQuery(search.query())) {
                Predicate<String> text = search.text();
                int columns = rows.getMetaData().getColumnCount();
                int last = text == null ? columns : columns - 1;
                while (rows.next()) {
                    if (text == null || text.test(rows.getString(columns))) {
                        List<String> names = new ArrayList<>();
                        for (int i = 1; i <= last; i++) {
                            names.add(TableShape.quoted(rows.getString(i)));
                        }
                        objects.add(search.kind() + " " + String.join(".", names));
                    }
                }
            }
            Collections.sort(objects);
            objects.forEach(object -> found.add(new Finding(true, object, search.problem(), search.fix())));
        }
        return found;
    }
}
