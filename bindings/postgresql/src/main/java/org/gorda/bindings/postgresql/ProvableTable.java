package org.gorda.bindings.postgresql;

import java.util.ArrayList;
import java.util.HashSet;
import java.util.List;
import java.util.Set;
import java.util.TreeSet;
import java.util.stream.Collectors;
import java.util.stream.IntStream;
import org.gorda.bindings.postgresql.wire.PlainStatement;
import org.gorda.bindings.postgresql.wire.PlainStatement.Verb;
import org.gorda.gapi.TableShape;

/** A table of which plain statements change what they return, and nothing else; by view {@code gorda.provable}. Immutable. */
final class ProvableTable {

    /** True while a session's settings, which a reload of the server's configuration may change at any time, are those of its {@link Footing}. */
    private static final String IS_SET_AS_ASKED =
            "pg_catalog.current_setting('transaction_isolation') operator(pg_catalog.=) 'read committed'";

    /** As {@code gorda.footing} asks. */
    private static final String ARE_TEXTS_AS_OURS = """
             and pg_catalog.left(pg_catalog.current_setting('datestyle'), 3) operator(pg_catalog.=) 'ISO'
             and pg_catalog.current_setting('bytea_output') operator(pg_catalog.=) 'hex'
             and pg_catalog.current_setting('extra_float_digits')::pg_catalog.int4 operator(pg_catalog.>) 0""";

    private final String identity;
    private final boolean isBySettings;
    private final Set<String> asked;
    private final CapturedTable captured;
    private final Set<String> columns;

    /** Those of keys, of which an UPDATE must tell what they were before; null if there are keys that may have any. */
    private final Set<Integer> keys = new HashSet<>();

    private final boolean hasOtherKeys;

    /**
     * Describes a table.
     *
     * @param identity its number on the server
     * @param isBySettings whether texts of its values depend on settings
     * @param asked the columns that an INSERT must give
     */
    ProvableTable(String identity, boolean isBySettings, Set<String> asked, CapturedTable captured) {
        this.identity = identity;
        this.isBySettings = isBySettings;
        this.asked = Set.copyOf(asked);
        this.captured = captured;
        this.columns = captured.shape().columns().stream()
                .map(TableShape.Column::name)
                .collect(Collectors.toUnmodifiableSet());
        boolean others = false;
        for (List<CapturedTable.Key> some : List.of(captured.unique(), captured.foreign())) {
            for (CapturedTable.Key key : some) {
                keys.addAll(key.columns());
                others |= key.columns().isEmpty();
            }
        }
        this.hasOtherKeys = others;
    }

    String identity() {
        return identity;
    }

    CapturedTable captured() {
        return captured;
    }

    boolean isBySettings() {
        return isBySettings;
    }

    /** Whether all changes that a statement makes can be taken from what it returns, and a SELECT makes none. */
    boolean proves(PlainStatement statement) {
        if (!columns.containsAll(statement.columns()) || !columns.containsAll(statement.changed())) {
            return false;
        }
        return switch (statement.verb()) {
            case SELECT, DELETE -> true;
            case INSERT -> asked.isEmpty() || statement.changed().containsAll(asked);
            case UPDATE -> !hasOtherKeys && set(statement).stream().noneMatch(keys::contains);
        };
    }

    /** The columns that an UPDATE sets. */
    Set<Integer> set(PlainStatement statement) {
        Set<Integer> set = new TreeSet<>();
        List<TableShape.Column> all = captured.shape().columns();
        for (int position = 1; position <= all.size(); position++) {
            if (statement.changed().contains(all.get(position - 1).name())) {
                set.add(position);
            }
        }
        return set;
    }

    /** The columns that are returned: by an UPDATE the primary key and those that are set. */
    List<Integer> returned(PlainStatement statement) {
        if (statement.verb() != Verb.UPDATE) {
            return IntStream.rangeClosed(1, columns.size()).boxed().toList();
        }
        List<Integer> returned = new ArrayList<>(captured.shape().key());
        returned.addAll(set(statement));
        return returned;
    }

    /** The statement with its rows returned, behind the number of their table and whether the session is still as it was. */
    String returning(String sql, PlainStatement statement) {
        String values = returned(statement).stream()
                .map(position -> TableShape.quoted(
                        captured.shape().columns().get(position - 1).name()))
                .collect(Collectors.joining(", "));
        String isAsAsked = isBySettings ? IS_SET_AS_ASKED + ARE_TEXTS_AS_OURS : IS_SET_AS_ASKED;
        return sql + "\nRETURNING tableoid, " + isAsAsked + ", " + values;
    }
}
