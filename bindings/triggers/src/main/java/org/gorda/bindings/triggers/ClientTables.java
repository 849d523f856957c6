package org.gorda.bindings.triggers;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Comparator;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.function.Function;
import java.util.stream.Stream;
import org.gorda.gapi.ReflectionException;
import org.gorda.gapi.TableShape;

/**
 * The tables of clients. Immutable.
 *
 * @param captured those whose changes are captured, in the order of their names
 * @param refused why rows of the others cannot be replicated, by their names in SQL
 */
public record ClientTables(List<TableShape> captured, Map<String, String> refused) {

    /** Describes a table as the database knows it. */
    public interface Describing<T> {
        /**
         * Describes it.
         *
         * @throws SQLException with 0A000 if its rows cannot be replicated
         */
        Dialect.Captured describe(T table) throws SQLException;
    }

    /** Looks at each of them. */
    public static <T> ClientTables of(Stream<T> tables, Function<T, String> name, Describing<T> describing) {
        List<TableShape> captured = new ArrayList<>();
        Map<String, String> refused = new HashMap<>();
        tables.forEach(table -> {
            try {
                captured.add(describing.describe(table).shape());
            } catch (SQLException e) {
                refused.put(name.apply(table), String.valueOf(e.getMessage()));
            }
        });
        captured.sort(Comparator.comparing(TableShape::schema).thenComparing(TableShape::name));
        return new ClientTables(List.copyOf(captured), Map.copyOf(refused));
    }

    /**
     * Refuses to take the rows of those that are captured for all.
     *
     * @throws ReflectionException if one of the others has rows
     */
    void requireNoOtherRows(Connection connection) {
        refused.forEach((table, why) -> {
            try (Statement statement = connection.createStatement()) {
                statement.setMaxRows(1); // H2 and HSQLDB gather all before they give one
                try (ResultSet rows = statement.executeQuery("SELECT 1 FROM " + table)) {
                    if (rows.next()) {
                        throw new ReflectionException("not all rows can be given to another kind of database: " + why
                                + "; drop that, or use the same kind");
                    }
                }
            } catch (SQLException e) {
                throw new ReflectionException("rows of " + table + " cannot be looked for: " + e.getMessage(), e);
            }
        });
    }
}
