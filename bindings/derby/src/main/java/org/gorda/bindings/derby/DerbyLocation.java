package org.gorda.bindings.derby;

import java.nio.file.InvalidPathException;
import java.nio.file.Path;
import java.util.Set;
import org.apache.derby.shared.common.reference.Attribute;
import org.apache.derby.shared.common.reference.Property;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectionException;

/**
 * Where a database is, by a configuration that a replica can have: all of the database is in its directory, which is received and replaced as a whole, and what it
 * is opened with may be said at each start again. Stateless.
 */
final class DerbyLocation {

    /** What a new database is like, and by what an encrypted one is read. */
    private static final Set<String> ATTRIBUTES = Set.of(
            Attribute.USERNAME_ATTR,
            Attribute.PASSWORD_ATTR,
            Attribute.TERRITORY,
            Attribute.COLLATION,
            Attribute.DATA_ENCRYPTION,
            Attribute.BOOT_PASSWORD,
            Attribute.CRYPTO_ALGORITHM,
            Attribute.CRYPTO_PROVIDER,
            Attribute.CRYPTO_KEY_LENGTH,
            Attribute.CRYPTO_EXTERNAL_KEY);

    /** Before the name of a database that is in no directory. */
    private static final String IN_MEMORY = "memory:";

    private DerbyLocation() {}

    /**
     * The database's directory.
     *
     * @throws ReflectionException if the database is to be opened in a way in which it cannot be replicated
     */
    static Path of(DatabaseConfiguration configuration) {
        String location = configuration.location();
        if (location.indexOf(';') >= 0) {
            throw new ReflectionException("the Derby database " + location
                    + " is named with what Derby takes for attributes, behind a semicolon: give its path alone");
        }
        for (String name : configuration.attributes().keySet()) {
            if (name.equals(Attribute.LOG_DEVICE)) {
                throw new ReflectionException(
                        "a replicated Derby database has no setting 'logDevice': " + location
                                + " would be given and received without that log, so leave it out, and put the directory on the other disk, or a link to it");
            }
            if (!ATTRIBUTES.contains(name)) {
                throw new ReflectionException("a replicated Derby database has no setting '" + name + "', only "
                        + String.join(", ", ATTRIBUTES.stream().sorted().toList()) + ": leave it out for " + location);
            }
        }
        try {
            Path directory = Path.of(location);
            String home = System.getProperty(Property.SYSTEM_HOME_PROPERTY);
            if (home != null && !directory.isAbsolute() && !location.startsWith(IN_MEMORY)) {
                throw new ReflectionException("the Derby database " + location
                        + " is somewhere else to Derby, as derby.system.home is set to " + home
                        + ", than to its replica: give its path from the root");
            }
            return directory;
        } catch (InvalidPathException e) {
            throw new ReflectionException("the Derby database " + location + " is at no path: " + e.getMessage(), e);
        }
    }
}
