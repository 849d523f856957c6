package org.gorda.jdbc;

import java.lang.reflect.Method;
import java.sql.DatabaseMetaData;
import java.sql.ResultSet;
import org.jspecify.annotations.Nullable;

/** What the engine's driver tells of the database. As a connection, for one thread at a time. */
final class ClusterMetaData extends Delegate {

    ClusterMetaData(ClusterConnection connection, EngineConnection engine, DatabaseMetaData target) {
        super(connection, engine, target);
    }

    @Override
    @Nullable
    Object delegate(Object self, Method method, Object @Nullable [] arguments) throws Throwable {
        Object result = connection.call(engine, target, method, arguments);
        if (method.getName().equals("getConnection")) {
            return connection.proxy();
        }
        return result instanceof ResultSet rows
                ? new ClusterRows(connection, engine, rows, null, null).as(ResultSet.class)
                : result;
    }
}
