package org.gorda.bindings.h2;

import java.nio.file.Path;
import org.gorda.bindings.triggers.DatabaseDirectory;
import org.gorda.gapi.ReflectionException;

/** The directory of a database, which has one file. Stateless. */
final class H2Files {

    private static final String NAME = "database";

    /** The one file. */
    static final String FILE = NAME + ".mv.db";

    static final DatabaseDirectory DIRECTORY = new DatabaseDirectory("H2", FILE);

    private H2Files() {}

    /** The database as H2's URLs name it. */
    static String url(String location) {
        if (location.indexOf(';') >= 0) {
            throw new ReflectionException(
                    "an H2 database's directory has no ';' in its name, behind which H2 would read settings: "
                            + location);
        }
        return "jdbc:h2:file:" + Path.of(location).toAbsolutePath().resolve(NAME);
    }
}
