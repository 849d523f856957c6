package org.gorda.bindings.hsqldb;

import java.util.List;
import org.gorda.bindings.triggers.Fitness;

/** Looks for what in a database cannot be replicated, by its catalogue. Stateless. */
final class HsqldbCheck {

    private static final String OURS = " NOT IN ('INFORMATION_SCHEMA', 'SYSTEM_LOBS', 'SQLJ', 'GORDA')";

    static final Fitness FITNESS = new Fitness(List.of(
            new Fitness.Search(
                    true,
                    "routine",
                    "SELECT ROUTINE_SCHEMA, ROUTINE_NAME FROM INFORMATION_SCHEMA.ROUTINES WHERE ROUTINE_SCHEMA" + OURS,
                    "what it does in a statement, and takes back, is not seen",
                    "drop it"),
            new Fitness.Search(
                    true,
                    "trigger",
                    "SELECT TRIGGER_SCHEMA, TRIGGER_NAME FROM INFORMATION_SCHEMA.TRIGGERS WHERE TRIGGER_SCHEMA" + OURS
                            + " AND TRIGGER_NAME NOT LIKE 'GORDA$%'",
                    "what it does in a statement, and takes back, is not seen",
                    "drop it"),
            new Fitness.Search(
                    true,
                    "table",
                    "SELECT TABLE_SCHEM, TABLE_NAME FROM INFORMATION_SCHEMA.SYSTEM_TABLES WHERE TABLE_TYPE = 'TABLE'"
                            + " AND HSQLDB_TYPE <> 'MEMORY' AND TABLE_SCHEM" + OURS,
                    "its rows are in a file of their own, which a crash may leave otherwise than the log",
                    "SET TABLE ... TYPE MEMORY"),
            new Fitness.Search(
                    true,
                    "table",
                    "SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME FROM INFORMATION_SCHEMA.PERIODS WHERE TABLE_SCHEMA"
                            + OURS,
                    "each replica would compute the times of its rows, and keep old ones, for itself",
                    "make it anew without PERIOD FOR"),
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
                    "table",
                    "SELECT DISTINCT TABLE_SCHEMA, TABLE_NAME FROM INFORMATION_SCHEMA.COLUMNS WHERE TABLE_SCHEMA" + OURS
                            + " AND (DATA_TYPE LIKE '%LARGE OBJECT%' OR DATA_TYPE LIKE 'BIT%' OR DATA_TYPE LIKE 'INTERVAL%'"
                            + " OR DATA_TYPE LIKE '%WITH TIME ZONE' OR DATA_TYPE LIKE '%ARRAY%' OR DATA_TYPE = 'OTHER')",
                    "a column of it is of a type that cannot be replicated",
                    "store it as a type that can")));

    private HsqldbCheck() {}
}
