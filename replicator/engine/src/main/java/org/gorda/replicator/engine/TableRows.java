package org.gorda.replicator.engine;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;
import org.gorda.gapi.SqlType;
import org.gorda.gapi.TableShape;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * All rows of a table, read with few of them in memory at once: a driver holds what it has fetched, and PostgreSQL's fetches all that it
 * is not told to fetch by and by. How many it fetches follows from the largest row there was until then. Confined to one thread.
 */
final class TableRows implements AutoCloseable {

    private static final int FETCHED_AT_FIRST = 4;
    private static final int FETCHED_MAX = 100;
    private static final long FETCHED_BYTES = 8 << 20;
    private static final long PROGRESS_NANOS = TimeUnit.SECONDS.toNanos(10);

    private static final Logger LOG = LoggerFactory.getLogger(TableRows.class);

    private final TableShape table;
    private final Statement statement;
    private final ResultSet rows;
    private long largest;
    private long count;
    private long told = System.nanoTime();

    /** Has a transaction begun on the connection, which is not one of autocommit. */
    TableRows(Connection connection, TableShape table, List<TableShape.Column> columns) throws SQLException {
        this.table = table;
        String names = columns.stream().map(TableRows::selected).collect(Collectors.joining(", "));
        statement = connection.createStatement();
        try {
            statement.setFetchSize(FETCHED_AT_FIRST);
            rows = statement.executeQuery("SELECT " + names + " FROM " + table);
        } catch (SQLException e) {
            close();
            throw e;
        }
    }

    private static String selected(TableShape.Column column) {
        String name = TableShape.quoted(column.name());
        return column.type() == SqlType.XML ? "XMLSERIALIZE(" + name + " AS CLOB)" : name;
    }

    /** Goes on to the next one, and tells people of it now and then, if there is one. */
    boolean next() throws SQLException {
        if (!rows.next()) {
            return false;
        }
        long now = System.nanoTime();
        if (now - told > PROGRESS_NANOS) {
            told = now;
            LOG.info("{} rows of {} are read", count, table);
        }
        count++;
        return true;
    }

    /** The one that is read now. */
    ResultSet row() {
        return rows;
    }

    /** How many there were until now. */
    long count() {
        return count;
    }

    /** How large the one was that was just read, about. */
    void had(long bytes) throws SQLException {
        if (bytes > largest) {
            largest = bytes;
            rows.setFetchSize((int) Math.min(FETCHED_MAX, Math.max(1, FETCHED_BYTES / largest)));
        }
    }

    @Override
    public void close() throws SQLException {
        statement.close();
    }
}
