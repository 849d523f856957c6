package org.gorda.bindings.derby;

import java.sql.Connection;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.gorda.gapi.Finding;
import org.gorda.gapi.TableShape;
import org.jspecify.annotations.Nullable;

/**
 * Looks through Derby's catalogue, by SQL, for what the binding refuses: by any driver, in a database that nothing of ours has open.
 * Confined to one thread.
 */
final class CatalogueCheck {

    private static final int DERBY_MAJOR = 10;
    private static final int DERBY_MINOR = 16;

    /** Of the catalogue. */
    private static final int DERBY_MINOR_LEAST = 11;

    private static final String USERS_TABLES =
            " FROM SYS.SYSTABLES T JOIN SYS.SYSSCHEMAS S ON T.SCHEMAID = S.SCHEMAID ";
    private static final String OF_USERS = "T.TABLETYPE = 'T' AND S.SCHEMANAME <> 'GORDA' ";

    private record Column(String name, int jdbcType, boolean nullable, boolean identity) {}

    /** An index, with the constraint that it is for, if it is for one. */
    private record Index(@Nullable String constraint, String type, boolean referenced, String descriptor) {

        boolean isPrimaryKey() {
            return type.equals("P");
        }

        boolean isDeferrable() {
            return descriptor.contains("DEFERRABLE");
        }

        boolean isUnique() {
            return descriptor.startsWith("UNIQUE ") && !descriptor.startsWith("UNIQUE WITH DUPLICATE NULLS");
        }

        /** From {@code UNIQUE BTREE (1, 3 DESC)}. */
        List<Integer> positions() {
            String list = descriptor.substring(descriptor.indexOf('(') + 1, descriptor.indexOf(')'));
            return Arrays.stream(list.split(",", -1))
                    .map(column -> Integer.valueOf(column.replace("DESC", "").strip()))
                    .toList();
        }
    }

    private final Connection connection;
    private final List<Finding> findings = new ArrayList<>();

    CatalogueCheck(Connection connection) {
        this.connection = connection;
    }

    List<Finding> findings() throws SQLException {
        String schema = connection.getSchema();
        connection.setSchema("SYS"); // what is written in queries has the collation of the current schema
        try {
            look();
            return findings;
        } finally {
            connection.setSchema(schema);
        }
    }

    private void look() throws SQLException {
        boolean replicated = !select(
                        "SELECT 1" + USERS_TABLES + "WHERE S.SCHEMANAME = 'GORDA' AND T.TABLENAME = 'POSITION'")
                .isEmpty();
        checkDatabase(replicated);
        Map<String, List<Column>> columns = columns();
        Map<String, List<Index>> indexes = indexes();
        for (List<String> table : select("SELECT S.SCHEMANAME, T.TABLENAME" + USERS_TABLES + "WHERE " + OF_USERS
                + "ORDER BY S.SCHEMANAME, T.TABLENAME")) {
            String name = name(table.get(0), table.get(1));
            checkTable(name, columns.getOrDefault(name, List.of()), indexes.getOrDefault(name, List.of()));
        }
        checkRoutines();
        checkTriggers();
        if (!replicated) {
            findings.add(
                    new Finding(
                            false,
                            "the database",
                            "it was not replicated yet",
                            "begin the group with this replica alone and add the others, which receive it; or shut it down and copy it to every replica before any of them is started"));
        }
    }

    private void obstacle(String object, String problem, String fix) {
        findings.add(new Finding(true, object, problem, fix));
    }

    // ------------------------------------------------------------------------------------------------- the database

