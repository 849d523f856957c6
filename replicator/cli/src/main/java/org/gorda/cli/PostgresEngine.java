package org.gorda.cli;

import java.nio.file.Path;
import java.util.List;
import org.gorda.bench.DatabaseServer;
import org.gorda.bench.ServerEngine;

/** PostgreSQL, by servers that come with the command. Immutable. */
final class PostgresEngine implements ServerEngine {

    static final String KEY = "postgresql";

    /** A superuser of each server. */
    static final String USER = "postgres";

    /** Where a driver has several addresses it looks for the primary at each connection anew, and goes on where nobody answers. */
    private static final String FAILOVER =
            "&targetServerType=primary&loadBalanceHosts=true&hostRecheckSeconds=0&connectTimeout=5&loginTimeout=10";

    @Override
    public String name() {
        return "PostgreSQL";
    }

    @Override
    public String key() {
        return KEY;
    }

    @Override
    public String user() {
        return USER;
    }

    @Override
    public DatabaseServer server(Path directory, String database) {
        return new PostgresServer(directory.resolve(KEY), database);
    }

    @Override
    public DatabaseServer alone(Path directory, String database, int standbys) {
        return new PostgresAlone(directory, database, standbys);
    }

    @Override
    public String url(DatabaseServer server) {
        return "jdbc:postgresql:" + server.database() + "?user=" + USER;
    }

    @Override
    public String url(List<String> addresses, String database) {
        return "jdbc:postgresql://" + String.join(",", addresses) + "/" + database + "?user=" + USER + FAILOVER;
    }
}
