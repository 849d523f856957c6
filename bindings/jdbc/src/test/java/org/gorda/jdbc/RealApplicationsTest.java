package org.gorda.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Map;
import org.flywaydb.core.Flyway;
import org.gorda.replicator.engine.TableChecksum;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;

/** Programs that nobody here wrote run unchanged on the URL that makes this JVM a replica. */
@Timeout(180)
class RealApplicationsTest {

    @TempDir
    Path directory;

    private static HikariDataSource pool(EmbeddedGroup group, int replica) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(group.url(replica));
        config.setMaximumPoolSize(4);
        config.setPoolName("replica" + replica);
        return new HikariDataSource(config);
    }

    private static Flyway flyway(HikariDataSource pool) {
        return Flyway.configure()
                .dataSource(pool)
                .locations("classpath:migrations")
                .cleanDisabled(false)
                .load();
    }

    private static long rows(List<TableChecksum> tables, String name) {
        return tables.stream()
                .filter(table -> table.table().equals("\"APP\".\"" + name + "\""))
                .findFirst()
                .orElseThrow(() -> new AssertionError(name + " is not among " + tables))
                .rows();
    }

    @Test
    void flywayMigratesCleansAndMigratesAgain() throws Exception {
        try (EmbeddedGroup group = new EmbeddedGroup(directory, 3);
                HikariDataSource pool = pool(group, group.primary())) {
            Flyway flyway = flyway(pool);
            assertThat(flyway.migrate().migrationsExecuted).isEqualTo(4);
            assertThat(flyway.validateWithResult().validationSuccessful).isTrue();
            List<TableChecksum> migrated = group.assertIdentical();
            assertThat(rows(migrated, "CUSTOMER")).isEqualTo(3);
            assertThat(rows(migrated, "ORDERS")).isEqualTo(4);
            assertThat(rows(migrated, "AUDIT")).isEqualTo(1);
            assertThat(flyway.migrate().migrationsExecuted).isZero();

            flyway.clean();
            assertThat(group.assertIdentical()).isEmpty();
            assertThat(flyway.migrate().migrationsExecuted).isEqualTo(4);
            assertThat(rows(group.assertIdentical(), "ORDER_LINE")).isEqualTo(6);
        }
    }

    @Test
    void flywayTakesOverASchemaThatWasThereBefore() throws Exception {
        try (EmbeddedGroup group = new EmbeddedGroup(directory, 3);
                HikariDataSource pool = pool(group, group.primary())) {
            try (Connection connection = pool.getConnection();
                    Statement statement = connection.createStatement()) {
                statement.execute("CREATE TABLE legacy (id INT NOT NULL PRIMARY KEY)");
            }
            Flyway flyway = Flyway.configure()
                    .dataSource(pool)
                    .locations("classpath:migrations")
                    .baselineOnMigrate(true)
                    .baselineVersion("0")
                    .load();
            assertThat(flyway.migrate().migrationsExecuted).isEqualTo(4);
            group.assertIdentical();
        }
    }

    @Test
    void flywayAtABackupFindsNothingToDo() throws Exception {
        try (EmbeddedGroup group = new EmbeddedGroup(directory, 3)) {
            try (HikariDataSource pool = pool(group, group.primary())) {
                flyway(pool).migrate();
            }
            group.assertIdentical();
            try (HikariDataSource pool = pool(group, group.backup())) {
                assertThat(flyway(pool).validateWithResult().validationSuccessful)
                        .isTrue();
                assertThat(flyway(pool).migrate().migrationsExecuted).isZero();
            }
        }
    }

    @Test
    void jooqApplicationLeavesIdenticalReplicas() throws Exception {
        runEverywhere(JooqShop::new);
    }

    @Test
    void springApplicationLeavesIdenticalReplicas() throws Exception {
        runEverywhere(SpringShop::new);
    }

    /** A program on a data source. */
    interface Shop {
        void run() throws Exception;
    }

    private void runEverywhere(java.util.function.Function<javax.sql.DataSource, Shop> shop) throws Exception {
        try (EmbeddedGroup group = new EmbeddedGroup(directory, 3)) {
            int primary = group.primary();
            try (HikariDataSource pool = pool(group, primary)) {
                flyway(pool).migrate();
                shop.apply(pool).run();
                List<TableChecksum> tables = group.assertIdentical();
                assertThat(rows(tables, "ORDERS")).isPositive();
                assertThat(pool.getHikariPoolMXBean().getActiveConnections()).isZero();
            }
            Map<String, String> first = Contents.of(group.url(primary));
            for (int i = 0; i < group.size(); i++) {
                assertThat(Contents.of(group.url(i))).isEqualTo(first);
            }
            backupReadsAndRefusesWrites(group);
        }
    }

    private static void backupReadsAndRefusesWrites(EmbeddedGroup group) throws SQLException {
        try (HikariDataSource pool = pool(group, group.backup());
                Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            assertThatThrownBy(() -> statement.executeUpdate("UPDATE customer SET points = points + 1"))
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("25006"));
            assertThat(connection.isValid(5)).isTrue();
            assertThat(statement.executeQuery("VALUES 1").next()).isTrue();
        }
    }
}
