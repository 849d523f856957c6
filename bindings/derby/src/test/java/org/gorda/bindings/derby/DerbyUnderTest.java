package org.gorda.bindings.derby;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.stream.Stream;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.FileTree;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionListener;
import org.gorda.gapi.tck.MetaLevel;
import org.gorda.gapi.tck.TckBinding;
import org.jspecify.annotations.Nullable;

/** Derby as the suites see it. Thread-safe. */
final class DerbyUnderTest implements TckBinding {

    /** The databases that this run has made to be copied. */
    private static final Set<Path> MADE = new HashSet<>();

    /** Of this one of the module's JVMs, which run at once. */
    private static final Path TEMPLATES = Path.of("target", "templates" + System.getProperty("tests.jvm", ""));

    private static final String OF_CLIENTS =
            "S.SCHEMANAME NOT IN ('SYS', 'SYSCAT', 'SYSCS_DIAG', 'SYSCS_UTIL', 'SYSFUN', 'SYSIBM', 'SYSPROC', 'SYSSTAT', 'GORDA')";
    private static final String TABLE = "JOIN SYS.SYSTABLES T ON T.TABLEID = X.TABLEID JOIN SYS.SYSSCHEMAS S "
            + "ON S.SCHEMAID = T.SCHEMAID AND " + OF_CLIENTS + " AND T.TABLETYPE <> 'S'";
    private static final String SCHEMA = "JOIN SYS.SYSSCHEMAS S ON S.SCHEMAID = X.SCHEMAID AND " + OF_CLIENTS;

    /** What is in Derby's catalogue, but for identities, times, and the names that nobody ever sees. */
    private static final Map<String, String> CATALOGUE = new LinkedHashMap<>();

    static {
        CATALOGUE.put("schema", "SELECT SCHEMANAME, AUTHORIZATIONID FROM SYS.SYSSCHEMAS S WHERE " + OF_CLIENTS);
        CATALOGUE.put(
                "table",
                "SELECT S.SCHEMANAME, X.TABLENAME, X.TABLETYPE, X.LOCKGRANULARITY FROM SYS.SYSTABLES X " + SCHEMA);
        CATALOGUE.put(
                "column",
                "SELECT S.SCHEMANAME, T.TABLENAME, X.COLUMNNAME, X.COLUMNNUMBER, X.COLUMNDATATYPE, X.COLUMNDEFAULT, "
                        + "X.AUTOINCREMENTSTART, X.AUTOINCREMENTINC, X.AUTOINCREMENTCYCLE FROM SYS.SYSCOLUMNS X "
                        + TABLE.replace("X.TABLEID", "X.REFERENCEID"));
        CATALOGUE.put(
                "constraint",
                "SELECT X.CONSTRAINTNAME, S.SCHEMANAME, T.TABLENAME, X.TYPE, X.STATE, C.CHECKDEFINITION, F.DELETERULE, "
                        + "F.UPDATERULE, R.CONSTRAINTNAME FROM SYS.SYSCONSTRAINTS X "
                        + "LEFT JOIN SYS.SYSCHECKS C ON C.CONSTRAINTID = X.CONSTRAINTID "
                        + "LEFT JOIN SYS.SYSFOREIGNKEYS F ON F.CONSTRAINTID = X.CONSTRAINTID "
                        + "LEFT JOIN SYS.SYSCONSTRAINTS R ON R.CONSTRAINTID = F.KEYCONSTRAINTID " + TABLE);
        CATALOGUE.put(
                "index",
                "SELECT S.SCHEMANAME, T.TABLENAME, CASE WHEN X.ISCONSTRAINT THEN '' ELSE X.CONGLOMERATENAME END, "
                        + "X.DESCRIPTOR FROM SYS.SYSCONGLOMERATES X " + TABLE + " WHERE X.ISINDEX");
        CATALOGUE.put(
                "view",
                "SELECT S.SCHEMANAME, T.TABLENAME, X.VIEWDEFINITION, X.CHECKOPTION, C.SCHEMANAME FROM SYS.SYSVIEWS X "
                        + "LEFT JOIN SYS.SYSSCHEMAS C ON C.SCHEMAID = X.COMPILATIONSCHEMAID " + TABLE);
        CATALOGUE.put(
                "trigger",
                "SELECT X.TRIGGERNAME, S.SCHEMANAME, T.TABLENAME, X.EVENT, X.FIRINGTIME, X.TYPE, X.STATE, "
                        + "X.TRIGGERDEFINITION, X.OLDREFERENCINGNAME, X.NEWREFERENCINGNAME, X.WHENCLAUSETEXT "
                        + "FROM SYS.SYSTRIGGERS X " + TABLE);
        CATALOGUE.put(
                "alias",
                "SELECT S.SCHEMANAME, X.ALIAS, X.ALIASTYPE, X.JAVACLASSNAME, X.ALIASINFO FROM SYS.SYSALIASES X "
                        + SCHEMA + " WHERE NOT X.SYSTEMALIAS");
        CATALOGUE.put(
                "sequence",
                "SELECT S.SCHEMANAME, X.SEQUENCENAME, X.SEQUENCEDATATYPE, X.STARTVALUE, X.MINIMUMVALUE, X.MAXIMUMVALUE, "
                        + "X.INCREMENT, X.CYCLEOPTION FROM SYS.SYSSEQUENCES X " + SCHEMA);
        CATALOGUE.put("role", "SELECT ROLEID, GRANTEE, GRANTOR, WITHADMINOPTION, ISDEF FROM SYS.SYSROLES");
        CATALOGUE.put(
                "table privilege",
                "SELECT S.SCHEMANAME, T.TABLENAME, X.GRANTEE, X.GRANTOR, X.SELECTPRIV, X.DELETEPRIV, X.INSERTPRIV, "
                        + "X.UPDATEPRIV, X.REFERENCESPRIV, X.TRIGGERPRIV FROM SYS.SYSTABLEPERMS X " + TABLE);
        CATALOGUE.put(
                "column privilege",
                "SELECT S.SCHEMANAME, T.TABLENAME, X.GRANTEE, X.GRANTOR, X.TYPE, X.COLUMNS FROM SYS.SYSCOLPERMS X "
                        + TABLE);
        CATALOGUE.put(
                "routine privilege",
                "SELECT S.SCHEMANAME, X.ALIAS, P.GRANTEE, P.GRANTOR, P.GRANTOPTION FROM SYS.SYSROUTINEPERMS P "
                        + "JOIN SYS.SYSALIASES X ON X.ALIASID = P.ALIASID " + SCHEMA);
        CATALOGUE.put(
                "privilege",
                "SELECT S.SCHEMANAME, X.SEQUENCENAME, P.GRANTEE, P.GRANTOR, P.PERMISSION, P.ISGRANTABLE "
                        + "FROM SYS.SYSPERMS P JOIN SYS.SYSSEQUENCES X ON X.SEQUENCEID = P.OBJECTID " + SCHEMA);
    }

