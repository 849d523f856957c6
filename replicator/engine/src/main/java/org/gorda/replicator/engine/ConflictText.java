package org.gorda.replicator.engine;

import java.math.BigDecimal;
import java.time.LocalDate;
import java.time.LocalDateTime;
import java.time.LocalTime;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.RowKey;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.WriteSetReader;
import org.gorda.replicator.core.Conflict;
import org.jspecify.annotations.Nullable;

/**
 * Tells the client that lost a conflict what it was about: replicas only compare hashes of keys, but its own rows are still here. Of a
 * large write set, part of which is in a file, only the tables are told: it is the delivery that waits. Not thread-safe.
 */
final class ConflictText {

    private final WriteSet writeSet;

    /**
     * @param writeSet of the transaction that lost, as it was written here
     */
    ConflictText(WriteSet writeSet) {
        this.writeSet = writeSet;
    }

    /**
     * What the client is told.
     *
     * @param row null if it was the schema
     * @param winner who won, and when, for people
     * @param how what that means
     */
    static String of(@Nullable RowKey row, String winner, String how) {
        return "conflict on " + (row == null ? "the schema, which one of the two changed" : row) + ": " + winner + ", "
                + how + "; this transaction did not happen: run it again";
    }

    /** Who won, for people. */
    static String winner(Conflict.@Nullable Winner winner, long index, String age) {
        String other =
                winner == null ? "a transaction" : "transaction " + winner.id() + " of replica " + winner.origin();
        return other + ", ordered at " + index + age;
    }

    /** The row, or of which tables it may be, with such a key; null if it stands for the schema. */
    @Nullable
    RowKey row(long hash) {
        if (hash == KeyHasher.SCHEMA) {
            return null;
        }
        RowKey read = writeSet.read(hash);
        if (read != null) {
            return read;
        }
        RowKey found = writeSet.precedingLength() > 0 ? null : row(new WriteSetReader(writeSet), hash);
        return found != null
                ? found
                : new RowKey(writeSet.shapes().stream().map(Object::toString).collect(Collectors.joining(" or ")), "");
    }

    /** The row whose primary key has that hash; null if there is none among the changes. */
    private @Nullable RowKey row(WriteSetReader in, long hash) {
        for (WriteSetReader.Kind kind = in.next(); kind != null; kind = in.next()) {
            switch (kind) {
                case INSERT, UPDATE, DELETE -> {
                    TableShape shape = writeSet.shapes().get(in.tableIndex());
                    List<@Nullable Object> key = readKey(in, kind, shape);
                    if (hash == hash(shape, key)) {
                        return RowKey.of(shape, key);
                    }
                }
                case STATEMENT -> in.readStatement();
                case GENERATED -> {
                    in.readBoolean();
                    in.readText();
                    in.readText();
                    in.readInteger();
                }
                case END_OF_STATEMENT -> {}
            }
        }
        return null;
    }

    private static List<@Nullable Object> readKey(WriteSetReader in, WriteSetReader.Kind kind, TableShape shape) {
        List<@Nullable Object> key = new ArrayList<>();
        if (kind == WriteSetReader.Kind.INSERT) {
            List<@Nullable Object> row = new ArrayList<>();
            for (int left = in.count(); left > 0; left--) {
                row.add(readValue(in));
            }
            shape.key().forEach(position -> key.add(row.get(position - 1)));
            return key;
        }
        for (int i = 0; i < shape.key().size(); i++) {
            key.add(readValue(in));
        }
        if (kind == WriteSetReader.Kind.UPDATE) {
            for (int left = in.count(); left > 0; left--) {
                in.column();
                readValue(in);
            }
        }
        return key;
    }

    /** A long value is no part of a key. */
    private static @Nullable Object readValue(WriteSetReader in) {
        return in.isLong() ? in.readLongValue() : in.readValue();
    }

    private static long hash(TableShape shape, List<@Nullable Object> key) {
        KeyHasher hasher = new KeyHasher();
        hasher.begin(KeyHasher.constraint(
                shape.schema(),
                shape.name(),
                shape.key().stream()
                        .map(position -> shape.columns().get(position - 1).name())
                        .toList()));
        key.forEach(value -> add(hasher, value));
        return hasher.value();
    }

    private static void add(KeyHasher hasher, @Nullable Object value) {
        if (value instanceof Boolean truth) {
            hasher.addBoolean(truth);
        } else if (value instanceof Long number) {
            hasher.addInteger(number);
        } else if (value instanceof Float || value instanceof Double) {
            hasher.addDouble(((Number) value).doubleValue());
        } else if (value instanceof BigDecimal number) {
            hasher.addDecimal(number);
        } else if (value instanceof String text) {
            hasher.addText(text);
        } else if (value instanceof byte[] bytes) {
            hasher.addBytes(bytes);
        } else if (value instanceof LocalDate date) {
            addDate(hasher, date);
        } else if (value instanceof LocalTime time) {
            addTime(hasher, time);
        } else if (value instanceof LocalDateTime moment) {
            addDate(hasher, moment.toLocalDate());
            addTime(hasher, moment.toLocalTime());
        }
    }

    private static void addTime(KeyHasher hasher, LocalTime time) {
        hasher.addTime(time.toSecondOfDay(), (int) (time.toNanoOfDay() % 1_000_000_000));
    }

    private static void addDate(KeyHasher hasher, LocalDate date) {
        hasher.addDate(date.getYear(), date.getMonthValue(), date.getDayOfMonth());
    }
}
