package org.gorda.cli.applications;

import com.zaxxer.hikari.HikariDataSource;
import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.concurrent.locks.LockSupport;
import javax.sql.DataSource;
import org.awaitility.Awaitility;

/**
 * The JVM of a program that is a replica itself, by its URL. Several of them run; each waits until its replica takes writes and does
 * the work then. Lines tell it which application that is, {@value #GO_ON} to stop no more midway, and {@value #LOOK} to look at what
 * there is when the work is done, by itself or by a fellow. It tells by lines how far it is.
 */
final class StandbyProgram {

    static final String GO_ON = "go on";
    static final String LOOK = "look";

    private static final Duration WAIT = Duration.ofSeconds(30);
    private static final long PAUSE_NANOS = Duration.ofMillis(20).toNanos();
    private static final String NO_SCHEMA = "42Y07";
    private static final String NO_TABLE = "42X05";

    private final String url;
    private final BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));

    /** Whether the place midway is no place to stop at any more. */
    private boolean goesOn;

    private StandbyProgram(String url) {
        this.url = url;
    }

    public static void main(String[] arguments) throws Exception {
        new StandbyProgram(arguments[0]).run();
    }

    private void run() throws Exception {
        Framework.HIKARI.pool(url, false).close();
        say("ready");
        String line = in.readLine();
        while (line != null) {
            Framework framework = Framework.valueOf(line);
            try (HikariDataSource pool = framework.pool(url, false)) {
                work(framework, pool);
            }
            line = in.readLine();
        }
    }

    private void work(Framework framework, DataSource pool) throws Exception {
        Application application = framework.on(pool);
        goesOn = false;
        boolean done = false;
        while (!done && takesOver(pool)) {
            try {
                application.run(() -> {
                    say("midway " + framework);
                    while (!goesOn) {
                        hear();
                    }
                });
                say("done " + framework);
                done = true;
                String line = hear();
                while (!line.equals(LOOK)) {
                    line = hear();
                }
            } catch (Exception e) {
                if (!Interruptions.isOne(e)) {
                    throw e;
                }
            }
        }
        // It may be a little behind still, and a reader gives way to what it catches up with.
        Awaitility.await()
                .atMost(WAIT)
                .ignoreExceptionsMatching(Interruptions::isOne)
                .untilAsserted(application::check);
        say("looked " + framework);
    }

    /** Waits until it may write, and leaves a trace of that; false if told to look instead. */
    private boolean takesOver(DataSource pool) throws SQLException, IOException {
        while (!in.ready() || !hear().equals(LOOK)) {
            try (Connection connection = pool.getConnection();
                    Statement statement = connection.createStatement()) {
                statement.executeUpdate("INSERT INTO takeover (process) VALUES ("
                        + ProcessHandle.current().pid() + ")");
                return true;
            } catch (SQLException e) {
                if (NO_TABLE.equals(e.getSQLState()) || NO_SCHEMA.equals(e.getSQLState())) {
                    createTable(pool);
                } else if (!Interruptions.isOne(e)) {
                    throw e;
                }
            }
            LockSupport.parkNanos(PAUSE_NANOS);
        }
        return false;
    }

    private static void createTable(DataSource pool) throws SQLException {
        try {
            Tables.create(
                    pool,
                    "CREATE TABLE takeover (id INTEGER GENERATED ALWAYS AS IDENTITY PRIMARY KEY, process BIGINT NOT NULL)");
        } catch (SQLException e) {
            if (!Interruptions.isOne(e)) {
                throw e;
            }
        }
    }

    private static void say(String line) {
        System.out.println(line);
    }

    private String hear() {
        try {
            String line = in.readLine();
            if (line == null) {
                throw new IllegalStateException("the test has ended");
            }
            goesOn |= line.equals(GO_ON);
            return line;
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
