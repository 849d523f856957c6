package org.gorda.bindings.postgresql;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Objects;
import java.util.Set;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;

/** A table whose rows are captured, by its description in view {@code gorda.described}. Immutable. */
final class CapturedTable {

    /**
     * A key that rows write or refer to, with the types by which its values are compared, those of who refers to it too. Without columns it stands for all rows, whose values cannot
     * be compared by their texts. Without types it refers to others by what depends on the session. One that is checked late was seen to be free without a lock that keeps it so: what is ordered is not held up by rows that the check has not seen.
     * To one that is guarded as a whole some refer that cannot be compared with it.
     */
    record Key(
            long identity,
            List<Integer> columns,
            List<SqlType> types,
            boolean nullsAreEqual,
            boolean isCheckedLate,
            boolean isGuardedAsAWhole) {}

    private static final String WITH_ZONE = "timestamptz";

    private final TableShape shape;
    private final List<Integer> fields = new ArrayList<>();

    /** Of the shape's columns: those that can be inserted and not set. */
    private final Set<Integer> unsettable = new HashSet<>();

    private final List<Key> unique = new ArrayList<>();
    private final List<Key> foreign = new ArrayList<>();

    /** @param description as the view's column of that name */
    CapturedTable(String description) {
        RowText rows = new RowText(description, 0);
        List<@Nullable String> names = rows.row();
        String schema = text(names, 1);
        String table = text(names, 2);
        List<TableShape.Column> columns = new ArrayList<>();
        List<String> declared = new ArrayList<>();
        List<List<List<@Nullable String>>> keys = new ArrayList<>();
        for (int place = 0; rows.hasMore(); ) {
            List<@Nullable String> row = rows.row();
            switch (text(row, 0)) {
                case "c" -> {
                    if (text(row, 3).equals("f")) {
                        columns.add(new TableShape.Column(text(row, 1), type(text(row, 2))));
                        declared.add(text(row, 2));
                        fields.add(place);
                        if (text(row, 4).equals("t")) {
                            unsettable.add(columns.size());
                        }
                    }
                    place++;
                }
                case "p", "u", "f" -> keys.add(new ArrayList<>(List.of(row)));
                default -> keys.get(keys.size() - 1).add(row);
            }
        }
        List<Integer> primary = List.of();
        for (List<List<@Nullable String>> key : keys) {
            List<@Nullable String> head = key.get(0);
            List<List<@Nullable String>> parts = key.subList(1, key.size());
            List<Integer> own =
                    parts.stream().map(part -> position(columns, text(part, 1))).toList();
            boolean isForeign = text(head, 0).equals("f");
            boolean usable = !own.isEmpty()
                    && !own.contains(0)
                    && (isForeign
                            || parts.stream().allMatch(part -> text(part, 2).equals("t")));
            if (text(head, 0).equals("p") && usable) {
                primary = own;
            }
            List<String> types = usable
                    ? own.stream().map(position -> declared.get(position - 1)).toList()
                    : List.of();
            if (isForeign) {
                List<String> theirs = parts.stream().map(part -> text(part, 2)).toList();
                long parent = KeyHasher.constraint(text(head, 1), text(head, 2), theirs);
                foreign.add(key(
                        parent,
                        own,
                        types,
                        parts.stream().map(part -> text(part, 3)).toList(),
                        false,
                        false,
                        false));
            } else {
                List<String> named = parts.isEmpty()
                        ? List.of(text(head, 1))
                        : parts.stream().map(part -> text(part, 1)).toList();
                long identity = KeyHasher.constraint(schema, table, named);
                unique.add(key(
                        identity,
                        own,
                        types,
                        types,
                        text(head, 2).equals("true"),
                        text(head, 3).equals("t"),
                        text(head, 4).equals("t")));
            }
        }
        this.shape = new TableShape(schema, table, columns, primary);
    }

    /** @param theirs the types of the columns that have the key, which are those of the values if nobody else's are meant */
    private static Key key(
            long identity,
            List<Integer> columns,
            List<String> types,
            List<String> theirs,
            boolean nullsAreEqual,
            boolean isCheckedLate,
            boolean isGuardedAsAWhole) {
        boolean compared = !types.isEmpty() && theirs.stream().allMatch(Values::areComparable);
        for (int i = 0; compared && i < types.size(); i++) {
            compared = types.get(i).equals(theirs.get(i)) || !Values.haveOwnTexts(theirs.get(i));
        }
        List<SqlType> by = new ArrayList<>();
        for (int i = 0; compared && i < types.size(); i++) {
            if (theirs.get(i).equals(WITH_ZONE) && !types.get(i).equals(WITH_ZONE)) {
                by.clear();
                break;
            }
            by.add(Values.comparedAs(type(types.get(i)), type(theirs.get(i))));
        }
        return new Key(identity, compared ? columns : List.of(), by, nullsAreEqual, isCheckedLate, isGuardedAsAWhole);
    }

    private static String text(List<@Nullable String> row, int field) {
        return Objects.requireNonNull(row.get(field));
    }

    /** Counted from 1; 0 if it is computed, and so not captured. */
    private static int position(List<TableShape.Column> columns, String name) {
        for (int i = 0; i < columns.size(); i++) {
            if (columns.get(i).name().equals(name)) {
                return i + 1;
            }
        }
        return 0;
    }

    private static SqlType type(String declared) {
        return Values.type(declared.endsWith("?") ? declared.substring(0, declared.length() - 1) : declared);
    }

    TableShape shape() {
        return shape;
    }

    /** Whether an UPDATE can set a column to a value. */
    boolean canSet(int position) {
        return !unsettable.contains(position);
    }

    /** Primary key and unique indexes. */
    List<Key> unique() {
        return unique;
    }

    /** The keys of other tables that rows refer to. */
    List<Key> foreign() {
        return foreign;
    }

    /** The values of the shape's columns, of a row that has computed ones, too. */
    List<@Nullable String> values(List<@Nullable String> row) {
        if (row.size() == fields.size()) {
            return row;
        }
        List<@Nullable String> values = new ArrayList<>(fields.size());
        fields.forEach(field -> values.add(row.get(field)));
        return values;
    }
}
