package org.gorda.cli.applications;

import static org.assertj.core.api.Assertions.assertThat;

import java.sql.Connection;
import java.sql.Statement;
import javax.sql.DataSource;
import liquibase.Contexts;
import liquibase.LabelExpression;
import liquibase.Liquibase;
import liquibase.change.Change;
import liquibase.changelog.ChangeSet;
import liquibase.changelog.DatabaseChangeLog;
import liquibase.changelog.visitor.AbstractChangeExecListener;
import liquibase.database.Database;
import liquibase.database.DatabaseFactory;
import liquibase.database.jvm.JdbcConnection;
import liquibase.resource.ClassLoaderResourceAccessor;

/** Change sets as one runs them at the start of a program; the last is undone and done again. */
final class LiquibaseMigrations implements Application {

    private static final int CHANGE_SETS = 5;

    private final DataSource pool;

    LiquibaseMigrations(DataSource pool) {
        this.pool = pool;
    }

    private interface Work {
        void on(Liquibase liquibase) throws Exception;
    }

    private void with(Work work) throws Exception {
        try (Connection connection = pool.getConnection()) {
            Database database =
                    DatabaseFactory.getInstance().findCorrectDatabaseImplementation(new JdbcConnection(connection));
            try (Liquibase liquibase =
                    new Liquibase("liquibase/changelog.xml", new ClassLoaderResourceAccessor(), database)) {
                work.on(liquibase);
            }
        }
    }

    @Override
    public void run(Runnable midway) throws Exception {
        Steps steps = new Steps(pool);
        with(liquibase -> {
            liquibase.forceReleaseLocks(); // who was killed still holds Liquibase's own, which is a committed row
            liquibase.setChangeExecListener(new InTheThird(midway));
            liquibase.update(new Contexts(), new LabelExpression());
        });
        steps.once("undone", this::undoesTheLast);
        check();
    }

    /** What changes and deletes rows of Liquibase's table needs a key on it. */
    private void undoesTheLast() throws Exception {
        try (Connection connection = pool.getConnection();
                Statement statement = connection.createStatement()) {
            statement.execute("ALTER TABLE databasechangelog ADD PRIMARY KEY (id, author, filename)");
        }
        with(liquibase -> {
            liquibase.rollback(1, new Contexts(), new LabelExpression());
            assertThat(liquibase.listUnrunChangeSets(new Contexts(), new LabelExpression()))
                    .hasSize(1);
            liquibase.update(new Contexts(), new LabelExpression());
            liquibase.tag("done");
        });
    }

    @Override
    public void check() throws Exception {
        assertThat(Tables.number(pool, "SELECT COUNT(*) FROM databasechangelog"))
                .isEqualTo(CHANGE_SETS);
        assertThat(Tables.number(pool, "SELECT COUNT(*) FROM databasechangelog WHERE tag = 'done'"))
                .isEqualTo(1);
        assertThat(Tables.number(pool, "SELECT COUNT(*) FROM lent")).isEqualTo(2);
        assertThat(Tables.number(pool, "SELECT held FROM book WHERE title LIKE '%Ada%'"))
                .isEqualTo(3);
        assertThat(Tables.number(pool, "SELECT COUNT(*) FROM shelf")).isZero();
    }

    /** Called in the third change set when its table is made and filled. */
    private static final class InTheThird extends AbstractChangeExecListener {
        private final Runnable midway;
        private int changes;

        InTheThird(Runnable midway) {
            this.midway = midway;
        }

        @Override
        public void ran(Change change, ChangeSet changeSet, DatabaseChangeLog changeLog, Database database) {
            if (changeSet.getId().equals("3") && ++changes == 2) {
                midway.run();
            }
        }
    }
}
