package org.gorda.bindings.postgresql;

import java.util.ArrayList;
import java.util.Collections;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;
import java.util.stream.IntStream;
import org.gorda.bindings.postgresql.wire.PlainStatement;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.RefusedException;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSetWriter;
import org.jspecify.annotations.Nullable;

/** Takes what the server tells of rows and generators into write sets. Confined to one thread. */
final class RowCapture {

    /** The table's description, by its digest in hexadecimal digits; behind it the kind of change and the row before, after, or both. */
    private static final int DIGEST_LENGTH = 32;

    /** Behind all rows, if there are any, those of generators: identity, whether by the name of its table, schema, name, last value. */
    private static final char GENERATORS = 'G';

    /** Before how far those have come that only others have taken values from. */
    private static final char OTHERS = 'O';

    /** Behind how many parts were told before. */
    private static final char NUMBER_END = '|';

    private final PostgresDatabase database;
    private final KeyHasher hasher = new KeyHasher();
    private final Map<String, String> generated = new HashMap<>();
    private boolean isForOthers;

    RowCapture(PostgresDatabase database) {
        this.database = database;
    }

    /** Called before each change, of which the meta level need not have known. */
    interface Begin {
        /** Whether the write set is to have certification keys. */
        boolean run();
    }

    /**
     * Adds changes of rows, and what was taken from generators.
     *
     * @param part of what the server tells
     * @param takesWrites whether values of generators may have been taken here; else they come from others, and nobody need be told
     * @throws RefusedException if a change cannot be replicated
     */
    void part(WriteSetWriter writer, String part, boolean takesWrites, Begin begin) {
        RowText text = new RowText(part, part.indexOf(NUMBER_END) + 1);
        while (text.hasMore()) {
            if (!text.isNext(GENERATORS) && !text.isNext(OTHERS)) {
                row(writer, text, begin.run());
            } else if (takesWrites) {
                generators(writer, text, begin);
            } else {
                return;
            }
        }
    }

    private void row(WriteSetWriter writer, RowText rows, boolean keys) {
        CapturedTable table = database.table(rows.take(DIGEST_LENGTH));
        String kind = rows.take(1);
        List<@Nullable String> first = table.values(rows.row());
        switch (kind.charAt(0)) {
            case 'I' -> insert(writer, table, first, keys);
            case 'U' -> update(writer, table, first, table.values(rows.row()), keys);
            case 'D' -> delete(writer, table, first, keys);
            default -> throw new IllegalArgumentException("unknown kind of change " + kind);
        }
    }

    /**
     * Adds the change of a row that its statement has returned: all its values, or of an UPDATE its key and what is set. Of changes that are told of afterwards none was made
     * before.
     */
    void returned(
            WriteSetWriter out,
            ProvableTable table,
            PlainStatement statement,
            List<@Nullable String> values,
            boolean keys) {
        switch (statement.verb()) {
            case INSERT -> insert(out, table.captured(), values, keys);
            case DELETE -> delete(out, table.captured(), values, keys);
            case UPDATE -> set(out, table, statement, values, keys);
            case SELECT -> throw new IllegalArgumentException("a SELECT changes no rows");
        }
    }

    private void set(
            WriteSetWriter out,
            ProvableTable table,
            PlainStatement statement,
            List<@Nullable String> values,
            boolean keys) {
        TableShape shape = table.captured().shape();
        List<@Nullable String> row =
                new ArrayList<>(Collections.nCopies(shape.columns().size(), null));
        List<Integer> returned = table.returned(statement);
        for (int i = 0; i < values.size(); i++) {
            row.set(returned.get(i) - 1, values.get(i));
        }
        out.update(shape);
        shape.key().forEach(position -> put(out, shape, position, row));
        Set<Integer> set = table.set(statement);
        out.changed(set.size());
        for (int position : set) {
            out.column(position);
            put(out, shape, position, row);
        }
        if (keys) {
            table.captured().unique().stream()
                    .filter(key -> key.columns().equals(shape.key()))
                    .forEach(key -> key(out, KeyMode.WRITTEN, key, row));
        }
    }

    /** Those that have not given anything since others were told of them. */
    private void generators(WriteSetWriter out, RowText rows, Begin begin) {
        isForOthers = rows.isNext(OTHERS) && out.isEmpty();
        rows.take(1);
        while (rows.hasMore() && rows.isNext('(')) {
            List<@Nullable String> row = rows.row();
            String identity = Objects.requireNonNull(row.get(0));
            String last = row.get(4);
            if (last == null) {
                database.untold(Set.of(identity)); // somebody had it locked
            } else if (out.changesSchema() || !last.equals(database.generated().get(identity))) {
                begin.run();
                generated.put(identity, last);
                out.generated(
                        "t".equals(row.get(1)),
                        Objects.requireNonNull(row.get(2)),
                        Objects.requireNonNull(row.get(3)),
                        Long.parseLong(last));
            }
        }
    }

    /** Whether all that a transaction has to tell is what others have taken from generators. */
    boolean isForOthers() {
        return isForOthers;
    }

