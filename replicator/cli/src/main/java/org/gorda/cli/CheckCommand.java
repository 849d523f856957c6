package org.gorda.cli;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.util.List;
import java.util.concurrent.Callable;
import org.gorda.gapi.Finding;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Parameters;

@Command(
        name = "check",
        mixinStandardHelpOptions = true,
        description = {
            "Lists what in a database cannot be replicated, with the fix for each, before it is. Changes nothing.",
            "Exits with 0 only if nothing stands in the way. What is refused statement by statement does not show in a catalogue:"
                    + " see the limits in the README."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class CheckCommand implements Callable<Integer> {

    @Mixin
    private Output output = new Output();

    @Parameters(
            paramLabel = "URL",
            description =
                    "The database: jdbc:derby:PATH, jdbc:derby://HOST:PORT/DB, jdbc:postgresql://HOST:PORT/DB?user=USER, or one of GORDA's"
                            + " URLs.")
    private String url = "";

    /** What the command ends with. */
    private record Report(String database, boolean replicable, List<Finding> findings) {}

    @Override
    public Integer call() throws SQLException {
        try (Connection connection = DriverManager.getConnection(url)) {
            String database = connection.getMetaData().getDatabaseProductName() + " "
                    + connection.getMetaData().getDatabaseProductVersion();
            List<Finding> findings = KnownDatabase.of(connection).findings();
            findings.forEach(this::tell);
            long obstacles = findings.stream().filter(Finding::obstacle).count();
            output.line(database + ": "
                    + (obstacles == 0
                            ? "nothing stands in the way"
                            : obstacles == 1 ? "1 obstacle" : obstacles + " obstacles"));
            output.result(new Report(database, obstacles == 0, findings));
            return obstacles == 0 ? 0 : 1;
        }
    }

    private void tell(Finding finding) {
        output.line((finding.obstacle() ? "OBSTACLE  " : "note      ") + finding.object() + ": " + finding.problem());
        output.line("          " + finding.fix());
    }
}
