package org.gorda.replicator.node;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import com.zaxxer.hikari.SQLExceptionOverride.Override;
import java.io.File;
import java.lang.ref.WeakReference;
import java.lang.reflect.Method;
import java.net.URL;
import java.net.URLClassLoader;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.Driver;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Collections;
import java.util.List;
import java.util.Properties;
import javax.tools.ToolProvider;
import org.gorda.jdbc.GordaDataSource;
import org.gorda.jdbc.GordaDriver;
import org.gorda.jdbc.HikariExceptionOverride;
import org.gorda.jgcs.LoopbackPorts;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

/** HikariCP on the driver: which errors cost a connection. */
@Timeout(120)
class PoolTest {

    @TempDir
    static Path directory;

    private static NodeGroup group;
    private static AnswerThief thief;

    @BeforeAll
    static void open() throws Exception {
        group = new NodeGroup(directory, 1);
        thief = new AnswerThief(group.service(0), group.clients(0));
        try (HikariDataSource pool = pool(true);
                Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE KEYLESS (A INTEGER)");
            statement.executeUpdate("INSERT INTO KEYLESS VALUES (1)");
            statement.execute("CREATE TABLE T (ID INTEGER NOT NULL PRIMARY KEY)");
        }
    }

    @AfterAll
    static void close() throws Exception {
        thief.close();
        group.close();
    }

    /** A pool of one connection, set up as docs/jdbc.md says. */
    private static HikariDataSource pool(boolean override) {
        HikariConfig config = new HikariConfig();
        config.setDataSourceClassName(GordaDataSource.class.getName());
        config.addDataSourceProperty("url", "jdbc:gorda://" + thief.address() + "/shop");
        config.addDataSourceProperty("user", "app");
        config.addDataSourceProperty("password", "secret");
        config.setMaximumPoolSize(1);
        if (override) {
            config.setExceptionOverrideClassName(HikariExceptionOverride.class.getName());
        }
        return new HikariDataSource(config);
    }

    /** The driver's connection that the pool has given out. */
    private static Connection driversOwn(Connection connection) throws SQLException {
        return connection.unwrap(Connection.class);
    }

    @ParameterizedTest
    @CsvSource({"true, true", "false, false"})
    void whatCannotBeReplicatedCostsNoConnection(boolean override, boolean kept) throws SQLException {
        try (HikariDataSource pool = pool(override)) {
            Connection before;
            try (Connection connection = pool.getConnection();
                    Statement statement = connection.createStatement()) {
                before = driversOwn(connection);
                assertState("0A000", () -> statement.executeUpdate("UPDATE KEYLESS SET A = 2"));
            }
            try (Connection connection = pool.getConnection()) {
                assertThat(driversOwn(connection) == before).isEqualTo(kept);
                assertThat(connection.getMetaData().getUserName()).isEqualToIgnoringCase("app");
            }
        }
    }

    @Test
    void lostConnectionIsReplaced() throws SQLException {
        try (HikariDataSource pool = pool(true)) {
            Connection before;
            try (Connection connection = pool.getConnection();
                    Statement statement = connection.createStatement()) {
                before = driversOwn(connection);
                thief.steal(AnswerThief.Steal.REQUEST);
                assertState("08006", () -> statement.executeQuery("VALUES 1"));
            }
            try (Connection connection = pool.getConnection()) {
                assertThat(driversOwn(connection)).isNotSameAs(before);
                assertThat(connection.isValid(5)).isTrue();
            }
        }
    }

    @Test
    void commitThatHappenedThoughItsAnswerWasLostIsNoErrorAnywhere() throws SQLException {
        try (HikariDataSource pool = pool(true)) {
            try (Connection connection = pool.getConnection()) {
                insert(connection, 1);
                connection.commit(); // the driver prepares what commits
                insert(connection, 2);
                thief.steal(AnswerThief.Steal.ANSWER);
                connection.commit();
            }
            // What was lost is noticed at the first use at the latest.
            NodeGroup.patiently("the pool recovers").ignoreExceptions().until(() -> {
                try (Connection connection = pool.getConnection()) {
                    insert(connection, 2);
                    return false;
                } catch (SQLException e) {
                    return "23505".equals(e.getSQLState());
                }
            });
        }
    }

    @Test
    void commitThatDidNotHappenIsTriedAgainOnAnotherConnection() throws SQLException {
        try (HikariDataSource pool = pool(true)) {
            Connection before;
            try (Connection connection = pool.getConnection()) {
                before = driversOwn(connection);
                insert(connection, 11);
                connection.commit();
                insert(connection, 12);
                thief.steal(AnswerThief.Steal.REQUEST);
                assertState("40001", connection::commit);
            }
            try (Connection connection = pool.getConnection()) {
                assertThat(driversOwn(connection)).isNotSameAs(before);
                insert(connection, 12);
                connection.commit();
            }
        }
    }

    private static void insert(Connection connection, int id) throws SQLException {
        connection.setAutoCommit(false);
        try (Statement statement = connection.createStatement()) {
            statement.executeUpdate("INSERT INTO T VALUES (" + id + ")");
        }
    }

    @ParameterizedTest
    @CsvSource({
        "40001, DO_NOT_EVICT",
        "0A000, DO_NOT_EVICT",
        "25006, DO_NOT_EVICT",
        "23505, DO_NOT_EVICT",
        ", DO_NOT_EVICT",
        "08006, MUST_EVICT",
        "08007, MUST_EVICT",
        "08001, MUST_EVICT",
        "57P01, MUST_EVICT"
    })
    void errorsAreJudgedByTheirState(String state, Override judgement) {
        HikariExceptionOverride override = new HikariExceptionOverride();
        assertThat(override.adjudicate(new SQLException("", state))).isEqualTo(judgement);
        SQLException first = new SQLException("", "40001");
        first.setNextException(new SQLException("", state));
        assertThat(override.adjudicate(first)).isEqualTo(judgement);
    }

