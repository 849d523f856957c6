package org.gorda.replicator.engine;

import java.io.BufferedInputStream;
import java.io.DataInputStream;
import java.io.DataOutputStream;
import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.ArrayList;
import java.util.List;
import org.gorda.gapi.StoredPosition;

/**
 * What rows that go from one database to another one are of. Immutable.
 *
 * @param position that the other one holds once it has them
 */
record RowsIndex(StoredPosition position, List<Table> tables) {

    private static final int TABLES_MAX = 1_000_000;

    /**
     * A table.
     *
     * @param name with its schema, as SQL writes it
     * @param fingerprint of its shape
     * @param columns for people
     */
    record Table(String name, long fingerprint, String columns, long rows) {}

    RowsIndex {
        tables = List.copyOf(tables);
    }

    long rows() {
        return tables.stream().mapToLong(Table::rows).sum();
    }

    void save(Path path) throws IOException {
        try (DataOutputStream out = new DataOutputStream(Files.newOutputStream(path, StandardOpenOption.CREATE_NEW))) {
            out.writeLong(position.groupHigh());
            out.writeLong(position.groupLow());
            out.writeLong(position.term());
            out.writeLong(position.index());
            out.writeInt(tables.size());
            for (Table table : tables) {
                out.writeUTF(table.name());
                out.writeLong(table.fingerprint());
                out.writeUTF(table.columns());
                out.writeLong(table.rows());
            }
        }
    }

    static RowsIndex load(Path path) throws IOException {
        try (DataInputStream in = new DataInputStream(new BufferedInputStream(Files.newInputStream(path)))) {
            StoredPosition position = new StoredPosition(in.readLong(), in.readLong(), in.readLong(), in.readLong());
            int count = in.readInt();
            if (count < 0 || count > TABLES_MAX) {
                throw new IOException(path + " is damaged: it tells of " + count + " tables");
            }
            List<Table> tables = new ArrayList<>();
            for (int i = 0; i < count; i++) {
                tables.add(new Table(in.readUTF(), in.readLong(), in.readUTF(), in.readLong()));
            }
            return new RowsIndex(position, tables);
        }
    }
}
