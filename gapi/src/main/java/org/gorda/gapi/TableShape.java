package org.gorda.gapi;

import java.nio.charset.StandardCharsets;
import java.util.List;
import java.util.Objects;

/** A table as replicas must agree on it: its columns in order and its primary key. Immutable. */
public final class TableShape {

    /** A column. */
    public record Column(String name, SqlType type) {}

    private final String schema;
    private final String name;
    private final List<Column> columns;
    private final List<Integer> key;
    private final long fingerprint;
    private final long hash;

    /**
     * Describes a table.
     *
     * @param schema as stored in the catalogue, not quoted
     * @param name as stored in the catalogue, not quoted
     * @param key the positions of the primary key's columns, counted from 1, in the key's order
     */
    public TableShape(String schema, String name, List<Column> columns, List<Integer> key) {
        this.schema = schema;
        this.name = name;
        this.columns = List.copyOf(columns);
        this.key = List.copyOf(key);
        Hash64 described = new Hash64();
        addText(described, schema);
        addText(described, name);
        for (Column column : columns) {
            addText(described, column.name());
            described.add(column.type().shared().code());
        }
        for (int position : key) {
            described.add(position);
        }
        this.fingerprint = described.value();
        this.hash = KeyHasher.table(schema, name);
    }

    private static void addText(Hash64 hash, String text) {
        byte[] bytes = text.getBytes(StandardCharsets.UTF_8);
        hash.add(bytes, 0, bytes.length);
    }

    public String schema() {
        return schema;
    }

    public String name() {
        return name;
    }

    public List<Column> columns() {
        return columns;
    }

    /** The positions of the primary key's columns, counted from 1, in the key's order. */
    public List<Integer> key() {
        return key;
    }

    /**
     * Equal for equal shapes, as far as {@linkplain SqlType#shared types} have to be equal, and different for different ones but with a probability of about 2 to the power of -64. Travels with
     * write sets, so that a replica whose table has another shape notices before it stores a value in the wrong column.
     */
    public long fingerprint() {
        return fingerprint;
    }

    /** The certification key that stands for the rows of the table, whatever its columns are. */
    public long hash() {
        return hash;
    }

    @Override
    public boolean equals(Object other) {
        return other instanceof TableShape that
                && fingerprint == that.fingerprint
                && schema.equals(that.schema)
                && name.equals(that.name)
                && columns.equals(that.columns)
                && key.equals(that.key);
    }

    @Override
    public int hashCode() {
        return Objects.hash(schema, name, fingerprint);
    }

    /** Schema and name as SQL writes them, each quoted. */
    @Override
    public String toString() {
        return quoted(schema) + "." + quoted(name);
    }

    /** A name as SQL writes it, in quotes. */
    public static String quoted(String name) {
        return '"' + name.replace("\"", "\"\"") + '"';
    }
}