    /** Those before 6.1, which Spring Boot 3.4 comes with, know two judgements. */
    @Test
    void errorsAreJudgedWithAnOlderHikariToo() throws Exception {
        Path source = directory.resolve("SQLExceptionOverride.java");
        Files.writeString(
                source,
                "package com.zaxxer.hikari; public interface SQLExceptionOverride {"
                        + " enum Override { CONTINUE_EVICT, DO_NOT_EVICT }"
                        + " default Override adjudicate(java.sql.SQLException e) { return Override.CONTINUE_EVICT; } }");
        Path classes = Files.createDirectories(directory.resolve("older"));
        assertThat(ToolProvider.getSystemJavaCompiler()
                        .run(null, null, null, "-d", classes.toString(), source.toString()))
                .isZero();
        URL ours = HikariExceptionOverride.class
                .getProtectionDomain()
                .getCodeSource()
                .getLocation();
        try (URLClassLoader loader =
                new URLClassLoader(new URL[] {classes.toUri().toURL(), ours}, ClassLoader.getPlatformClassLoader())) {
            Class<?> type = loader.loadClass(HikariExceptionOverride.class.getName());
            Object override = type.getConstructor().newInstance();
            Method adjudicate = type.getMethod("adjudicate", SQLException.class);
            assertThat(adjudicate.invoke(override, new SQLException("", "08006")))
                    .hasToString("CONTINUE_EVICT");
            assertThat(adjudicate.invoke(override, new SQLException("", "0A000")))
                    .hasToString("DO_NOT_EVICT");
        }
    }

    /** What a container does when it stops an application that has brought its drivers; the application's class loader has it, too. */
    public static final class Container implements Runnable {
        public Container() {}

        @java.lang.Override
        public void run() {
            for (Driver driver : Collections.list(DriverManager.getDrivers())) {
                try {
                    DriverManager.deregisterDriver(driver);
                } catch (SQLException e) {
                    throw new IllegalStateException(e);
                }
            }
        }
    }

    @Test
    void applicationsInAContainerFindTheEnginesDriverAndLeaveNothingBehind() throws Exception {
        assertThat(DriverManager.drivers())
                .as("from now on it looks for no more")
                .isNotEmpty();
        WeakReference<ClassLoader> application = comesAndGoes();
        NodeGroup.patiently("its classes are unloaded").until(() -> {
            System.gc();
            return application.refersTo(null);
        });
    }

    private static WeakReference<ClassLoader> comesAndGoes() throws Exception {
        List<URL> classPath = new ArrayList<>();
        for (String entry : System.getProperty("surefire.test.class.path", System.getProperty("java.class.path"))
                .split(File.pathSeparator, -1)) {
            classPath.add(Path.of(entry).toUri().toURL());
        }
        try (URLClassLoader loader =
                new URLClassLoader(classPath.toArray(URL[]::new), ClassLoader.getPlatformClassLoader())) {
            Driver driver = (Driver) loader.loadClass(GordaDriver.class.getName())
                    .getConstructor()
                    .newInstance();
            try (Connection connection =
                            driver.connect("jdbc:gorda://" + group.service(0) + "/shop", new Properties());
                    Statement statement = connection.createStatement()) {
                statement.executeQuery("VALUES 1").close();
            }
            Runnable container = (Runnable)
                    loader.loadClass(Container.class.getName()).getConstructor().newInstance();
            container.run();
            return new WeakReference<>(loader);
        }
    }

    @Test
    void dataSourceWithoutAUrlOrWithAnothersSaysSo() {
        GordaDataSource source = new GordaDataSource();
        assertThatThrownBy(source::getConnection)
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("set url to jdbc:gorda:...");
        source.setUrl("jdbc:derby:x");
        assertThatThrownBy(source::getConnection)
                .isInstanceOf(SQLException.class)
                .hasMessageContaining("'jdbc:derby:x' is no URL of this data source");
    }

    @Test
    void loginTimeoutOfADataSourceIsHowLongItWaitsForAPrimary() throws SQLException {
        GordaDataSource source = new GordaDataSource();
        source.setUrl("jdbc:gorda://127.0.0.1:" + LoopbackPorts.free(1).get(0) + "/shop");
        source.setLoginTimeout(1);
        assertThat(source.getLoginTimeout()).isEqualTo(1);
        assertThatThrownBy(source::getConnection).hasMessageContaining("no primary within 1 s");
        assertThat(source.unwrap(GordaDataSource.class)).isSameAs(source);
        assertState("XJ128", () -> source.unwrap(java.util.List.class));
    }

    private static void assertState(String state, org.assertj.core.api.ThrowableAssert.ThrowingCallable call) {
        assertThatThrownBy(call)
                .isInstanceOfSatisfying(
                        SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo(state));
    }

    @Test
    void whoIsGivenToADataSourceItselfIsLoggedInWhateverTheUrlSays() throws SQLException {
        GordaDataSource source = new GordaDataSource();
        source.setUrl("jdbc:gorda://" + group.service(0) + "/shop;User=ada;PASSWORD=a;retry=0");
        source.setUser("alan");
        try (Connection one = source.getConnection();
                Connection other = source.getConnection("grace", "g;user=x")) {
            assertThat(one.getMetaData().getUserName()).isEqualTo("ada");
            assertThat(other.getMetaData().getUserName()).isEqualTo("grace");
        }
    }
}
