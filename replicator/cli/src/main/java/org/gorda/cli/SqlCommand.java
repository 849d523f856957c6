package org.gorda.cli;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Callable;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(name = "sql", mixinStandardHelpOptions = true, description = "Runs one SQL statement and shows what it gives.")
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class SqlCommand implements Callable<Integer> {

    @Mixin
    private Output output = new Output();

    @Option(
            names = "--url",
            required = true,
            description = "The database: jdbc:gorda://HOST:PORT,.../DB, jdbc:gorda:derby:PATH;... or any other.")
    private String url = "";

    @Parameters(paramLabel = "SQL", description = "The statement.")
    private String sql = "";

    /** What the command ends with: rows or a count. */
    private record Report(List<String> columns, List<List<@Nullable String>> rows, int updated) {}

    @Override
    public Integer call() throws SQLException {
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            Report report;
            if (statement.execute(sql.strip().replaceFirst(";$", ""))) {
                try (ResultSet rows = statement.getResultSet()) {
                    report = read(rows);
                }
            } else {
                report = new Report(List.of(), List.of(), Math.max(0, statement.getUpdateCount()));
                output.line(report.updated() == 1 ? "1 row changed" : report.updated() + " rows changed");
            }
            output.result(report);
        }
        return 0;
    }

    private Report read(ResultSet rows) throws SQLException {
        ResultSetMetaData meta = rows.getMetaData();
        List<String> columns = new ArrayList<>();
        for (int i = 1; i <= meta.getColumnCount(); i++) {
            columns.add(meta.getColumnLabel(i));
        }
        output.line(String.join("\t", columns));
        List<List<@Nullable String>> all = new ArrayList<>();
        while (rows.next()) {
            List<@Nullable String> row = new ArrayList<>();
            for (int i = 1; i <= columns.size(); i++) {
                row.add(rows.getString(i));
            }
            if (output.json()) {
                all.add(row);
            } else {
                output.line(String.join("\t", row.stream().map(String::valueOf).toList()));
            }
        }
        return new Report(columns, all, 0);
    }
}
