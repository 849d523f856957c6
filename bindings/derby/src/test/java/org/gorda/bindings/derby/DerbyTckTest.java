package org.gorda.bindings.derby;

import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.time.Duration;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.tck.BindingTck;
import org.junit.jupiter.api.io.TempDir;

class DerbyTckTest extends BindingTck {

    @TempDir
    Path directory;

    @Override
    protected DatabaseBinding binding() {
        return new DerbyBinding();
    }

    @Override
    protected DatabaseConfiguration configuration(String name) {
        return new DatabaseConfiguration(
                directory.resolve(name).toString(), Map.of(), Duration.ofMillis(200), 32 << 20, true);
    }

    @Override
    protected String binaryColumns() {
        return "BI3 CHAR(3) FOR BIT DATA, BIV VARCHAR(100) FOR BIT DATA";
    }

    @Override
    protected Set<String> constraintNames(ReflectedDatabase database) throws SQLException {
        Set<String> names = new TreeSet<>();
        try (Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement();
                ResultSet rows =
                        statement.executeQuery("SELECT CONSTRAINTNAME FROM SYS.SYSCONSTRAINTS C JOIN SYS.SYSSCHEMAS S "
                                + "ON C.SCHEMAID = S.SCHEMAID WHERE SCHEMANAME <> 'GORDA'")) {
            while (rows.next()) {
                names.add(rows.getString(1));
            }
        }
        return names;
    }
}
