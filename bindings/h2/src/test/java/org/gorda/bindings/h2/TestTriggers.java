package org.gorda.bindings.h2;

import java.sql.Connection;
import java.sql.PreparedStatement;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.concurrent.atomic.AtomicReference;
import org.h2.api.Trigger;

/** What H2 calls in tests. Stateless, but for what a test wants done. */
public final class TestTriggers {

    private TestTriggers() {}

    /** Copies rows that are inserted into T to L, where some may not be. */
    public static final class Copying implements Trigger {
        @Override
        public void fire(Connection connection, Object[] before, Object[] after) throws SQLException {
            try (PreparedStatement insert = connection.prepareStatement("INSERT INTO L VALUES (?, ?)")) {
                insert.setObject(1, after[0]);
                insert.setObject(2, after[1]);
                insert.executeUpdate();
            }
        }
    }

    /** Commits, or tries to. */
    public static final class Committing implements Trigger {
        @Override
        public void fire(Connection connection, Object[] before, Object[] after) throws SQLException {
            connection.commit();
        }
    }

    /** Changes the schema, or tries to. */
    public static final class Making implements Trigger {
        @Override
        public void fire(Connection connection, Object[] before, Object[] after) throws SQLException {
            try (Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE MADE (ID INTEGER PRIMARY KEY)");
            }
        }
    }

    /** Has something done once, when the change of a row was just taken back. */
    public static final class TakingBack implements Trigger {

        private static final AtomicReference<Runnable> THEN = new AtomicReference<>();

        static void then(Runnable work) {
            THEN.set(work);
        }

        @Override
        public void fire(Connection connection, Object[] before, Object[] after) {
            Runnable work = THEN.getAndSet(null);
            if (work != null) {
                work.run();
            }
        }
    }

    /** Has something done once, when a trigger of this class was just made. */
    public static final class Made implements Trigger {

        private static final AtomicReference<Runnable> THEN = new AtomicReference<>();

        static void then(Runnable work) {
            THEN.set(work);
        }

        @Override
        public void init(
                Connection connection, String schema, String trigger, String table, boolean isBefore, int type) {
            Runnable work = THEN.getAndSet(null);
            if (work != null) {
                work.run();
            }
        }

        @Override
        public void fire(Connection connection, Object[] before, Object[] after) {}
    }

    /** Does something when the row of T with ID 1 is changed. */
    public static final class Entangling implements Trigger {

        private static final AtomicReference<String> DOES = new AtomicReference<>("");

        static void does(String sql) {
            DOES.set(sql);
        }

        @Override
        public void fire(Connection connection, Object[] before, Object[] after) throws SQLException {
            if (Integer.valueOf(1).equals((before == null ? after : before)[0])) {
                statement(connection, DOES.get());
            }
        }
    }

    private static void statement(Connection connection, String sql) throws SQLException {
        try (Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** Inserts two rows of which the second is refused, and goes on. */
    public static final class Forgiving implements Trigger {
        @Override
        public void fire(Connection connection, Object[] before, Object[] after) throws SQLException {
            try (Statement statement = connection.createStatement()) {
                statement.execute("INSERT INTO L VALUES (5, 5), (5, 5)");
            } catch (SQLException ignored) {
                statement(connection, "INSERT INTO L VALUES (6, 6)");
            }
        }
    }
}
