package org.gorda.cli.applications;

import com.zaxxer.hikari.HikariConfig;
import com.zaxxer.hikari.HikariDataSource;
import java.util.function.Function;
import javax.sql.DataSource;

/** What the applications are written with. */
enum Framework {
    HIKARI(Ledger::new),
    FLYWAY(FlywayMigrations::new),
    LIQUIBASE(LiquibaseMigrations::new),
    JOOQ(JooqShop::new),
    SPRING(SpringShop::new),
    HIBERNATE(HibernateArchive::new);

    private static final int CONNECTIONS = 5;

    @SuppressWarnings("ImmutableEnumChecker") // constructors
    private final Function<DataSource, Application> application;

    Framework(Function<DataSource, Application> application) {
        this.application = application;
    }

    Application on(DataSource pool) {
        return application.apply(pool);
    }

    /** A pool as one sets it up, for a user whose schema has the framework's name. */
    HikariDataSource pool(String url, boolean readOnly) {
        HikariConfig config = new HikariConfig();
        config.setJdbcUrl(url);
        config.setUsername(name());
        config.setMaximumPoolSize(CONNECTIONS);
        config.setReadOnly(readOnly);
        config.setPoolName(name());
        return new HikariDataSource(config);
    }
}
