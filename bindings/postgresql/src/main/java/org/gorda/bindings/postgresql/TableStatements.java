package org.gorda.bindings.postgresql;

import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.gorda.gapi.TableShape;

/** The statements by which rows of a table, and none of its heirs, are changed, one at a time; the values come before the key. Confined to one thread. */
final class TableStatements {

    /** So many kinds of updates are remembered. */
    private static final int UPDATES_MAX = 100;

    private final TableShape shape;

    /** The server may compare a value without a type as one of another type, which cannot read it: a row type, or regclass; and values of some domains not at all. */
    private final List<String> keyTypes;

    private final String insert;
    private final String delete;

    /** By the columns that are set. */
    private final Map<List<Integer>, String> updates = new HashMap<>();

    /** @param keyTypes of the columns of its primary key, in their order; of what domains are made */
    TableStatements(TableShape shape, List<String> keyTypes) {
        this.shape = shape;
        this.keyTypes = keyTypes;
        this.insert = shape.columns().isEmpty()
                ? "INSERT INTO " + shape + " DEFAULT VALUES"
                : "INSERT INTO " + PostgresDatabase.withColumns(shape) + " OVERRIDING SYSTEM VALUE VALUES ("
                        + parameters(shape.columns().size()) + ")";
        this.delete = "DELETE FROM ONLY " + shape + where(1);
    }

    private static String parameters(int count) {
        return IntStream.rangeClosed(1, count).mapToObj(number -> "$" + number).collect(Collectors.joining(", "));
    }

    /** @param first the number of the parameter for the key's first column */
    private String where(int first) {
        StringBuilder where = new StringBuilder();
        for (int i = 0; i < shape.key().size(); i++) {
            where.append(i == 0 ? " WHERE " : " AND ");
            where.append(name(shape.key().get(i)))
                    .append("::")
                    .append(keyTypes.get(i))
                    .append(" = $")
                    .append(first + i)
                    .append("::")
                    .append(keyTypes.get(i));
        }
        return where.toString();
    }

    private String name(int position) {
        return TableShape.quoted(shape.columns().get(position - 1).name());
    }

    TableShape shape() {
        return shape;
    }

    String insert() {
        return insert;
    }

    String delete() {
        return delete;
    }

    /** @param columns that are set, counted from 1 */
    String update(List<Integer> columns) {
        String known = updates.get(columns);
        if (known != null) {
            return known;
        }
        if (updates.size() >= UPDATES_MAX) {
            updates.clear();
        }
        StringBuilder sql = new StringBuilder("UPDATE ONLY ").append(shape).append(" SET ");
        for (int i = 0; i < columns.size(); i++) {
            sql.append(i == 0 ? "" : ", ")
                    .append(name(columns.get(i)))
                    .append(" = $")
                    .append(i + 1);
        }
        String made = sql.append(where(columns.size() + 1)).toString();
        updates.put(List.copyOf(columns), made);
        return made;
    }
}
