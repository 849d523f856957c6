package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.ByteArrayInputStream;
import java.io.StringReader;
import java.math.BigDecimal;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.sql.Timestamp;
import java.util.List;
import java.util.Random;
import org.gorda.gapi.WriteSet;
import org.junit.jupiter.api.Test;

/** Values of all types come back as they were, byte for byte. */
public abstract class ValuesTck extends BindingTck {

    @Test
    void largeObjectsFromStreams() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, N INTEGER, B BLOB(2M), C CLOB(2M))");
        byte[] bytes = new byte[700_000];
        new Random(3).nextBytes(bytes);
        String text = "zeile ä\n".repeat(60_000);
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, 0, ?, ?)")) {
            insert.setInt(1, 1);
            insert.setBinaryStream(2, new ByteArrayInputStream(bytes));
            insert.setCharacterStream(3, new StringReader(text));
            insert.executeUpdate();
            connection.commit();
        }
        execute("UPDATE T SET N = 1");
        try (Connection connection = connect();
                PreparedStatement update = connection.prepareStatement("UPDATE T SET B = ? WHERE ID = 1")) {
            update.setBinaryStream(1, new ByteArrayInputStream(bytes, 5, 300_000), 300_000);
            update.executeUpdate();
            connection.commit();
        }
        List<WriteSet> writeSets = meta.takeWriteSets();
        assertThat(writeSets.get(2).length())
                .as("an update of another column does not carry the large ones")
                .isLessThan(200);
        for (WriteSet writeSet : writeSets) {
            apply(writeSet);
        }
        assertEqual();
    }

    @Test
    void timestampsKeepTheirNanoseconds() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, MOMENT TIMESTAMP)");
        Random random = new Random(11);
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
            for (int i = 0; i < 200; i++) {
                Timestamp moment = new Timestamp(Math.abs(random.nextLong() % 4_000_000_000_000L));
                moment.setNanos(random.nextInt(1_000_000_000));
                insert.setInt(1, i);
                insert.setTimestamp(2, moment);
                insert.executeUpdate();
            }
            connection.commit();
        }
        assertEqual();
    }

    @Test
    void valuesOfAllTypesWithTheirExtremes() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, BO BOOLEAN, SM SMALLINT, IT INTEGER, BI BIGINT, RE REAL, "
                        + "DO DOUBLE PRECISION, DE DECIMAL(31, 10), CH CHAR(5), VC VARCHAR(100), CL CLOB(100K), "
                        + tested().binaryColumns() + ", BL BLOB(100K), DA DATE, TI TIME, TS TIMESTAMP)");
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement(
                        "INSERT INTO T VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)")) {
            insert.setInt(1, 1);
            for (int i = 2; i <= 17; i++) {
                insert.setNull(i, insert.getParameterMetaData().getParameterType(i));
            }
            insert.executeUpdate();
            Object[][] rows = {
                {
                    true,
                    Short.MAX_VALUE,
                    Integer.MAX_VALUE,
                    Long.MAX_VALUE,
                    Float.MAX_VALUE,
                    Double.MAX_VALUE,
                    new BigDecimal("123456789012345678901.0123456789"),
                    "abcde",
                    "voll \u0000 ä€𝄞 \ud800",
                    "clob",
                    new byte[] {0, -1, 127},
                    new byte[] {1},
                    new byte[] {0, 1, 2, -128},
                    "9999-12-31",
                    "23:59:59",
                    "9999-12-31 23:59:59.999999999"
                },
                {
                    false,
                    Short.MIN_VALUE,
                    Integer.MIN_VALUE,
                    Long.MIN_VALUE,
                    -Float.MAX_VALUE,
                    -Double.MAX_VALUE,
                    new BigDecimal("-0.0000000001"),
                    "",
                    "",
                    "",
                    new byte[3],
                    new byte[0],
                    new byte[0],
                    "0001-01-01",
                    "00:00:00",
                    "0001-01-01 00:00:00.0"
                },
                {
                    false,
                    (short) 0,
                    0,
                    0L,
                    1e-37f,
                    2.3e-300,
                    BigDecimal.ZERO,
                    "a",
                    " ",
                    "x".repeat(70_000),
                    new byte[] {32, 32, 32},
                    new byte[] {32},
                    new byte[90_000],
                    "2016-03-27",
                    "02:30:00",
                    "2016-03-27 02:30:00.000000001"
                }
            };
            for (int i = 0; i < rows.length; i++) {
                insert.setInt(1, i + 2);
                for (int c = 0; c < rows[i].length; c++) {
                    set(insert, c + 2, rows[i][c]);
                }
                insert.executeUpdate();
            }
            connection.commit();
        }
        execute(
                "UPDATE T SET SM = 5, VC = VC || 'x' WHERE ID > 1",
                "UPDATE T SET DA = NULL, CL = NULL, BL = NULL WHERE ID = 2");
        assertEqual();
    }

    private static void set(PreparedStatement insert, int column, Object value) throws SQLException {
        if (value instanceof String text && column >= 15) {
            insert.setString(column, text);
        } else if (value instanceof byte[] bytes) {
            insert.setBytes(column, bytes);
        } else {
            insert.setObject(column, value);
        }
    }

    @Test
    void eachTypeAsColumnAndAsKey() throws SQLException {
        List<TckBinding.Type> types = tested().types();
        for (int t = 0; t < types.size(); t++) {
            TckBinding.Type type = types.get(t);
            execute("CREATE TABLE T" + t + " (ID INTEGER NOT NULL PRIMARY KEY, V " + type.declaration() + ")");
            int count = type.values().size();
            for (int i = 0; i < count; i++) {
                execute("INSERT INTO T" + t + " VALUES (" + i + ", "
                        + type.values().get(i) + ")");
            }
            execute("INSERT INTO T" + t + " (ID) VALUES (" + count + ")");
        }
        assertEqual();
        for (int t = 0; t < types.size(); t++) {
            List<String> values = types.get(t).values();
            for (int i = 0; i < values.size(); i++) {
                execute("UPDATE T" + t + " SET V = " + values.get((i + 1) % values.size()) + " WHERE ID = " + i);
            }
            execute(
                    "UPDATE T" + t + " SET V = " + values.get(0) + " WHERE ID = " + values.size(),
                    "UPDATE T" + t + " SET V = NULL WHERE ID = 0");
            if (types.get(t).isKey()) {
                asKey("K" + t, types.get(t));
            }
        }
        assertEqual();
    }

    private void asKey(String table, TckBinding.Type type) throws SQLException {
        execute("CREATE TABLE " + table + " (V " + type.declaration() + " NOT NULL PRIMARY KEY, N INTEGER)");
        for (String value : type.values()) {
            execute("INSERT INTO " + table + " VALUES (" + value + ", 0)");
        }
        for (String value : type.values()) {
            execute("UPDATE " + table + " SET N = N + 1 WHERE V = " + value);
        }
        execute("DELETE FROM " + table + " WHERE V = " + type.values().get(0));
        assertThat(query(origin, "SELECT SUM(N) FROM " + table))
                .as("each key of type %s finds one row", type.declaration())
                .containsExactly(String.valueOf(type.values().size() - 1));
    }

    @Test
    void largeObjectsThroughLocatorsAndUpdatableRows() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB(1M), C CLOB(1M))");
        byte[] bytes = new byte[120_000];
        new Random(5).nextBytes(bytes);
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?, ?)")) {
            Blob blob = connection.createBlob();
            blob.setBytes(1, bytes);
            blob.setBytes(50_001, new byte[] {1, 2, 3});
            Clob clob = connection.createClob();
            clob.setString(1, "text ä ".repeat(9_000));
            for (int i = 1; i <= 2; i++) {
                insert.setInt(1, i);
                insert.setBlob(2, blob);
                insert.setClob(3, clob);
                insert.executeUpdate();
            }
            connection.commit();
            try (Statement statement =
                            connection.createStatement(ResultSet.TYPE_FORWARD_ONLY, ResultSet.CONCUR_UPDATABLE);
                    ResultSet rows = statement.executeQuery("SELECT ID, B, C FROM T FOR UPDATE")) {
                assertThat(rows.next()).isTrue();
                Blob stored = rows.getBlob(2);
                stored.truncate(70_000);
                rows.updateBlob(2, stored);
                rows.updateCharacterStream(3, new StringReader("short"), 5);
                rows.updateRow();
            }
            connection.commit();
        }
        execute("INSERT INTO T SELECT ID + 10, B, C FROM T", "UPDATE T SET C = C || 'end' WHERE ID = 2");
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(4);
    }
}
