package org.gorda.replicator.node.behaviours;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.locks.LockSupport;

/** What the procedures and functions of the tests do, within the engine. */
public final class Routines {

    private Routines() {}

    public static void doubled(int a, int[] b, String[] c) {
        b[0] = 2 * a;
        c[0] = c[0] == null ? null : c[0] + c[0];
    }

    @SuppressWarnings("StreamResourceLeak") // the engine closes what is returned
    public static void twoResults(int lowest, ResultSet[] first, ResultSet[] second) throws SQLException {
        Connection caller = DriverManager.getConnection("jdbc:default:connection");
        first[0] = caller.createStatement().executeQuery("SELECT ID FROM ITEM WHERE ID >= " + lowest + " ORDER BY ID");
        second[0] = caller.createStatement()
                .executeQuery("SELECT NAME FROM ITEM WHERE ID >= " + lowest + " ORDER BY ID DESC");
    }

    public static void addAndList(int id, ResultSet[] rows) throws SQLException {
        addItem(id);
        Connection caller = DriverManager.getConnection("jdbc:default:connection");
        rows[0] = caller.createStatement().executeQuery("SELECT ID, NAME FROM ITEM ORDER BY ID");
    }

    public static void addItem(int id) throws SQLException {
        try (Connection caller = DriverManager.getConnection("jdbc:default:connection");
                Statement statement = caller.createStatement()) {
            statement.executeUpdate("INSERT INTO ITEM (ID, NAME) VALUES (" + id + ", 'added " + id + "')");
        }
    }

    public static void fails() throws SQLException {
        throw new SQLException("on purpose", "38999");
    }

    public static double half(double a) {
        return a / 2;
    }

    public static int dawdle(int millis) {
        LockSupport.parkNanos(millis * 1_000_000L);
        return millis;
    }
}
