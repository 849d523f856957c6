package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.InputStream;
import java.io.Reader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.List;
import java.util.Properties;
import java.util.Random;
import org.gorda.gapi.ReflectedDatabase;
import org.junit.jupiter.api.Test;

/** Large objects and the transactions that change them do not need the heap. */
public abstract class LargeObjectsTck extends BindingTck {

    /** Pseudo-random content without an array that holds it. */
    private static InputStream noise(long length, long seed) {
        Random random = new Random(seed);
        return new InputStream() {
            private long left = length;

            @Override
            public int read() {
                return left-- > 0 ? random.nextInt() & 0xff : -1;
            }

            @Override
            public int read(byte[] target, int offset, int count) {
                if (left <= 0) {
                    return -1;
                }
                int some = (int) Math.min(left, count);
                for (int i = 0; i < some; i++) {
                    target[offset + i] = (byte) random.nextInt();
                }
                left -= some;
                return some;
            }
        };
    }

    /** Chars of one, two and three bytes, surrogates and zeros among them. */
    private static Reader text(long length, long seed) {
        Random random = new Random(seed);
        return new Reader() {
            private long left = length;

            @Override
            public int read(char[] target, int offset, int count) {
                if (left <= 0) {
                    return -1;
                }
                int some = (int) Math.min(left, count);
                for (int i = 0; i < some; i++) {
                    int drawn = random.nextInt();
                    target[offset + i] = (char) ((drawn & 0xffff) >> (drawn >>> 16) % 12);
                }
                left -= some;
                return some;
            }

            @Override
            public void close() {}
        };
    }

    /** To be run with a heap of 128 MB. */
    @Test
    void largeObjectsOfFiftyMegabytesDoNotNeedTheHeap() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB(64M), C CLOB(64M))");
        long length = 50 << 20;
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T (ID, B) VALUES (?, ?)");
                PreparedStatement update = connection.prepareStatement("UPDATE T SET C = ? WHERE ID = 1")) {
            insert.setInt(1, 1);
            insert.setBinaryStream(2, noise(length, 1), length);
            insert.executeUpdate();
            connection.commit();
            update.setCharacterStream(1, text(length / 3, 2));
            update.executeUpdate();
            connection.commit();
        }
        replicate();
        assertThat(onlyRow(replica, "SELECT B, C FROM T")).isEqualTo(onlyRow(origin, "SELECT B, C FROM T"));
    }

    private static List<Object> onlyRow(ReflectedDatabase database, String query) throws SQLException {
        try (Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement();
                ResultSet found = statement.executeQuery(query)) {
            assertThat(found.next()).isTrue();
            List<Object> row = List.of(comparable(found, 1), comparable(found, 2));
            assertThat(found.next()).isFalse();
            return row;
        }
    }

    @Test
    void largeObjectsAreCopiedAndTheirRowsGetOtherKeys() throws SQLException {
        execute(
                "CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB(64M), N INTEGER, C CLOB(64M))",
                "CREATE TABLE U (ID INTEGER NOT NULL PRIMARY KEY, C CLOB(64M), B BLOB(64M), N INTEGER)",
                "CREATE INDEX I ON T (N)");
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?, ?, ?)")) {
            for (int i = 1; i <= 3; i++) {
                insert.setInt(1, i);
                insert.setBinaryStream(2, noise(i * 900_000L, i));
                insert.setInt(3, i);
                insert.setCharacterStream(4, text(i * 300_000L, i));
                insert.executeUpdate();
            }
            connection.commit();
        }
        assertEqual();
        execute("INSERT INTO U SELECT ID, C, B, N FROM T");
        execute("UPDATE T SET ID = ID + 1");
        execute("UPDATE T SET N = 7 WHERE ID = 3");
        execute("DELETE FROM T WHERE ID = 2");
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(2);
        assertThat(count(replica, "U")).isEqualTo(3);
    }

    @Test
    void aRollbackOfLargeObjectsLeavesWhatWasBefore() throws SQLException {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB(64M))");
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
            insert.setInt(1, 1);
            insert.setBinaryStream(2, noise(2_000_000, 1));
            insert.executeUpdate();
            Savepoint savepoint = connection.setSavepoint();
            insert.setInt(1, 2);
            insert.setBinaryStream(2, noise(3_000_000, 2));
            insert.executeUpdate();
            connection.rollback(savepoint);
            insert.setInt(1, 1);
            insert.setBinaryStream(2, noise(2_500_000, 3));
            assertThatThrownBy(insert::executeUpdate).isInstanceOf(SQLException.class);
            insert.setInt(1, 4);
            insert.setBinaryStream(2, noise(2_500_000, 4), 2_600_000);
            assertThatThrownBy(insert::executeUpdate)
                    .as("a stream shorter than it was said to be")
                    .isInstanceOf(SQLException.class);
            insert.setInt(1, 5);
            insert.setBinaryStream(2, noise(1_500_000, 5));
            insert.executeUpdate();
            connection.commit();
            insert.setInt(1, 6);
            insert.setBinaryStream(2, noise(1_500_000, 6));
            insert.executeUpdate();
            connection.rollback();
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(2);
    }

    @Test
    void aDiskThatTakesNoMoreEndsTheTransactionOnly() throws Exception {
        execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, B BLOB(40M))");
        Path spool = configuration("origin").spoolDirectory();
        Files.deleteIfExists(spool);
        Files.createFile(spool);
        try (Connection connection = connect();
                PreparedStatement insert = connection.prepareStatement("INSERT INTO T VALUES (?, ?)")) {
            insert.setInt(1, 1);
            insert.setBytes(2, new byte[3 << 20]);
            assertThatThrownBy(insert::executeUpdate)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("53100"))
                    .hasMessageContaining(spool.toString());
            insert.setInt(1, 2);
            insert.setBytes(2, new byte[3]);
            insert.executeUpdate();
            connection.commit();
            Files.delete(spool);
            insert.setInt(1, 3);
            insert.setBytes(2, new byte[3 << 20]);
            insert.executeUpdate();
            connection.commit();
        }
        assertEqual();
        assertThat(count(replica, "T")).isEqualTo(2);
    }
}