    @Override
    public DatabaseBinding binding() {
        return new DerbyBinding();
    }

    /** What a killed process leaves is what is in its files: a copy of them, made while nothing is going on. */
    @Override
    public ReflectedDatabase kill(
            ReflectedDatabase running, DatabaseConfiguration configuration, TransactionListener listener) {
        Path files = Path.of(configuration.location());
        Path left = files.resolveSibling(files.getFileName() + ".left");
        try {
            copy(files, left);
            running.close();
            FileTree.delete(files);
            Files.move(left, files);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
        return binding().open(configuration, listener);
    }

    static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> all = Files.walk(from)) {
            for (Path path : all.toList()) {
                if (!path.toString().endsWith(".lck")) {
                    Files.copy(path, to.resolve(from.relativize(path)));
                }
            }
        }
    }

    /** A copy of one that was made before: Derby takes its time to make one. */
    @Override
    public void create(DatabaseConfiguration configuration, boolean privileges) throws SQLException {
        Path template = TEMPLATES.resolve(privileges ? "with-privileges" : "without");
        try {
            synchronized (MADE) {
                if (MADE.add(template)) {
                    Files.createDirectories(TEMPLATES);
                    FileTree.delete(template);
                    make(template, privileges);
                }
            }
            copy(template, Path.of(configuration.location()));
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private void make(Path database, boolean privileges) throws SQLException {
        DatabaseConfiguration configuration = configuration(
                database.toAbsolutePath().getParent(), database.getFileName().toString());
        DerbyEngine.start();
        String url = "jdbc:derby:" + configuration.location();
        try (Connection connection = DriverManager.getConnection(url + ";create=true");
                Statement statement = connection.createStatement()) {
            set(statement, "derby.locks.deadlockTimeout", "2");
            set(statement, "derby.locks.waitTimeout", "10");
            set(statement, "derby.database.sqlAuthorization", String.valueOf(privileges));
        }
        try {
            DriverManager.getConnection(url + ";shutdown=true").close();
        } catch (SQLException e) {
            if (!"08006".equals(e.getSQLState())) {
                throw e;
            }
        }
        binding().open(configuration, new MetaLevel()).close();
    }

    /** Where a database can listen. */
    static InetSocketAddress freeAddress() throws IOException {
        try (ServerSocket socket = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            return new InetSocketAddress(InetAddress.getLoopbackAddress(), socket.getLocalPort());
        }
    }

    private static void set(Statement statement, String property, String value) throws SQLException {
        statement.execute("CALL SYSCS_UTIL.SYSCS_SET_DATABASE_PROPERTY('" + property + "', '" + value + "')");
    }

    @Override
    public String binaryColumns() {
        return "BI3 CHAR(3) FOR BIT DATA, BIV VARCHAR(100) FOR BIT DATA";
    }

    @Override
    public List<Type> types() {
        String nines = "9".repeat(31);
        return List.of(
                new Type("BOOLEAN", List.of("TRUE", "FALSE"), true),
                new Type("SMALLINT", List.of("32767", "-32768", "0"), true),
                new Type("INTEGER", List.of("2147483647", "-2147483648", "0"), true),
                new Type("BIGINT", List.of("9223372036854775807", "-9223372036854775808", "0"), true),
                new Type("REAL", casts("REAL", "3.402E+38", "-3.402E+38", "1.18E-37", "-1.18E-37", "0.1E0"), true),
                new Type(
                        "DOUBLE", List.of("1.79769E+308", "-1.79769E+308", "2.226E-307", "-2.226E-307", "0.1E0"), true),
                new Type("FLOAT(23)", casts("REAL", "16777217E0", "-1E0"), true),
                new Type("DECIMAL(31, 0)", List.of(nines, "-" + nines, "0"), true),
                new Type("DECIMAL(31, 31)", List.of("." + nines, "-." + nines, "." + "0".repeat(30) + "1"), true),
                new Type("NUMERIC(5, 2)", List.of("999.99", "-999.99", "0.10", "1.00"), true),
                new Type("CHAR(5)", List.of("'abcde'", "'a'", "'ä€日'", "''", "'a''b'"), true),
                new Type("CHAR(254)", List.of("'" + "é".repeat(254) + "'", "'b'"), true),
                new Type("VARCHAR(100)", List.of("'x'", "' x'", "'a''b'", "'ä€日本𝄞'", "''"), true),
                new Type("VARCHAR(32672)", List.of("'" + "v".repeat(32_672) + "'", "' '", "'v  '"), false),
                new Type("LONG VARCHAR", List.of("'" + "long ä ".repeat(4_000) + "'", "''"), false),
                new Type("CLOB(1M)", casts("CLOB(1M)", "'text ä€'", "''", "'" + "c".repeat(30_000) + "'"), false),
                new Type("CHAR(3) FOR BIT DATA", List.of("X'00FF7F'", "X'202020'", "X'000000'"), true),
                new Type("VARCHAR(10) FOR BIT DATA", List.of("X'00'", "X'FFEE'", "X'2000'"), true),
                new Type(
                        "LONG VARCHAR FOR BIT DATA", List.of("X'00FF'", "X''", "X'" + "2A".repeat(4_000) + "'"), false),
                new Type("BLOB(1M)", casts("BLOB(1M)", "X'00FF'", "X''", "X'" + "00".repeat(4_000) + "'"), false),
                new Type(
                        "DATE",
                        List.of("DATE('0001-01-01')", "DATE('9999-12-31')", "DATE('2024-02-29')", "DATE('1582-10-10')"),
                        true),
                new Type("TIME", List.of("TIME('00:00:00')", "TIME('23:59:59')", "TIME('12:30:01')"), true),
                new Type(
                        "TIMESTAMP",
                        List.of(
                                "TIMESTAMP('0001-01-01 00:00:00')",
                                "TIMESTAMP('9999-12-31 23:59:59.999999999')",
                                "TIMESTAMP('2016-03-27 02:30:00.000000001')"),
                        true),
                new Type(
                        "XML",
                        List.of(
                                "XMLPARSE(DOCUMENT '<a b=\"ä\"> <c/>&lt; 日本</a>' PRESERVE WHITESPACE)",
                                "XMLPARSE(DOCUMENT '<empty/>' PRESERVE WHITESPACE)"),
                        false));
    }

    private static List<String> casts(String type, String... literals) {
        return Stream.of(literals)
                .map(literal -> "CAST(" + literal + " AS " + type + ")")
                .toList();
    }

    @Override
    public String importing(String table, Path file, boolean replaces) {
        return "CALL SYSCS_UTIL.SYSCS_IMPORT_TABLE(NULL, '" + table + "', '" + file + "', NULL, NULL, 'UTF-8', "
                + (replaces ? 1 : 0) + ")";
    }

    @Override
    public String procedure(Procedure procedure) {
        String method = switch (procedure) {
            case INSERT_ROW -> "insertRow";
            case INSERT_AND_COMMIT -> "insertAndCommit";
            case INSERT_AND_ROLL_BACK -> "insertAndRollBack";
            case INSERT_AROUND_SAVEPOINT -> "insertAroundSavepoint";
            case MAKE_TABLE -> "makeTable";
        };
        return "CREATE PROCEDURE " + procedure + " (N INTEGER) LANGUAGE JAVA PARAMETER STYLE JAVA MODIFIES SQL DATA "
                + "EXTERNAL NAME '" + TckRoutines.class.getName() + "." + method + "'";
    }

    @Override
    public List<List<String>> ownSchemaChanges() {
        return List.of(
                List.of(
                        "CREATE TRIGGER TR AFTER INSERT ON T REFERENCING NEW AS N FOR EACH ROW "
                                + "UPDATE W SET A = A + 1 WHERE ID = -1",
                        "DROP TRIGGER TR"),
                List.of("CREATE SEQUENCE S", "DROP SEQUENCE S RESTRICT"),
                List.of(procedure(Procedure.INSERT_ROW), "DROP PROCEDURE INSERT_ROW"),
                List.of(
                        "CREATE FUNCTION F (N INTEGER) RETURNS INTEGER LANGUAGE JAVA PARAMETER STYLE JAVA NO SQL "
                                + "EXTERNAL NAME 'java.lang.Math.abs'",
                        "DROP FUNCTION F"),
                List.of(
                        "CREATE TYPE PRICE EXTERNAL NAME 'java.util.ArrayList' LANGUAGE JAVA",
                        "DROP TYPE PRICE RESTRICT"),
                List.of(
                        "CREATE DERBY AGGREGATE MIDDLE FOR INTEGER EXTERNAL NAME 'org.gorda.Middle'",
                        "DROP DERBY AGGREGATE MIDDLE RESTRICT"),
                List.of("CREATE SYNONYM SY FOR T", "DROP SYNONYM SY"),
                List.of("CREATE TABLE R (ID INTEGER NOT NULL PRIMARY KEY)", "RENAME TABLE R TO RR", "DROP TABLE RR"),
                List.of("CREATE TABLE LIKE_T AS SELECT ID, A FROM T WITH NO DATA", "DROP TABLE LIKE_T"),
                List.of("ALTER TABLE T LOCKSIZE TABLE", "ALTER TABLE T LOCKSIZE ROW"),
                List.of("ALTER TABLE T ALTER COLUMN A DEFAULT 3", "ALTER TABLE T ALTER COLUMN A DROP DEFAULT"),
                List.of(
                        "CREATE INDEX I ON T (A DESC)",
                        "RENAME INDEX I TO J",
                        "CREATE UNIQUE INDEX U ON T (ID, A)",
                        "DROP INDEX J",
                        "DROP INDEX U"));
    }

    @Override
    public List<String> refused() {
        return List.of(
                "CALL SYSCS_UTIL.SYSCS_SET_DATABASE_PROPERTY('derby.locks.waitTimeout', '5')",
                "CALL SYSCS_UTIL.SYSCS_CREATE_USER('DAVE', 'secret')",
                "CALL SYSCS_UTIL.SYSCS_RESET_PASSWORD('DAVE', 'secret')",
                "CALL SYSCS_UTIL.SYSCS_MODIFY_PASSWORD('secret')",
                "CALL SYSCS_UTIL.SYSCS_DROP_USER('DAVE')",
                "CALL SYSCS_UTIL.SYSCS_SET_USER_ACCESS('DAVE', 'FULLACCESS')",
                "CALL SYSCS_UTIL.SYSCS_SET_XPLAIN_SCHEMA('PLANS')",
                "CALL SYSCS_UTIL.SYSCS_FREEZE_DATABASE()",
                "CALL SQLJ.INSTALL_JAR('a.jar', 'APP.A', 0)",
                "CALL SQLJ.REPLACE_JAR('a.jar', 'APP.A')",
                "CALL SQLJ.REMOVE_JAR('APP.A', 0)");
    }

    /** A plan that was found valid names an index that has been dropped when it is opened. */
    @Override
    public Set<String> statesBesideSchemaChanges() {
        return Set.of("XSAI2");
    }

    @Override
    public @Nullable String damage(Connection connection, TableShape table) throws SQLException {
        return DerbyApplier.damage(connection, table);
    }

    @Override
    public List<String> catalogue(Connection connection) throws SQLException {
        return TckBinding.catalogue(connection, CATALOGUE);
    }
}
