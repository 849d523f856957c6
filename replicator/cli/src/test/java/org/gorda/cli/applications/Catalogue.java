package org.gorda.cli.applications;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;

/** What a replica's catalogue tells of all that programs created, with the names that Derby generated. */
final class Catalogue {

    private static final String OF_PROGRAMS = " WHERE T.SCHEMAID NOT IN "
            + "(SELECT SCHEMAID FROM SYS.SYSSCHEMAS WHERE SCHEMANAME LIKE 'SYS%' OR SCHEMANAME = 'GORDA')";

    private static final List<String> QUERIES = List.of(
            "SELECT 'table', TABLENAME, TABLETYPE, LOCKGRANULARITY FROM SYS.SYSTABLES T",
            "SELECT 'column', T.TABLENAME, COLUMNNAME, COLUMNNUMBER, COLUMNDATATYPE, COLUMNDEFAULT, "
                    + "AUTOINCREMENTSTART, AUTOINCREMENTINC "
                    + "FROM SYS.SYSCOLUMNS C JOIN SYS.SYSTABLES T ON C.REFERENCEID = T.TABLEID",
            "SELECT 'constraint', T.TABLENAME, CONSTRAINTNAME, TYPE, STATE FROM SYS.SYSCONSTRAINTS C "
                    + "JOIN SYS.SYSTABLES T ON C.TABLEID = T.TABLEID",
            "SELECT 'index', T.TABLENAME, CONGLOMERATENAME, DESCRIPTOR "
                    + "FROM SYS.SYSCONGLOMERATES C JOIN SYS.SYSTABLES T ON C.TABLEID = T.TABLEID AND ISINDEX",
            "SELECT 'view', TABLENAME, VIEWDEFINITION FROM SYS.SYSVIEWS V "
                    + "JOIN SYS.SYSTABLES T ON V.TABLEID = T.TABLEID",
            "SELECT 'trigger', TRIGGERNAME, STATE, TRIGGERDEFINITION FROM SYS.SYSTRIGGERS T",
            "SELECT 'sequence', SEQUENCENAME, STARTVALUE, INCREMENT FROM SYS.SYSSEQUENCES T");

    private Catalogue() {}

    /** Compares those of all replicas. */
    static void assertIdentical(ReplicaGroup group) throws SQLException {
        List<String> first = List.of();
        for (ReplicaProcess replica : group.replicas()) {
            List<String> found = of(group.status(replica).orElseThrow().clients());
            assertThat(found).isNotEmpty();
            if (!first.isEmpty()) {
                assertThat(found).as("catalogue of %s", replica.name()).isEqualTo(first);
            }
            first = found;
        }
    }

    private static List<String> of(String url) throws SQLException {
        List<String> found = new ArrayList<>();
        try (Connection connection = DriverManager.getConnection(url);
                Statement statement = connection.createStatement()) {
            for (String query : QUERIES) {
                try (ResultSet rows = statement.executeQuery(query + OF_PROGRAMS)) {
                    int columns = rows.getMetaData().getColumnCount();
                    while (rows.next()) {
                        StringBuilder line = new StringBuilder();
                        for (int column = 1; column <= columns; column++) {
                            line.append(rows.getString(column)).append('|');
                        }
                        found.add(line.toString());
                    }
                }
            }
        }
        found.sort(null);
        return found;
    }
}
