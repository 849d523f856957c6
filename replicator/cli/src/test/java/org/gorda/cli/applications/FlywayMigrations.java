package org.gorda.cli.applications;

import static org.assertj.core.api.Assertions.assertThat;

import javax.sql.DataSource;
import org.flywaydb.core.Flyway;
import org.flywaydb.core.api.callback.BaseCallback;
import org.flywaydb.core.api.callback.Callback;
import org.flywaydb.core.api.callback.Context;
import org.flywaydb.core.api.callback.Event;

/** Migrations as one runs them at the start of a program: of a schema that was there before Flyway, and of an empty one. */
final class FlywayMigrations implements Application {

    private static final int MIGRATIONS = 4;

    private final DataSource pool;

    FlywayMigrations(DataSource pool) {
        this.pool = pool;
    }

    static Flyway flyway(DataSource pool, Callback... callbacks) {
        return Flyway.configure()
                .dataSource(pool)
                .locations("classpath:migrations")
                .baselineOnMigrate(true)
                .baselineVersion("0")
                .cleanDisabled(false)
                .callbacks(callbacks)
                .load();
    }

    @Override
    public void run(Runnable midway) throws Exception {
        Tables.create(pool, "CREATE TABLE legacy (id INTEGER PRIMARY KEY)");
        Flyway flyway = flyway(pool, new InTheThird(midway));
        flyway.migrate();
        check();
        flyway.clean();
        assertThat(flyway(pool).migrate().migrationsExecuted).isEqualTo(MIGRATIONS);
    }

    @Override
    public void check() throws Exception {
        Flyway flyway = flyway(pool);
        assertThat(flyway.validateWithResult().validationSuccessful).isTrue();
        assertThat(flyway.migrate().migrationsExecuted).isZero();
        assertThat(Tables.number(pool, "SELECT COUNT(*) FROM customer")).isEqualTo(3);
        assertThat(Tables.number(pool, "SELECT COUNT(*) FROM orders")).isEqualTo(4);
        assertThat(Tables.number(pool, "SELECT COUNT(*) FROM order_line")).isEqualTo(6);
        assertThat(Tables.number(pool, "SELECT COUNT(*) FROM audit")).isEqualTo(1);
        assertThat(Tables.number(pool, "SELECT COUNT(*) FROM tag")).isEqualTo(2);
    }

    /** Called when the third migration's statements have run and it is not committed. */
    private static final class InTheThird extends BaseCallback {
        private final Runnable midway;

        InTheThird(Runnable midway) {
            this.midway = midway;
        }

        @Override
        public boolean supports(Event event, Context context) {
            return event == Event.AFTER_EACH_MIGRATE;
        }

        @Override
        public void handle(Event event, Context context) {
            if (context.getMigrationInfo().getVersion().getVersion().equals("3")) {
                midway.run();
            }
        }
    }
}
