package org.gorda.cli;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(
        name = "uninstall",
        mixinStandardHelpOptions = true,
        description = {
            "Takes all out of a database that its replica has put there, with its place in the order: the database is used without replicas from"
                    + " then on. Nothing that is the application's is touched.",
            "Needs the privileges that a replica has, and that no replica has the database open."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class UninstallCommand implements Callable<Integer> {

    @Mixin
    private Output output = new Output();

    @Parameters(
            paramLabel = "URL",
            description = "The database, not by a replica: jdbc:postgresql://HOST:PORT/DB?user=USER.")
    private String url = "";

    /** What the command ends with. */
    private record Report(String database, boolean installed) {}

    @Override
    public Integer call() throws SQLException {
        try (Connection connection = DriverManager.getConnection(url)) {
            KnownDatabase database = KnownDatabase.of(connection);
            database.installed().uninstall(connection);
            output.line(database.name() + " uninstalled: anybody can change it, and it is no replica any more");
            output.result(new Report(database.name(), false));
            return 0;
        }
    }
}
