package org.gorda.cli;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.stream.Collectors;
import java.util.stream.Stream;
import org.gorda.bench.DatabaseServer;
import org.gorda.bench.workload.BenchException;

/**
 * PostgreSQL without GORDA: one server, or one with standbys to which it replicates synchronously. A commit is acknowledged once so many
 * standbys have it on disk that a majority of all servers has, as {@code durability=disk} has it. Confined to one thread but for its end.
 */
final class PostgresAlone implements DatabaseServer {

    private final String name;
    private final PostgresServer primary;
    private final List<PostgresServer> standbys = new ArrayList<>();

    PostgresAlone(Path directory, String database, int standbys) {
        this.name = database;
        this.primary = new PostgresServer(directory.resolve("primary"), database);
        for (int i = 1; i <= standbys; i++) {
            this.standbys.add(new PostgresServer(directory.resolve(standby(i)), database));
        }
    }

    private static String standby(int number) {
        return "standby" + number;
    }

    @Override
    public String database() {
        return primary.database();
    }

    @Override
    public void start() {
        primary.start();
        createDatabase();
        if (!standbys.isEmpty()) {
            primary.stop();
            makeStandbys();
            standbys.forEach(PostgresServer::start);
            primary.start();
        }
    }

    private void createDatabase() {
        String url = "jdbc:postgresql://127.0.0.1:" + primary.port() + "/postgres?user=" + PostgresEngine.USER;
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE DATABASE " + name);
        } catch (SQLException e) {
            throw new BenchException("SQLSTATE " + e.getSQLState() + ": " + e.getMessage(), e);
        }
    }

    /** From copies of the primary's files while it does not run, which needs no program that is not there. */
    private void makeStandbys() {
        try {
            for (int i = 0; i < standbys.size(); i++) {
                Path data = standbys.get(i).data();
                copy(primary.data(), data);
                Files.createFile(data.resolve("standby.signal"));
                set(
                        data,
                        "primary_conninfo = 'host=127.0.0.1 port=" + primary.port() + " user=" + PostgresEngine.USER
                                + " application_name=" + standby(i + 1) + "'");
            }
            String names = Stream.iterate(1, i -> i + 1)
                    .limit(standbys.size())
                    .map(PostgresAlone::standby)
                    .collect(Collectors.joining(", "));
            set(primary.data(), "synchronous_standby_names = 'ANY " + standbys.size() / 2 + " (" + names + ")'");
        } catch (IOException | UncheckedIOException e) {
            throw new BenchException("no standby can be made in " + primary.data() + ": " + e, e);
        }
    }

    private static void set(Path data, String line) throws IOException {
        Files.writeString(data.resolve("postgresql.conf"), line + System.lineSeparator(), StandardOpenOption.APPEND);
    }

    private static void copy(Path from, Path to) throws IOException {
        Files.createDirectories(to.getParent());
        try (Stream<Path> all = Files.walk(from)) {
            for (Path each : (Iterable<Path>) all::iterator) {
                Files.copy(each, to.resolve(from.relativize(each).toString()), StandardCopyOption.COPY_ATTRIBUTES);
            }
        }
    }

    @Override
    public void kill() {
        primary.kill();
        standbys.forEach(PostgresServer::kill);
    }

    @Override
    public Duration cpu() {
        return standbys.stream().map(PostgresServer::cpu).reduce(primary.cpu(), Duration::plus);
    }

    @Override
    public void stop() {
        primary.stop();
        standbys.forEach(PostgresServer::stop);
    }
}
