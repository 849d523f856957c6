package org.gorda.jdbc;

import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.util.ArrayList;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;

/**
 * A URL's tail, {@code HEAD;key=value;...}, together with the properties given beside it. Immutable.
 *
 * @param head what stands before the first semicolon
 * @param values the properties, over which what the URL says wins
 */
record UrlSettings(String head, Map<String, String> values) {

    static UrlSettings parse(String tail, Properties info) throws SQLException {
        List<String> parts = new ArrayList<>(List.of(tail.split(";", -1)));
        String head = parts.remove(0);
        Map<String, String> values = new LinkedHashMap<>();
        for (String name : info.stringPropertyNames()) {
            values.put(name, info.getProperty(name));
        }
        for (String part : parts) {
            int equals = part.indexOf('=');
            if (equals > 0) {
                values.put(part.substring(0, equals).strip(), part.substring(equals + 1));
            } else if (!part.isBlank()) {
                throw bad("'" + part + "' in the URL is not key=value");
            }
        }
        return new UrlSettings(head, values);
    }

    static SQLException bad(String message) {
        return new SQLNonTransientConnectionException(message, "08001");
    }
}
