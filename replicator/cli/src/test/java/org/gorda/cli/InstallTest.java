package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import org.gorda.bench.DatabaseServer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What an administrator does with a PostgreSQL database before and after it has a replica. */
class InstallTest {

    @TempDir
    private Path directory;

    private static void execute(String url, String sql) throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    @Test
    void aDatabaseIsCheckedInstalledAndUninstalled() throws Exception {
        PostgresEngine engine = new PostgresEngine();
        DatabaseServer server = engine.alone(directory, "shop", 0);
        server.start();
        try {
            String url = engine.url(server);
            execute(url, "CREATE TABLE a (id int PRIMARY KEY); CREATE TABLE b (id int)");
            GordaRun check = gorda("check", url);
            assertThat(check.status()).as(check.err()).isEqualTo(1);
            assertThat(check.out())
                    .contains("OBSTACLE  table b: it has no primary key")
                    .contains("ALTER TABLE b ADD PRIMARY KEY");
            execute(url, "DROP TABLE b");
            assertThat(gorda("check", url).out()).contains("nothing stands in the way");

            GordaRun installed = gorda("install", url);
            assertThat(installed.status()).as(installed.err()).isZero();
            assertThat(installed.out()).contains("only connections of a replica can change it");
            assertThatThrownBy(() -> execute(url, "INSERT INTO a VALUES (1)"))
                    .hasMessageContaining("can only be changed by connections of its replica");

            String replica = "jdbc:gorda:postgresql:" + server.database()
                    + ";protocol=loopback;user=postgres;directory=" + directory.resolve("replica");
            execute(replica, "INSERT INTO a VALUES (1)");
            GordaRun busy = gorda("uninstall", url);
            assertThat(busy.status()).isEqualTo(1);
            assertThat(busy.err()).contains("a replica has the database open: stop it first");
            assertThatThrownBy(() -> execute(replica + ";shutdown=true", "")).hasMessageContaining("is shut down");

            GordaRun uninstalled = gorda("uninstall", url, "--json");
            assertThat(uninstalled.status()).as(uninstalled.err()).isZero();
            assertThat(uninstalled.lastLine().get("installed").getAsBoolean()).isFalse();
            execute(url, "INSERT INTO a VALUES (2)");
        } finally {
            server.stop();
        }
    }

    private GordaRun gorda(String... arguments) throws Exception {
        return GordaRun.in(directory, arguments);
    }
}
