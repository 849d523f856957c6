package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.Properties;
import java.util.concurrent.TimeUnit;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.FileTree;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** A database that was not closed in order, and is opened where its log finds no room. */
@Timeout(120)
class FullDiskTest {

    /** What is written to the log before it recovers is more than a file may have then, of which the shell counts blocks of 512 bytes or more. */
    private static final int UPDATES = 12;

    private static final int FILE_BLOCKS_MAX = 1024;
    private static final int ROWS = 3_000;
    private static final String NAME = "full";

    @TempDir
    private Path directory;

    /** Opens it, in a process that has room for small files only. */
    public static void main(String[] arguments) {
        DerbyUnderTest derby = new DerbyUnderTest();
        derby.binding().open(derby.configuration(Path.of(arguments[0]), NAME), new MetaLevel());
        Runtime.getRuntime().halt(0);
    }

    /** Derby alone writes first where its recovery has ended, and removes what that does not need, and then forces its log to be as long as that. */
    @Test
    void aRecoveryThatFindsNoRoomIsDoneAgainWhereThereIsSome() throws Exception {
        DerbyUnderTest derby = new DerbyUnderTest();
        DatabaseConfiguration configuration = derby.configuration(directory, NAME);
        try (ReflectedDatabase database = derby.binding().open(configuration, new MetaLevel())) {
            write(database);
            database.flush();
            DerbyUnderTest.copy(Path.of(configuration.location()), directory.resolve("killed"));
        }
        Path files = Path.of(configuration.location());
        FileTree.delete(files);
        Files.move(directory.resolve("killed"), files);

        assertThat(openWithoutRoom()).isNotZero();

        try (ReflectedDatabase database = derby.binding().open(configuration, new MetaLevel());
                Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT COUNT(*), MIN(A), MAX(A) FROM T")) {
            row.next();
            assertThat(row.getInt(1)).isEqualTo(ROWS);
            assertThat(row.getInt(2)).isEqualTo(UPDATES);
            assertThat(row.getInt(3)).isEqualTo(UPDATES);
        }
    }

    /** An index that is gone, whose rows Derby wrote past its log, cannot be made anew from that. */
    private static void write(ReflectedDatabase database) throws SQLException {
        try (Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY, A INTEGER NOT NULL)");
            statement.execute("INSERT INTO T VALUES (0, 0), (1, 0)");
            statement.execute("CREATE INDEX I ON T (A)");
            connection.setAutoCommit(false);
            for (int i = 2; i < ROWS; i++) {
                statement.execute("INSERT INTO T VALUES (" + i + ", 0)");
            }
            connection.commit();
            statement.execute("DROP INDEX I");
            connection.commit();
            for (int i = 0; i < UPDATES; i++) {
                statement.execute("UPDATE T SET A = A + 1");
                connection.commit();
            }
        }
    }

    private int openWithoutRoom() throws Exception {
        Process process = new ProcessBuilder(
                        "sh",
                        "-c",
                        "ulimit -f " + FILE_BLOCKS_MAX + "; exec \"$@\"",
                        "sh",
                        Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                        "-XX:-UsePerfData",
                        "-XX:TieredStopAtLevel=1",
                        "-cp",
                        System.getProperty("java.class.path"),
                        FullDiskTest.class.getName(),
                        directory.toString())
                .redirectErrorStream(true)
                .redirectOutput(directory.resolve("opening.out").toFile())
                .start();
        assertThat(process.waitFor(1, TimeUnit.MINUTES)).isTrue();
        assertThat(directory.resolve("opening.out")).content().contains("cannot be opened", "Make room");
        return process.exitValue();
    }
}
