package org.gorda.jdbc;

import java.sql.Connection;
import java.sql.SQLException;
import java.util.Properties;
import org.gorda.gapi.tck.TestCertificates;
import org.gorda.replicator.engine.Tls;

/** Logins as the driver makes them to a replica that it has found. */
public final class Logins {

    private Logins() {}

    /** Logs in with TLS. */
    public static Connection connect(String url, Properties properties, TestCertificates trusted) throws SQLException {
        return EngineConnection.open(url, properties, new Tls(new Tls.Place(trusted.authority(), null, null)));
    }
}
