package org.gorda.cli.applications;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.atomic.AtomicReference;
import java.util.stream.IntStream;
import javax.sql.DataSource;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.ClassLoaderResourceAccessor;
import org.awaitility.Awaitility;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.FlywayException;
import org.gorda.bench.ReplicaGroup;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.ValueSource;

/** Migration tools as they are, on three replicas of the databases that are captured by triggers; the primary ends between two migrations. */
@Timeout(300)
final class EmbeddedMigrationsTest {

    private static final Duration WAIT = Duration.ofMinutes(1);

    @TempDir
    private Path directory;

    private final List<HikariDataSource> pools = new ArrayList<>();

    private interface Work {
        void on(DataSource pool) throws Exception;
    }

    private void start(String engine) {
        List<String> members;
        try (ReplicaGroup group = ReplicaGroup.of(3, directory, Map.of())) {
            members = group.members();
        }
        List<String> urls = IntStream.range(0, members.size())
                .mapToObj(i -> "jdbc:gorda:" + engine + ":" + directory.resolve(engine + i) + ";self=" + members.get(i)
                        + ";members=" + String.join(",", members))
                .toList();
        urls.stream()
                .map(url -> CompletableFuture.supplyAsync(() -> pool(url)))
                .toList()
                .forEach(opened -> pools.add(opened.join()));
    }

    /** As one sets it up: what a database refuses is not what a connection is given up for. */
    private static HikariDataSource pool(String url) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setMaximumPoolSize(3);
        config.setConnectionTimeout(WAIT.toMillis());
        config.setExceptionOverrideClassName("org.gorda.jdbc.HikariExceptionOverride");
        return new HikariDataSource(config);
    }

    @AfterEach
    void end() {
        List.copyOf(pools).forEach(this::end);
    }

    private void end(HikariDataSource pool) {
        pool.close();
        pools.remove(pool);
        assertThatThrownBy(() -> DriverManager.getConnection(pool.getJdbcUrl() + ";shutdown=true"))
                .hasMessageContaining("is shut down");
    }

    /** Does what changes something at whoever takes writes; others refuse it. */
    private HikariDataSource atThePrimary(Work work) {
        AtomicReference<HikariDataSource> primary = new AtomicReference<>();
        Awaitility.await().atMost(WAIT).until(() -> {
            for (HikariDataSource pool : pools) {
                try {
                    work.on(pool);
                    primary.set(pool);
                    return true;
                } catch (Exception e) {
                    if (!Interruptions.isOne(e)) {
                        throw e;
                    }
                }
            }
            return false;
        });
        return primary.get();
    }

    private void assertEverywhere(String query, long expected) {
        for (HikariDataSource pool : pools) {
            Awaitility.await(query)
                    .atMost(WAIT)
                    .ignoreException(SQLException.class)
                    .until(() -> Tables.number(pool, query) == expected);
        }
    }

    private static void execute(DataSource pool, String sql) throws SQLException {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute(sql);
        }
    }

    /** In SQLite the replica's own table is where the others are: to Flyway it is a schema that was there before. */
    private static Flyway flyway(DataSource pool, String target, String... locations) {
        return Flyway.configure()
                .dataSource(pool)
                .locations(locations)
                .baselineOnMigrate(true)
                .baselineVersion("0")
                .target(target)
                .load();
    }

    @ParameterizedTest
    @ValueSource(strings = {"hsqldb", "sqlite"})
    void flywayGoesOnAtTheNextPrimary(String engine) {
        start(engine);
        String migrations = "classpath:migrations-" + engine;
        HikariDataSource first =
                atThePrimary(pool -> flyway(pool, "1", migrations).migrate());
        end(first);
        HikariDataSource second =
                atThePrimary(pool -> flyway(pool, "latest", migrations).migrate());

        assertThat(flyway(second, "latest", migrations).validateWithResult().validationSuccessful)
                .isTrue();
        assertThat(flyway(second, "latest", migrations).migrate().migrationsExecuted)
                .isZero();
        assertEverywhere("SELECT SUM(points) FROM customer", 2);
        assertEverywhere("SELECT COUNT(*) FROM golden", 1);
        assertEverywhere("SELECT COUNT(*) FROM \"flyway_schema_history\" WHERE \"version\" IN ('1', '2')", 2);

        // The schema changes before a failure are there, each a transaction of its own; the rows are not.
        Flyway failing = flyway(second, "latest", migrations, "classpath:migrations-failing");
        assertThatThrownBy(failing::migrate).isInstanceOf(FlywayException.class).hasMessageContaining("23505");
        assertEverywhere("SELECT COUNT(*) FROM half", 0);
    }

    private static void liquibase(DataSource pool, LiquibaseWork work) throws Exception {
        try (Connection connection = pool.getConnection();
                Liquibase liquibase = new Liquibase(
                        "liquibase/embedded.xml",
                        new ClassLoaderResourceAccessor(),
                        DatabaseFactory.getInstance()
                                .findCorrectDatabaseImplementation(new JdbcConnection(connection)))) {
            work.with(liquibase);
        }
    }

    private interface LiquibaseWork {
        void with(Liquibase liquibase) throws Exception;
    }

    /** What changes rows of Liquibase's table needs a key on it. */
    @ParameterizedTest
    @ValueSource(strings = {"h2", "hsqldb"})
    void liquibaseGoesOnAtTheNextPrimary(String engine) {
        start(engine);
        HikariDataSource first = atThePrimary(
                pool -> liquibase(pool, liquibase -> liquibase.update(1, new Contexts(), new LabelExpression())));
        end(first);
        HikariDataSource second = atThePrimary(
                pool -> liquibase(pool, liquibase -> liquibase.update(new Contexts(), new LabelExpression())));
        assertEverywhere("SELECT held FROM book", 1);
        assertEverywhere("SELECT COUNT(*) FROM shelf", 0);
        assertEverywhere("SELECT COUNT(*) FROM databasechangeloglock WHERE locked", 0);

        assertThat(atThePrimary(pool -> {
                    execute(
                            pool,
                            "ALTER TABLE databasechangelog ADD CONSTRAINT pk_log PRIMARY KEY (id, author, filename)");
                    liquibase(pool, liquibase -> liquibase.rollback(1, new Contexts(), new LabelExpression()));
                }))
                .isSameAs(second);
        assertEverywhere("SELECT COUNT(*) FROM databasechangelog", 1);
    }
}
