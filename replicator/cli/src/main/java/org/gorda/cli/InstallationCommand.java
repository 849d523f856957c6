package org.gorda.cli;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.concurrent.Callable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

/** Puts into a database what its replica needs there, or takes it out. */
@SuppressWarnings("FieldMayBeFinal") // by picocli
abstract class InstallationCommand implements Callable<Integer> {

    @Mixin
    private Output output = new Output();

    @Parameters(
            paramLabel = "URL",
            description = "The database, not by a replica: jdbc:postgresql://HOST:PORT/DB?user=USER.")
    private String url = "";

    private final boolean installs;

    InstallationCommand(boolean installs) {
        this.installs = installs;
    }

    /** What the command ends with. */
    private record Report(String database, boolean installed) {}

    @Override
    public Integer call() throws SQLException {
        try (Connection connection = DriverManager.getConnection(url)) {
            KnownDatabase database = KnownDatabase.of(connection);
            if (installs) {
                database.installed().install(connection);
                output.line(database.name() + " installed: from now on only connections of a replica can change it");
            } else {
                database.installed().uninstall(connection);
                output.line(database.name() + " uninstalled: anybody can change it, and it is no replica any more");
            }
            output.result(new Report(database.name(), installs));
            return 0;
        }
    }

    @Command(
            name = "install",
            mixinStandardHelpOptions = true,
            description = {
                "Puts into a database what its replica needs there, as the replica does itself when it opens it first. From then on only connections of"
                        + " a replica can change the database; 'gorda check' lists before what cannot be replicated.",
                "Needs the privileges that a replica has, and that no replica has the database open."
            })
    static final class Install extends InstallationCommand {
        Install() {
            super(true);
        }
    }

    @Command(
            name = "uninstall",
            mixinStandardHelpOptions = true,
            description = {
                "Takes all out of a database that its replica has put there, with its place in the order: the database is used without replicas from"
                        + " then on. Nothing that is the application's is touched.",
                "Needs the privileges that a replica has, and that no replica has the database open."
            })
    static final class Uninstall extends InstallationCommand {
        Uninstall() {
            super(false);
        }
    }
}
