package org.gorda.replicator.node.behaviours;

import static org.gorda.replicator.node.behaviours.Seen.attempt;
import static org.gorda.replicator.node.behaviours.Seen.attempts;

import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Method;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import java.sql.ResultSetMetaData;
import java.sql.SQLException;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.Set;

/** Of what drivers tell of databases. */
final class MetaDataBehaviours {

    /** What differs between any two databases, or is looked at in a test of its own. */
    private static final Set<String> PASSED_OVER = Set.of("getURL", "isWrapperFor", "getUserName");

    private MetaDataBehaviours() {}

    /** Asks for rows. */
    private interface Ask {
        ResultSet of(DatabaseMetaData metaData) throws SQLException;
    }

    /** All that is told of columns of rows. */
    static String columns(ResultSetMetaData metaData) throws Exception {
        List<String> seen = new ArrayList<>();
        for (int i = 1; i <= metaData.getColumnCount(); i++) {
            int column = i;
            seen.add(attempts(
                    () -> metaData.getColumnName(column),
                    () -> metaData.getColumnLabel(column),
                    () -> metaData.getColumnTypeName(column),
                    () -> metaData.getColumnType(column),
                    () -> metaData.getColumnClassName(column),
                    () -> metaData.getColumnDisplaySize(column),
                    () -> metaData.getPrecision(column),
                    () -> metaData.getScale(column),
                    () -> metaData.isNullable(column),
                    () -> metaData.isAutoIncrement(column),
                    () -> metaData.isSigned(column),
                    () -> metaData.isCaseSensitive(column),
                    () -> metaData.isCurrency(column),
                    () -> metaData.isSearchable(column),
                    () -> metaData.isWritable(column),
                    () -> metaData.isReadOnly(column),
                    () -> metaData.getTableName(column),
                    () -> metaData.getSchemaName(column),
                    () -> metaData.getCatalogName(column)));
        }
        return seen + attempt(() -> metaData.getColumnName(999));
    }

    private static void rows(List<Behaviour> all, String name, Ask ask) {
        all.add(new Behaviour("metadata: " + name, (c, side) -> {
            try (ResultSet rows = ask.of(c.getMetaData())) {
                return names(rows.getMetaData()) + sorted(rows);
            }
        }));
    }

    private static String names(ResultSetMetaData metaData) throws SQLException {
        List<String> names = new ArrayList<>();
        for (int column = 1; column <= metaData.getColumnCount(); column++) {
            names.add(metaData.getColumnLabel(column));
        }
        return names.toString();
    }

    /** Sorted, without the names that Derby generates. */
    private static String sorted(ResultSet rows) throws Exception {
        String[] lines =
                Seen.rows(rows).replaceAll("SQL[-0-9a-z]{20,}", "generated").split(" \\| ");
        Arrays.sort(lines);
        return String.join("\n", lines);
    }

