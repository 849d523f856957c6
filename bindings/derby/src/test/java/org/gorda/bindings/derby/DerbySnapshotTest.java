package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.Statement;
import java.util.Properties;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicBoolean;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Where databases are copied from and to. */
@Timeout(120)
class DerbySnapshotTest {

    private static final int SNAPSHOTS = 5;

    @TempDir
    private Path directory;

    private final DerbyUnderTest derby = new DerbyUnderTest();

    private ReflectedDatabase open(DatabaseConfiguration configuration) throws Exception {
        ReflectedDatabase database = derby.binding().open(configuration, new MetaLevel());
        try (Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (A INTEGER NOT NULL PRIMARY KEY)");
            statement.execute("INSERT INTO T VALUES 1");
        }
        return database;
    }

    @Test
    void aDatabaseThatIsNamedByALinkIsGivenAndReplacedWhereItIs() throws Exception {
        Path disk = Files.createDirectory(directory.resolve("disk"));
        open(derby.configuration(disk, "b1")).close();
        DatabaseConfiguration configuration = derby.configuration(directory, "bank");
        Path link = Path.of(configuration.location());
        Files.createSymbolicLink(link, Path.of("disk/b1"));
        Path snapshot = directory.resolve("snapshot");
        try (ReflectedDatabase database = derby.binding().open(configuration, new MetaLevel())) {
            database.snapshot(snapshot);
        }
        derby.binding().drop(configuration);
        assertThat(disk.resolve("b1")).doesNotExist();
        derby.binding().load(snapshot, configuration);
        assertThat(link).isSymbolicLink();
        assertThat(disk.resolve("b1")).isDirectory();
        try (ReflectedDatabase database = derby.binding().open(configuration, new MetaLevel());
                Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement();
                ResultSet row = statement.executeQuery("SELECT A FROM T")) {
            assertThat(row.next()).isTrue();
        }
    }

    @Test
    void aCopyIsMadeWhileFilesOfTheDatabaseComeAndGo() throws Exception {
        DatabaseConfiguration configuration = derby.configuration(directory, "bank");
        AtomicBoolean enough = new AtomicBoolean();
        try (ReflectedDatabase database = open(configuration)) {
            Path busy = Path.of(configuration.location()).resolve("tmp/busy");
            CompletableFuture<Void> others = CompletableFuture.runAsync(() -> comeAndGo(busy, enough));
            try {
                for (int i = 0; i < SNAPSHOTS; i++) {
                    database.snapshot(directory.resolve("snapshot" + i));
                }
            } finally {
                enough.set(true);
                others.join();
            }
        }
    }

    private static void comeAndGo(Path busy, AtomicBoolean enough) {
        try {
            while (!enough.get()) {
                for (int i = 0; i < 200; i++) {
                    Files.createDirectories(busy.resolve("d" + i));
                }
                for (int i = 0; i < 200; i++) {
                    Files.delete(busy.resolve("d" + i));
                }
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
