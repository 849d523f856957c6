package org.gorda.replicator.node.behaviours;

import java.io.InputStream;
import java.io.Reader;
import java.io.StringWriter;
import java.lang.reflect.Array;
import java.sql.BatchUpdateException;
import java.sql.Blob;
import java.sql.Clob;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLClientInfoException;
import java.sql.SQLException;
import java.sql.SQLWarning;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HexFormat;
import java.util.List;

/** Makes texts of what is seen. */
final class Seen {

    private static final int TEXT_MAX = 200;

    /** Something that is tried. */
    @FunctionalInterface
    interface Call {
        Object run() throws Exception;
    }

    /** Something that is tried and gives nothing. */
    @FunctionalInterface
    interface Action {
        void run() throws Exception;
    }

    private Seen() {}

    /** What comes of it: a value or an exception. */
    static String attempt(Call call) throws Exception {
        try {
            return show(call.run());
        } catch (SQLException e) {
            return exception(e);
        } catch (RuntimeException e) {
            return e.getClass().getName();
        }
    }

    static String attempt(Action action) throws Exception {
        return attempt(doing(action));
    }

    static Call doing(Action action) {
        return () -> {
            action.run();
            return "done";
        };
    }

    /** Each in turn. */
    static String attempts(Call... calls) throws Exception {
        List<String> seen = new ArrayList<>();
        for (Call call : calls) {
            seen.add(attempt(call));
        }
        return seen.toString();
    }

    private static String exception(SQLException thrown) {
        StringBuilder text = new StringBuilder();
        for (SQLException e = thrown; e != null; e = e.getNextException()) {
            text.append(text.isEmpty() ? "" : " then ")
                    .append(e.getClass().getSimpleName())
                    .append(' ')
                    .append(e.getSQLState());
            if (e instanceof BatchUpdateException batch) {
                text.append(Arrays.toString(batch.getLargeUpdateCounts()));
            }
            if (e instanceof SQLClientInfoException info) {
                text.append(info.getFailedProperties());
            }
        }
        return text.toString();
    }

    static String warnings(SQLWarning first) {
        StringBuilder text = new StringBuilder("warnings");
        for (SQLWarning warning = first; warning != null; warning = warning.getNextWarning()) {
            text.append(' ').append(warning.getSQLState());
        }
        return text.toString();
    }

    static String show(Object value) throws Exception {
        if (value == null) {
            return "null";
        }
        if (value instanceof byte[] bytes) {
            return bytes.length > TEXT_MAX
                    ? bytes.length + " bytes " + Arrays.hashCode(bytes)
                    : "x" + HexFormat.of().formatHex(bytes);
        }
        if (value.getClass().isArray()) {
            List<String> elements = new ArrayList<>();
            for (int i = 0; i < Array.getLength(value); i++) {
                elements.add(show(Array.get(value, i)));
            }
            return elements.toString();
        }
        if (value instanceof Statement || value instanceof Connection) {
            ((AutoCloseable) value).close();
            return "made";
        }
        if (value instanceof ResultSet rows) {
            return rows(rows);
        }
        if (value instanceof Blob blob) {
            return "blob " + show(blob.getBytes(1, (int) blob.length()));
        }
        if (value instanceof Clob clob) {
            return "clob " + show(clob.getSubString(1, (int) clob.length()));
        }
        if (value instanceof InputStream stream) {
            try (stream) {
                return "stream " + show(stream.readAllBytes());
            }
        }
        if (value instanceof Reader reader) {
            StringWriter text = new StringWriter();
            try (reader) {
                reader.transferTo(text);
            }
            return "reader " + show(text.toString());
        }
        if (value instanceof List<?> list) {
            return show(list.toArray());
        }
        String text = value.toString();
        return text.length() > 50 * TEXT_MAX ? text.length() + " characters " + text.hashCode() : text;
    }

    /** All rows that are left. */
    static String rows(ResultSet rows) throws Exception {
        List<String> lines = new ArrayList<>();
        int columns = rows.getMetaData().getColumnCount();
        while (rows.next()) {
            List<String> values = new ArrayList<>();
            for (int column = 1; column <= columns; column++) {
                values.add(rows.getString(column));
            }
            lines.add(String.join(",", values.stream().map(String::valueOf).toList()));
        }
        return String.join(" | ", lines);
    }

    static String query(Connection connection, String sql) throws Exception {
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            return rows(rows);
        }
    }

    static int update(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            return statement.executeUpdate(sql);
        }
    }

    /** The items as another connection sees them: those that are committed. */
    static String committed(Side side) throws Exception {
        try (Connection other = side.connect()) {
            return query(other, "SELECT ID, NAME, PRICE FROM ITEM ORDER BY ID");
        }
    }

    static String items(Connection connection) throws Exception {
        return query(connection, "SELECT ID, NAME, PRICE FROM ITEM ORDER BY ID");
    }
}
