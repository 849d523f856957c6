package org.gorda.bindings.sqlite;

import java.util.List;
import java.util.function.Predicate;
import org.gorda.bindings.triggers.Fitness;

/** Looks for what in a database cannot be replicated, by its catalogue. Stateless. */
final class SqliteCheck {

    private static final String TABLES =
            " FROM pragma_table_list L JOIN sqlite_schema S ON S.name = L.name AND S.type = 'table' WHERE L.schema = 'main'"
                    + " AND L.name NOT LIKE 'sqlite\\_%' ESCAPE '\\' AND L.name NOT LIKE 'GORDA$%' AND ";

    private static final String TEXTS = "SELECT L.name, S.sql" + TABLES + "L.type = 'table'";

    static final Fitness FITNESS = new Fitness(List.of(
            new Fitness.Search(
                    true,
                    "table",
                    "SELECT L.name" + TABLES + "L.type = 'virtual'",
                    "its rows are not seen",
                    "drop it, and search otherwise"),
            new Fitness.Search(
                    true,
                    "table",
                    "SELECT L.name" + TABLES + "L.type = 'table' AND L.wr = 1",
                    "it has no ROWID, by which changes are seen",
                    "make it without WITHOUT ROWID"),
            new Fitness.Search(
                    true,
                    "trigger",
                    "SELECT name FROM sqlite_schema WHERE type = 'trigger' AND name NOT LIKE 'GORDA$%'"
                            + " AND sql NOT LIKE '%WHEN " + ReflectedConnection.FIRES + "()%'",
                    "it would do its work again where its effects are applied",
                    "drop it, and make it again when the database is replicated"),
            new Fitness.Search(
                    true,
                    "table",
                    TEXTS,
                    has("INITIALLY", "DEFERRED"),
                    "a constraint of it is compared at the commit, which is ordered before",
                    "make it without INITIALLY DEFERRED"),
            new Fitness.Search(
                    true,
                    "table",
                    TEXTS,
                    has("CONFLICT", "ROLLBACK"),
                    "a conflict ends the transaction, and what follows would be committed by itself",
                    "make it without ON CONFLICT ROLLBACK"),
            new Fitness.Search(
                    true,
                    "table",
                    TEXTS,
                    has("CONFLICT", "REPLACE"),
                    "rows that a conflict deletes are not seen",
                    "make it without ON CONFLICT REPLACE"),
            new Fitness.Search(
                    false,
                    "table",
                    "SELECT L.name" + TABLES
                            + "L.type = 'table' AND NOT EXISTS (SELECT 1 FROM pragma_table_xinfo(L.name) C WHERE C.pk > 0)",
                    "it has no primary key, by which replicas find a row: its rows cannot be updated or deleted",
                    "make it with a primary key")));

    private SqliteCheck() {}

    /** As clients are refused it: names and texts have such words, too. */
    private static Predicate<String> has(String... keywords) {
        return sql -> SqliteStatements.follow(SqliteLexer.tokens(sql), keywords);
    }
}
