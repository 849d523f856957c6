package org.gorda.bindings.postgresql;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.List;
import org.gorda.replicator.core.ReplicationProtocol;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

/** Behind a change of the schema, rows are captured as the tables are that it has changed, also where it is not written which they are. */
@Timeout(240)
class ChangedTablesTest extends ThreeReplicas {

    /** What they tell of is in their arguments; one that is made anew has another number. */
    private static final String TRIGGERS =
            "SELECT string_agg(concat(tgrelid, ' ', oid, ' ', tgname, ' ', tgenabled, ' ', encode(tgargs, 'escape')), ', ' ORDER BY oid)"
                    + " FROM pg_catalog.pg_trigger WHERE NOT tgisinternal";

    private static final List<List<String>> CHANGES = List.of(
            List.of("CREATE TABLE parent (id INTEGER PRIMARY KEY, name TEXT)"),
            List.of("CREATE TABLE child (id SERIAL PRIMARY KEY, parent INTEGER REFERENCES parent)"),
            List.of("ALTER TABLE parent RENAME COLUMN id TO number"),
            List.of("ALTER TABLE parent RENAME TO mother"),
            List.of(
                    "CREATE TABLE grandchild (id INTEGER PRIMARY KEY, child INTEGER REFERENCES child ON DELETE CASCADE)"),
            List.of("ALTER TABLE grandchild DROP CONSTRAINT grandchild_child_fkey"),
            List.of("ALTER TABLE grandchild ADD FOREIGN KEY (child) REFERENCES child ON UPDATE CASCADE DEFERRABLE"),
            List.of("ALTER TABLE grandchild ALTER CONSTRAINT grandchild_child_fkey NOT DEFERRABLE"),
            List.of("ALTER TABLE mother ALTER COLUMN number TYPE BIGINT"),
            List.of("CREATE UNIQUE INDEX by_name ON mother (name)"),
            List.of("ALTER INDEX by_name RENAME TO named"),
            List.of("ALTER TABLE named RENAME TO by_name"),
            List.of("CREATE INDEX ON mother (lower(name))"),
            List.of("DROP INDEX mother_lower_idx"),
            List.of("ALTER TABLE mother ADD UNIQUE USING INDEX by_name"),
            List.of(
                    "ALTER TABLE mother ALTER COLUMN name SET NOT NULL, ADD COLUMN born TIMESTAMP, ADD CHECK (name <> '')"),
            List.of("ALTER TABLE mother ADD CHECK (length(name) < 100)"),
            List.of("ALTER TABLE mother DROP CONSTRAINT mother_name_check1"),
            List.of("ALTER TABLE child DROP COLUMN parent, ADD COLUMN n INTEGER DEFAULT 3"),
            List.of("CREATE TABLE log (what TEXT, id BIGINT NOT NULL)"),
            List.of("ALTER TABLE log ALTER COLUMN id ADD GENERATED ALWAYS AS IDENTITY"),
            List.of("ALTER TABLE log ADD PRIMARY KEY (id) DEFERRABLE"),
            List.of("ALTER TABLE log DROP CONSTRAINT log_pkey, ADD PRIMARY KEY (id)"),
            List.of(
                    "CREATE FUNCTION noted() RETURNS TRIGGER LANGUAGE plpgsql AS 'BEGIN INSERT INTO log (what) VALUES (TG_OP); RETURN NULL; END'"),
            List.of("CREATE TRIGGER noted AFTER INSERT ON child FOR EACH STATEMENT EXECUTE FUNCTION noted()"),
            List.of("DROP TRIGGER noted ON child"),
            List.of("CREATE RULE nothing AS ON DELETE TO log DO INSTEAD NOTHING"),
            List.of("DROP RULE nothing ON log"),
            List.of("ALTER TABLE log ENABLE ROW LEVEL SECURITY"),
            List.of("ALTER TABLE log DISABLE ROW LEVEL SECURITY"),
            List.of("CREATE TABLE heir (more TEXT) INHERITS (log)"),
            List.of("ALTER TABLE heir ADD PRIMARY KEY (id)"),
            List.of("ALTER TABLE log RENAME COLUMN what TO which"),
            List.of("ALTER TABLE heir NO INHERIT log"),
            List.of("CREATE TABLE part (id INTEGER PRIMARY KEY, v TEXT) PARTITION BY RANGE (id)"),
            List.of("CREATE TABLE part1 PARTITION OF part FOR VALUES FROM (0) TO (10)"),
            List.of("CREATE TABLE part2 (id INTEGER PRIMARY KEY, v TEXT)"),
            List.of("ALTER TABLE part ATTACH PARTITION part2 FOR VALUES FROM (10) TO (20)"),
            List.of("ALTER TABLE part RENAME COLUMN v TO w"),
            List.of("CREATE UNIQUE INDEX ON part (id, w)"),
            List.of("CREATE TABLE of_part (id INTEGER PRIMARY KEY, part INTEGER REFERENCES part)"),
            List.of("CREATE TABLE part3 PARTITION OF part FOR VALUES FROM (20) TO (40) PARTITION BY RANGE (id)"),
            List.of("CREATE TABLE part31 PARTITION OF part3 FOR VALUES FROM (20) TO (30)"),
            List.of("ALTER TABLE part31 RENAME TO part32"),
            List.of(
                    "CREATE TABLE of_parts (id INTEGER PRIMARY KEY, part INTEGER REFERENCES part) PARTITION BY LIST (id)"),
            List.of("CREATE TABLE of_parts1 PARTITION OF of_parts FOR VALUES IN (1)"),
            List.of("ALTER TABLE part32 RENAME TO part33"),
            List.of("ALTER TABLE of_parts ADD COLUMN log BIGINT REFERENCES log ON DELETE CASCADE"),
            List.of("ALTER TABLE part ADD COLUMN more REGCLASS"),
            List.of("ALTER TABLE part3 DETACH PARTITION part33"),
            List.of("ALTER TABLE part3 ATTACH PARTITION part33 FOR VALUES FROM (20) TO (40)"),
            List.of("ALTER TABLE part33 ADD UNIQUE (w)"),
            List.of("ALTER TABLE part DETACH PARTITION part3"),
            List.of("ALTER TABLE part DETACH PARTITION part2"),
            List.of("ALTER TABLE part2 RENAME COLUMN w TO v"),
            List.of("CREATE TYPE mood AS ENUM ('sad')"),
            List.of("ALTER TABLE mother ADD COLUMN mood mood"),
            List.of("ALTER TYPE mood RENAME TO humour"),
            List.of("CREATE DOMAIN short AS VARCHAR(9)"),
            List.of("ALTER TABLE mother ADD COLUMN nick short"),
            List.of("DROP DOMAIN short CASCADE"),
            List.of("CREATE SCHEMA \"Other\""),
            List.of("CREATE TABLE \"Other\".mother (id INTEGER PRIMARY KEY)"),
            List.of("CREATE TABLE own (id INTEGER PRIMARY KEY, m INTEGER REFERENCES \"Other\".mother)"),
            List.of("ALTER SCHEMA \"Other\" RENAME TO other"),
            List.of("ALTER TABLE own SET SCHEMA other"),
            List.of("CREATE TABLE copied (LIKE child)"),
            List.of("ALTER TABLE copied ADD PRIMARY KEY (id)"),
            List.of("CREATE VIEW seen AS SELECT id FROM child", "COMMENT ON TABLE child IS 'of mother'"),
            List.of("GRANT SELECT ON child TO PUBLIC"),
            List.of("CREATE SEQUENCE alone", "ALTER SEQUENCE alone OWNED BY child.id"),
            List.of(
                    "CREATE TABLE x (id INTEGER PRIMARY KEY)",
                    "SAVEPOINT a",
                    "ALTER TABLE x ADD COLUMN gone TEXT",
                    "ROLLBACK TO a",
                    "ALTER TABLE child ADD COLUMN x INTEGER REFERENCES x ON DELETE SET NULL",
                    "INSERT INTO x VALUES (1)"),
            List.of("DROP TABLE x CASCADE"),
            List.of("DROP TABLE mother CASCADE"));

    ChangedTablesTest() {
        super(ReplicationProtocol.CERTIFICATION);
    }

    private static String triggers(Statement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery(TRIGGERS)) {
            row.next();
            return row.getString(1);
        }
    }

    @Test
    void allTablesHaveTheTriggersThatTheyNeed() throws SQLException {
        for (int n = 0; n < CHANGES.size(); n++) {
            execute(n % SIZE, CHANGES.get(n).toArray(new String[0]));
            for (int i = 0; i < SIZE; i++) {
                try (Connection around = TestServer.connect(database(i));
                        Statement statement = around.createStatement()) {
                    around.setAutoCommit(false);
                    statement.execute("SET LOCAL session_replication_role TO replica");
                    String as = triggers(statement);
                    statement.execute("SELECT gorda.adopt()"); // behind nothing that is noted: all of them
                    assertThat(triggers(statement))
                            .as("those of replica " + i + " behind " + CHANGES.get(n))
                            .isEqualTo(as);
                    around.rollback();
                }
            }
        }
        cluster.assertIdentical();
    }
}