    private void checkDatabase(boolean replicated) throws SQLException {
        DatabaseMetaData meta = connection.getMetaData();
        int major = meta.getDatabaseMajorVersion();
        int minor = meta.getDatabaseMinorVersion();
        if (major > DERBY_MAJOR || (major == DERBY_MAJOR && minor > DERBY_MINOR)) {
            obstacle(
                    "the database",
                    "it is served by Derby " + meta.getDatabaseProductVersion() + ", replicas run " + DERBY_MAJOR + "."
                            + DERBY_MINOR,
                    "copy its content into a database made by " + DERBY_MAJOR + "." + DERBY_MINOR);
        }
        String made = select("VALUES SYSCS_UTIL.SYSCS_GET_DATABASE_PROPERTY('DataDictionaryVersion')")
                .get(0)
                .get(0);
        if (made != null && Integer.parseInt(made.substring(made.indexOf('.') + 1)) < DERBY_MINOR_LEAST) {
            obstacle(
                    "the database",
                    "it was made by Derby " + made + ", whose identity columns take values that cannot be seen",
                    "open it once with jdbc:derby:PATH;upgrade=true, before it is copied to other replicas");
        }
        if (meta.isReadOnly()) {
            obstacle("the database", "it is read-only", "give the replica's user write access to its files");
        }
        if (!replicated
                && !select("SELECT 1 FROM SYS.SYSSCHEMAS WHERE SCHEMANAME = 'GORDA'")
                        .isEmpty()) {
            obstacle(
                    "schema \"GORDA\"",
                    "GORDA keeps its own tables in a schema of that name",
                    "move what is in it to another schema, then DROP SCHEMA \"GORDA\" RESTRICT");
        }
        for (List<String> prepared : select("SELECT GLOBAL_XID FROM SYSCS_DIAG.TRANSACTION_TABLE "
                + "WHERE GLOBAL_XID IS NOT NULL AND STATUS = 'PREPARED'")) {
            obstacle(
                    "distributed transaction " + prepared.get(0),
                    "it is prepared and not ended, and XA is not replicated",
                    "have its transaction manager commit it or roll it back");
        }
        if (isSet("derby.connection.requireAuthentication")) {
            findings.add(new Finding(
                    false,
                    "the database",
                    "it asks who opens it, and users and passwords cannot be changed while it is replicated",
                    "give each replica user and password"));
        }
    }

    private boolean isSet(String property) throws SQLException {
        String value = select("VALUES SYSCS_UTIL.SYSCS_GET_DATABASE_PROPERTY('" + property + "')")
                .get(0)
                .get(0);
        return "true".equalsIgnoreCase(value);
    }

    // ------------------------------------------------------------------------------------------------------- tables

    private void checkTable(String table, List<Column> columns, List<Index> indexes) {
        for (Column column : columns) {
            if (DerbyValues.typeOf(column.jdbcType()) == null) {
                obstacle(
                        "table " + table,
                        "its column " + TableShape.quoted(column.name()) + " is of a user-defined type",
                        "store it as a CLOB or BLOB");
            }
        }
        for (Index index : indexes) {
            if (index.isPrimaryKey() && index.isDeferrable()) {
                String constraint = TableShape.quoted(String.valueOf(index.constraint()));
                obstacle(
                        "table " + table,
                        "its primary key " + constraint + " is deferrable, so that it does not always tell rows apart",
                        drop(table, constraint) + "; " + addKey(table, constraint, names(index, columns)));
            }
        }
        if (indexes.stream().noneMatch(Index::isPrimaryKey)) {
            String fix = key(table, columns, indexes);
            obstacle(
                    "table " + table,
                    "it has no primary key, by which replicas find a row"
                            + (fix.contains(" ADD COLUMN ")
                                    ? ", and no column to be it; with a new one INSERTs must name their columns"
                                    : ""),
                    fix);
        }
    }

    /** How the table gets a primary key: from what is unique and never null, else from an identity column. */
    private static String key(String table, List<Column> columns, List<Index> indexes) {
        for (Index index : indexes) {
            boolean never = index.positions().stream()
                    .noneMatch(position -> columns.get(position - 1).nullable());
            if (!index.isUnique() || index.isDeferrable() || index.referenced() || !never) {
                continue;
            }
            String constraint = index.constraint();
            String add = "ALTER TABLE " + table + " ADD PRIMARY KEY (" + names(index, columns) + ")";
            return constraint == null
                    ? add
                    : drop(table, TableShape.quoted(constraint)) + "; "
                            + addKey(table, TableShape.quoted(constraint), names(index, columns));
        }
        String identity = columns.stream()
                .filter(Column::identity)
                .map(Column::name)
                .findFirst()
                .orElse(null);
        return identity == null
                ? "ALTER TABLE " + table + " ADD COLUMN ROW_ID BIGINT GENERATED ALWAYS AS IDENTITY; ALTER TABLE "
                        + table + " ADD PRIMARY KEY (ROW_ID)"
                : "ALTER TABLE " + table + " ADD PRIMARY KEY (" + TableShape.quoted(identity) + ")";
    }

    private static String drop(String table, String constraint) {
        return "ALTER TABLE " + table + " DROP CONSTRAINT " + constraint;
    }

    private static String addKey(String table, String constraint, String columns) {
        return "ALTER TABLE " + table + " ADD CONSTRAINT " + constraint + " PRIMARY KEY (" + columns + ")";
    }

    private static String names(Index index, List<Column> columns) {
        return index.positions().stream()
                .map(position -> TableShape.quoted(columns.get(position - 1).name()))
                .collect(Collectors.joining(", "));
    }

