package org.gorda.bindings.sqlite;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import java.util.Random;
import org.gorda.bindings.triggers.Dialect.Kind;
import org.junit.jupiter.api.Test;

/** What the lexer takes for one statement SQLite does so, too. */
class SqliteStatementsTest {

    private static final List<String> PIECES = List.of(
            "'",
            "''",
            "\"",
            "`",
            "[",
            "]",
            "--",
            "/*",
            "*/",
            "/",
            "-",
            "*",
            "\n",
            "\r",
            "\f",
            "\u000b",
            "\u00a0",
            "\u2028",
            "\ufeff",
            "\0",
            ";",
            ";",
            " ",
            "(",
            ")",
            "SELECT 1",
            "VALUES (1)",
            "AS A",
            "x'ab'",
            "?",
            ":a",
            "$b",
            "#",
            "@c(",
            "$d('",
            "::",
            "\\",
            "INSERT INTO T VALUES (1)",
            "INSERT INTO T VALUES (2)",
            "WITH X AS (SELECT 1)",
            "END",
            "EXPLAIN");

    @Test
    void noStatementHidesInAnother() throws SQLException {
        Random random = new Random(7);
        int run = 0;
        try (Connection connection = DriverManager.getConnection("jdbc:sqlite::memory:");
                Statement statement = connection.createStatement()) {
            statement.executeUpdate("CREATE TABLE T (A INTEGER)");
            for (int i = 0; i < 100_000; i++) {
                StringBuilder text = new StringBuilder();
                for (int piece = random.nextInt(9); piece >= 0; piece--) {
                    text.append(PIECES.get(random.nextInt(PIECES.size())));
                }
                Kind kind;
                try {
                    kind = SqliteStatements.kind(text.toString());
                } catch (SQLException refused) {
                    continue;
                }
                try {
                    statement.executeUpdate(text.toString());
                    run++;
                } catch (SQLException wrong) {
                    // What was done until then counts.
                }
                try (ResultSet rows = statement.executeQuery("SELECT COUNT(*) FROM T")) {
                    rows.next();
                    assertThat(rows.getInt(1)).as("%s: %s", kind, text).isLessThanOrEqualTo(kind == Kind.ROWS ? 1 : 0);
                }
                statement.executeUpdate("DELETE FROM T");
            }
        }
        assertThat(run).as("texts that SQLite understands").isGreaterThan(1000);
    }

    /** In the name of a parameter SQLite takes quotes for letters. */
    @Test
    void noStatementHidesInAParameter() throws SQLException {
        for (String sql : List.of(
                "UPDATE T SET V = $a('); COMMIT; INSERT INTO T VALUES (99, 'x'); --')",
                "SELECT $a('); COMMIT; INSERT INTO T VALUES (99, 'x'); COMMIT; BEGIN; --')",
                "SELECT @a('); COMMIT; --')",
                "SELECT :1::a('); COMMIT; --')",
                "SELECT #é$::('); COMMIT; --')",
                "INSERT OR \u000bREPLACE INTO T VALUES (1, 'x')",
                "CREATE TABLE U (ID TEXT PRIMARY KEY) WITHOUT \u000bROWID")) {
            assertThatThrownBy(() -> SqliteStatements.kind(sql))
                    .as(sql)
                    .isInstanceOfSatisfying(
                            SQLException.class, e -> assertThat(e.getSQLState()).isEqualTo("0A000"));
        }
        for (String sql : List.of(
                "INSERT INTO A$B(C$) VALUES (:a, $b, @c, '$d(', '\u000b')",
                "UPDATE T SET A = :a + f$(1), B = ?1 -- $e(::",
                "DELETE FROM T WHERE A IN(@a) AND B IN (:b) AND C = $c AND(D)")) {
            assertThat(SqliteStatements.kind(sql)).as(sql).isEqualTo(Kind.ROWS);
        }
    }

    @Test
    void clientsTriggersAskWhetherTheyFire() {
        assertThat(SqliteStatements.executed("CREATE TRIGGER T AFTER INSERT ON A BEGIN SELECT 1; END"))
                .isEqualTo("CREATE TRIGGER T AFTER INSERT ON A WHEN gorda_fires() BEGIN SELECT 1; END");
        assertThat(SqliteStatements.executed(
                        "create trigger if not exists \"when\" before delete on [begin] for each row when OLD.A OR OLD.B"
                                + " begin SELECT CASE WHEN 1 THEN 2 END; end;"))
                .isEqualTo(
                        "create trigger if not exists \"when\" before delete on [begin] for each row WHEN gorda_fires()"
                                + " AND ( OLD.A OR OLD.B ) begin SELECT CASE WHEN 1 THEN 2 END; end;");
        assertThat(SqliteStatements.executed("CREATE TABLE TRIGGERS (A)")).isEqualTo("CREATE TABLE TRIGGERS (A)");
    }
}