    static void addTo(List<Behaviour> all) {
        for (Class<?> kind : List.of(boolean.class, int.class, String.class, long.class)) {
            all.add(new Behaviour("metadata: everything that is a " + kind.getSimpleName(), (c, side) -> {
                StringBuilder seen = new StringBuilder();
                Arrays.stream(DatabaseMetaData.class.getMethods())
                        .filter(method -> method.getParameterCount() == 0 && method.getReturnType() == kind)
                        .filter(method -> !PASSED_OVER.contains(method.getName()))
                        .sorted(Comparator.comparing(Method::getName))
                        .forEach(method -> seen.append(told(method, c)));
                return seen;
            }));
        }
        all.add(new Behaviour(
                "metadata: URL and user",
                (c, side) -> side.withoutPlace(c.getMetaData().getURL())
                        + c.getMetaData().getUserName()));
        all.add(new Behaviour("metadata: its connection and wrapper", (c, side) -> {
            DatabaseMetaData metaData = c.getMetaData();
            return attempts(
                    () -> metaData.getConnection() == c,
                    () -> metaData.isWrapperFor(DatabaseMetaData.class),
                    () -> metaData.unwrap(DatabaseMetaData.class) == metaData,
                    () -> metaData.unwrap(List.class),
                    metaData::getRowIdLifetime);
        }));
        all.add(new Behaviour("metadata: what is supported of rows", (c, side) -> {
            StringBuilder seen = new StringBuilder();
            for (int type : new int[] {1003, 1004, 1005}) {
                seen.append(attempts(
                        () -> c.getMetaData().supportsResultSetType(type),
                        () -> c.getMetaData().supportsResultSetConcurrency(type, ResultSet.CONCUR_UPDATABLE),
                        () -> c.getMetaData().ownUpdatesAreVisible(type),
                        () -> c.getMetaData().othersDeletesAreVisible(type),
                        () -> c.getMetaData().updatesAreDetected(type),
                        () -> c.getMetaData().deletesAreDetected(type)));
            }
            return seen;
        }));
        all.add(new Behaviour(
                "metadata: what is supported of isolation and conversion",
                (c, side) -> attempts(
                        () -> c.getMetaData().supportsTransactionIsolationLevel(8),
                        () -> c.getMetaData().supportsTransactionIsolationLevel(0),
                        () -> c.getMetaData().supportsConvert(),
                        () -> c.getMetaData().supportsConvert(4, 12),
                        () -> c.getMetaData().supportsResultSetHoldability(1))));
        rows(all, "tables", m -> m.getTables(null, "APP", "%", null));
        rows(all, "tables of a type and pattern", m -> m.getTables(null, "APP", "C%", new String[] {"VIEW"}));
        rows(all, "tables of no schema", m -> m.getTables(null, "", "%", null));
        rows(all, "system tables", m -> m.getTables(null, "SYS", "SYSTABLES", null));
        rows(all, "columns", m -> m.getColumns(null, "APP", "K%", "%"));
        rows(all, "columns of a view", m -> m.getColumns(null, "APP", "CHEAP", null));
        rows(all, "primary keys", m -> m.getPrimaryKeys(null, "APP", "ITEM"));
        rows(all, "primary keys of nothing", m -> m.getPrimaryKeys(null, "APP", "NOTHING"));
        rows(all, "indexes", m -> m.getIndexInfo(null, "APP", "ITEM", false, true));
        rows(all, "unique indexes", m -> m.getIndexInfo(null, "APP", "ITEM", true, true));
        rows(all, "imported keys", m -> m.getImportedKeys(null, "APP", "PART"));
        rows(all, "exported keys", m -> m.getExportedKeys(null, "APP", "ITEM"));
        rows(all, "cross references", m -> m.getCrossReference(null, "APP", "ITEM", null, "APP", "PART"));
        rows(all, "procedures", m -> m.getProcedures(null, "APP", "%"));
        rows(all, "procedure columns", m -> m.getProcedureColumns(null, "APP", "DOUBLED", "%"));
        rows(all, "functions", m -> m.getFunctions(null, "APP", "%"));
        rows(all, "function columns", m -> m.getFunctionColumns(null, "APP", "HALF", "%"));
        rows(all, "schemas", DatabaseMetaData::getSchemas);
        rows(all, "schemas of a pattern", m -> m.getSchemas(null, "APP"));
        rows(all, "catalogs", DatabaseMetaData::getCatalogs);
        rows(all, "table types", DatabaseMetaData::getTableTypes);
        rows(all, "types", DatabaseMetaData::getTypeInfo);
        rows(all, "user-defined types", m -> m.getUDTs(null, "APP", "%", null));
        rows(all, "best row identifier", m -> m.getBestRowIdentifier(null, "APP", "ITEM", 1, true));
        rows(all, "version columns", m -> m.getVersionColumns(null, "APP", "ITEM"));
        rows(all, "table privileges", m -> m.getTablePrivileges(null, "APP", "ITEM"));
        rows(all, "column privileges", m -> m.getColumnPrivileges(null, "APP", "ITEM", "%"));
        rows(all, "client info properties", DatabaseMetaData::getClientInfoProperties);
        rows(all, "super tables and types", m -> m.getSuperTables(null, "APP", "ITEM"));
        rows(all, "attributes", m -> m.getAttributes(null, "APP", "%", "%"));
        all.add(new Behaviour(
                "metadata: pseudo columns",
                (c, side) -> attempt(() -> c.getMetaData().getPseudoColumns(null, "APP", "ITEM", "%"))));
        all.add(new Behaviour(
                "metadata: no table given",
                (c, side) -> attempts(
                        () -> c.getMetaData().getPrimaryKeys(null, "APP", null),
                        () -> c.getMetaData().getIndexInfo(null, "APP", null, false, false))));
        all.add(new Behaviour("metadata: its rows", (c, side) -> {
            try (ResultSet rows = c.getMetaData().getTables(null, "APP", "ITEM", null)) {
                return attempts(
                        rows::next,
                        () -> rows.getString("TABLE_NAME"),
                        rows::getType,
                        rows::getConcurrency,
                        () -> rows.getStatement() == null,
                        () -> rows.unwrap(ResultSet.class) == rows,
                        rows::next);
            }
        }));
        all.add(new Behaviour("metadata: leaves an open transaction alone", (c, side) -> {
            c.setAutoCommit(false);
            Seen.update(c, "DELETE FROM PART");
            c.getMetaData().getTables(null, "APP", "ITEM", null).close();
            c.rollback();
            return Seen.query(c, "SELECT COUNT(*) FROM PART");
        }));
    }

    private static String told(Method method, java.sql.Connection connection) {
        try {
            return method.getName() + "=" + method.invoke(connection.getMetaData()) + "\n";
        } catch (InvocationTargetException e) {
            return method.getName() + " " + e.getCause().getClass().getSimpleName() + "\n";
        } catch (ReflectiveOperationException | SQLException e) {
            throw new AssertionError(e);
        }
    }
}
