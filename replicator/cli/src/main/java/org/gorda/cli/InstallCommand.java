package org.gorda.cli;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(
        name = "install",
        mixinStandardHelpOptions = true,
        description = {
            "Puts into a database what its replica needs there, as the replica does itself when it opens it first. From then on only connections of"
                    + " a replica can change the database; 'gorda check' lists before what cannot be replicated.",
            "Needs the privileges that a replica has, and that no replica has the database open."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class InstallCommand implements Callable<Integer> {

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
            database.installed().install(connection);
            output.line(database.name() + " installed: from now on only connections of a replica can change it");
            output.result(new Report(database.name(), true));
            return 0;
        }
    }
}