    /** The transaction whose changes were added last has ended. */
    void ended(boolean committed) {
        isForOthers = false;
        if (committed) {
            database.generated().putAll(generated);
        }
        generated.clear();
    }

    private void insert(WriteSetWriter out, CapturedTable table, List<@Nullable String> row, boolean keys) {
        TableShape shape = table.shape();
        out.insert(shape, row.size());
        for (int i = 1; i <= row.size(); i++) {
            put(out, shape, i, row);
        }
        if (keys) {
            table.unique().forEach(key -> key(out, KeyMode.WRITTEN, key, row));
            table.foreign().forEach(key -> key(out, KeyMode.REFERENCED, key, row));
        }
    }

    private void delete(WriteSetWriter out, CapturedTable table, List<@Nullable String> row, boolean keys) {
        TableShape shape = table.shape();
        requireKey(shape);
        out.delete(shape);
        shape.key().forEach(position -> put(out, shape, position, row));
        if (keys) {
            table.unique().forEach(key -> key(out, KeyMode.REMOVED, key, row));
        }
    }

    private void update(
            WriteSetWriter out,
            CapturedTable table,
            List<@Nullable String> before,
            List<@Nullable String> after,
            boolean keys) {
        TableShape shape = table.shape();
        requireKey(shape);
        List<Integer> changed = new ArrayList<>();
        for (int i = 1; i <= after.size(); i++) {
            if (!Objects.equals(before.get(i - 1), after.get(i - 1))) {
                changed.add(i);
            }
        }
        if (!changed.stream().allMatch(table::canSet)) {
            delete(out, table, before, false);
            insert(out, table, after, false);
        } else {
            set(out, table, changed.isEmpty() && keys ? anyColumn(table) : changed, before, after);
        }
        if (keys) {
            for (CapturedTable.Key key : table.unique()) {
                if (key.columns().isEmpty() || changed.stream().anyMatch(key.columns()::contains)) {
                    key(out, KeyMode.REMOVED, key, before);
                    key(out, KeyMode.WRITTEN, key, after);
                } else if (key.columns().equals(shape.key())) {
                    key(out, KeyMode.WRITTEN, key, after);
                }
            }
            for (CapturedTable.Key key : table.foreign()) {
                if (key.columns().isEmpty() || changed.stream().anyMatch(key.columns()::contains)) {
                    key(out, KeyMode.REFERENCED, key, after);
                }
            }
        }
    }

    private static void set(
            WriteSetWriter out,
            CapturedTable table,
            List<Integer> columns,
            List<@Nullable String> before,
            List<@Nullable String> after) {
        if (columns.isEmpty()) {
            return;
        }
        TableShape shape = table.shape();
        out.update(shape);
        shape.key().forEach(position -> put(out, shape, position, before));
        out.changed(columns.size());
        for (int position : columns) {
            out.column(position);
            put(out, shape, position, after);
        }
    }

    /**
     * What is set of a row that stays as it is: others take its lock for that, so that whoever holds it there, and has not seen this transaction, gives way. That its key is
     * compared does not suffice: it is compared with what was executed there when that one asked for its commit.
     */
    private static List<Integer> anyColumn(CapturedTable table) {
        return IntStream.concat(
                        table.shape().key().stream().mapToInt(position -> position),
                        IntStream.rangeClosed(1, table.shape().columns().size()))
                .filter(table::canSet)
                .limit(1)
                .boxed()
                .toList();
    }

    private static void requireKey(TableShape table) {
        if (table.key().isEmpty()) {
            throw new RefusedException(
                    Refusal.unsupported(
                            "a row of " + table
                                    + " cannot be changed: the table has no primary key of columns that are not computed, by which replicas find a row; add one"));
        }
    }

    private static void put(WriteSetWriter out, TableShape table, int position, List<@Nullable String> row) {
        Values.put(out, table.columns().get(position - 1).type(), row.get(position - 1));
    }

    /** Adds a key of a row, unless a column is null, which makes it equal to nothing. */
    private void key(WriteSetWriter out, KeyMode mode, CapturedTable.Key key, List<@Nullable String> row) {
        if (key.isGuardedAsAWhole() && mode == KeyMode.REMOVED) {
            hasher.begin(key.identity());
            out.key(mode, hasher.value());
        }
        hasher.begin(key.identity());
        for (int i = 0; i < key.columns().size(); i++) {
            String value = row.get(key.columns().get(i) - 1);
            if (value != null && key.types().isEmpty()) {
                throw new RefusedException(
                        Refusal.unsupported(
                                "a row that refers to a TIMESTAMP WITH TIME ZONE by a column of another type means what depends on the session: give both columns the same type"));
            } else if (value != null) {
                Values.hash(hasher, key.types().get(i), value);
            } else if (key.nullsAreEqual()) {
                hasher.addBoolean(false);
            } else {
                return;
            }
        }
        out.key(mode, hasher.value());
        if (key.isCheckedLate() && mode == KeyMode.WRITTEN) {
            out.key(KeyMode.READ_UNLOCKED, hasher.value());
        }
    }
}
