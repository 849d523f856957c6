package org.gorda.bindings.derby;

import java.lang.reflect.Field;
import java.util.Objects;
import java.util.Properties;
import org.apache.derby.catalog.UUID;
import org.apache.derby.iapi.sql.Statement;
import org.apache.derby.iapi.sql.dictionary.SchemaDescriptor;
import org.apache.derby.iapi.sql.execute.ConstantAction;
import org.jspecify.annotations.Nullable;

/** What Derby's own objects know and have no method to tell. Thread-safe. */
final class DerbyFields {

    private static final Accessor TARGET_PROPERTIES = new Accessor("targetProperties");
    private static final Accessor TARGET_TABLE = new Accessor("targetUUID");
    private static final Accessor COMPILATION_SCHEMA = new Accessor("compilationSchema");

    private DerbyFields() {}

    /** The properties that a statement that changes rows gives for its table. */
    static @Nullable Properties targetProperties(ConstantAction action) {
        return (Properties) TARGET_PROPERTIES.of(action);
    }

    /** The identity of the table whose rows a statement changes. */
    static UUID targetTable(ConstantAction action) {
        return (UUID) Objects.requireNonNull(TARGET_TABLE.of(action));
    }

    /** The schema in which names without one were looked for when the statement was compiled; null if it was none. */
    static @Nullable SchemaDescriptor compilationSchema(Statement statement) {
        return (SchemaDescriptor) COMPILATION_SCHEMA.of(statement);
    }

    /** A field of that name, of whatever class. */
    private static final class Accessor extends ClassValue<Field> {

        private final String name;

        Accessor(String name) {
            this.name = name;
        }

        @Override
        protected Field computeValue(Class<?> type) {
            for (Class<?> at = type; at != null; at = at.getSuperclass()) {
                for (Field field : at.getDeclaredFields()) {
                    if (field.getName().equals(name)) {
                        field.setAccessible(true);
                        return field;
                    }
                }
            }
            throw new IllegalStateException(type + " has no " + name + ": unknown Derby version");
        }

        @Nullable
        Object of(Object owner) {
            try {
                return get(owner.getClass()).get(owner);
            } catch (IllegalAccessException e) {
                throw new IllegalStateException(e);
            }
        }
    }
}
