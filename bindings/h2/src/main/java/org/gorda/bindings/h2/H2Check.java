package org.gorda.bindings.h2;

import java.util.List;
import org.gorda.bindings.triggers.Fitness;

/** Looks for what in a database cannot be replicated, by its catalogue. Stateless. */
final class H2Check {

    private static final String OURS = " NOT IN ('INFORMATION_SCHEMA', 'GORDA')";

    static final Fitness FITNESS = new Fitness(List.of(
            new Fitness.Search(
                    true,
                    "routine",
                    "SELECT ROUTINE_SCHEMA, ROUTINE_NAME FROM INFORMATION_SCHEMA.ROUTINES WHERE ROUTINE_SCHEMA" + OURS,
                    "what its Java code does is not seen",
                    "drop it"),
            new Fitness.Search(
                    true,
                    "table",
                    "SELECT TABLE_SCHEMA, TABLE_NAME FROM INFORMATION_SCHEMA.TABLES WHERE TABLE_TYPE = 'BASE TABLE'"
                            + " AND STORAGE_TYPE NOT IN ('CACHED', 'MEMORY') AND TABLE_SCHEMA" + OURS,
                    "its rows are not kept in this database: it is linked, temporary or not persistent",
                    "drop it"),
            new Fitness.Search(
                    false,
                    "table",
                    "SELECT T.TABLE_SCHEMA, T.TABLE_NAME FROM INFORMATION_SCHEMA.TABLES T WHERE T.TABLE_TYPE = 'BASE TABLE'"
                            + " AND T.TABLE_SCHEMA" + OURS
                            + " AND NOT EXISTS (SELECT 1 FROM INFORMATION_SCHEMA.TABLE_CONSTRAINTS C WHERE C.TABLE_SCHEMA = T.TABLE_SCHEMA"
                            + " AND C.TABLE_NAME = T.TABLE_NAME AND C.CONSTRAINT_TYPE = 'PRIMARY KEY')",
                    "it has no primary key, by which replicas find a row: its rows cannot be updated or deleted",
                    "ALTER TABLE ... ADD PRIMARY KEY (...)"),
            new Fitness.Search(
                    false,
                    "column",
                    "SELECT TABLE_SCHEMA, TABLE_NAME, COLUMN_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA"
                            + OURS
                            + " AND (DATA_TYPE IN ('DECFLOAT', 'TIME WITH TIME ZONE', 'TIMESTAMP WITH TIME ZONE', 'JAVA_OBJECT', 'GEOMETRY',"
                            + " 'JSON', 'ARRAY', 'ROW') OR DATA_TYPE LIKE 'INTERVAL%')",
                    "its type cannot be replicated",
                    "store it as a type that can")));

    private H2Check() {}
}
