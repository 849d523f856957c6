package org.gorda.bindings.derby;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Savepoint;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicInteger;

/** What the procedures of the suites do; called by Derby. */
public final class TckRoutines {

    /** How many calls of {@link #sleep} are under way. */
    static final AtomicInteger SLEEPING = new AtomicInteger();

    private TckRoutines() {}

    public static void sleep(int millis) throws InterruptedException {
        SLEEPING.incrementAndGet();
        try {
            Thread.sleep(millis);
        } finally {
            SLEEPING.decrementAndGet();
        }
    }

    public static int slowly(int number) throws InterruptedException {
        sleep(500);
        return number;
    }

    public static void insertRow(int number) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:default:connection")) {
            insert(connection, number);
        }
    }

    public static void insertAndCommit(int number) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:default:connection")) {
            insert(connection, number);
            connection.commit();
            insert(connection, number + 1);
        }
    }

    public static void insertAndRollBack(int number) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:default:connection")) {
            insert(connection, number);
            connection.rollback();
            insert(connection, number + 1);
        }
    }

    public static void insertAroundSavepoint(int number) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:default:connection")) {
            insert(connection, number);
            Savepoint savepoint = connection.setSavepoint();
            insert(connection, number + 1);
            connection.rollback(savepoint);
            insert(connection, number + 2);
        }
    }

    public static void makeTable(int number) throws SQLException {
        try (Connection connection = DriverManager.getConnection("jdbc:default:connection");
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE MADE (ID INTEGER NOT NULL PRIMARY KEY)");
            statement.execute("INSERT INTO MADE VALUES (" + number + ")");
        }
    }

    private static void insert(Connection connection, int number) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (" + number + ", 0)");
        }
    }
}