    private Map<String, List<Column>> columns() throws SQLException {
        Map<String, List<Column>> all = new TreeMap<>();
        // Ordered by schema, table and position.
        try (ResultSet rows = connection.getMetaData().getColumns(null, null, null, null)) {
            while (rows.next()) {
                all.computeIfAbsent(
                                name(rows.getString("TABLE_SCHEM"), rows.getString("TABLE_NAME")),
                                table -> new ArrayList<>())
                        .add(new Column(
                                rows.getString("COLUMN_NAME"),
                                rows.getInt("DATA_TYPE"),
                                rows.getInt("NULLABLE") != DatabaseMetaData.columnNoNulls,
                                "YES".equals(rows.getString("IS_AUTOINCREMENT"))));
            }
        }
        return all;
    }

    private Map<String, List<Index>> indexes() throws SQLException {
        Map<String, List<Index>> all = new TreeMap<>();
        for (List<String> row :
                select("SELECT S.SCHEMANAME, T.TABLENAME, C.CONSTRAINTNAME, C.TYPE, C.REFERENCECOUNT, G.DESCRIPTOR"
                        + USERS_TABLES + "JOIN SYS.SYSCONGLOMERATES G ON G.TABLEID = T.TABLEID "
                        + "LEFT JOIN SYS.SYSKEYS K ON K.CONGLOMERATEID = G.CONGLOMERATEID "
                        + "LEFT JOIN SYS.SYSCONSTRAINTS C ON C.CONSTRAINTID = K.CONSTRAINTID "
                        + "WHERE G.ISINDEX AND " + OF_USERS + "ORDER BY G.CONGLOMERATENAME")) {
            String type = row.get(3);
            all.computeIfAbsent(name(row.get(0), row.get(1)), table -> new ArrayList<>())
                    .add(new Index(
                            row.get(2), type == null ? "" : type, type != null && !"0".equals(row.get(4)), row.get(5)));
        }
        return all;
    }

    // ---------------------------------------------------------------------------------------- routines and triggers

    private void checkRoutines() throws SQLException {
        for (List<String> row : select(
                "SELECT S.SCHEMANAME, A.ALIAS, A.ALIASTYPE, A.JAVACLASSNAME, A.ALIASINFO "
                        + "FROM SYS.SYSALIASES A JOIN SYS.SYSSCHEMAS S ON A.SCHEMAID = S.SCHEMAID "
                        + "WHERE NOT A.SYSTEMALIAS AND A.ALIASTYPE IN ('P', 'F', 'G') "
                        + "AND S.SCHEMANAME NOT IN ('SYSCS_UTIL', 'SYSFUN', 'SYSIBM', 'SYSPROC', 'SQLJ', 'GORDA') ORDER BY 1, 2")) {
            boolean procedure = row.get(2).equals("P");
            boolean changes = row.get(4).contains("MODIFIES SQL DATA");
            String runs = "it runs on the primary alone; "
                    + (changes
                            ? "the rows that it changes are replicated, what it does outside the database is not"
                            : "what is stored of its results is replicated, what else it does is not");
            findings.add(new Finding(
                    false,
                    (procedure ? "procedure " : "function ") + name(row.get(0), row.get(1)),
                    runs,
                    "put class " + row.get(3) + " on the class path of every replica"));
        }
        for (List<String> jar : select("SELECT S.SCHEMANAME, F.FILENAME FROM SYS.SYSFILES F "
                + "JOIN SYS.SYSSCHEMAS S ON F.SCHEMAID = S.SCHEMAID ORDER BY 1, 2")) {
            findings.add(new Finding(
                    false,
                    "jar " + name(jar.get(0), jar.get(1)),
                    "it is in the database, where it cannot be replaced while that is replicated",
                    "put it on the class path of every replica instead"));
        }
    }

    private void checkTriggers() throws SQLException {
        String count = select("SELECT COUNT(*) FROM SYS.SYSTRIGGERS").get(0).get(0);
        if (!"0".equals(count)) {
            findings.add(new Finding(
                    false,
                    "triggers: " + count,
                    "they fire on the primary alone; what they change is replicated",
                    "nothing, unless they call procedures"));
        }
    }

    // -------------------------------------------------------------------------------------------------------- tools

    private static String name(String schema, String name) {
        return TableShape.quoted(schema) + "." + TableShape.quoted(name);
    }

    private List<List<String>> select(String sql) throws SQLException {
        List<List<String>> all = new ArrayList<>();
        try (Statement statement = connection.createStatement();
                ResultSet rows = statement.executeQuery(sql)) {
            while (rows.next()) {
                List<String> row = new ArrayList<>();
                for (int i = 1; i <= rows.getMetaData().getColumnCount(); i++) {
                    String value = rows.getString(i);
                    row.add(value);
                }
                all.add(row);
            }
        }
        return all;
    }
}
