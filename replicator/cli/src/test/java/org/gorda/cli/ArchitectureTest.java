package org.gorda.cli;

import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.classes;
import static com.tngtech.archunit.lang.syntax.ArchRuleDefinition.noClasses;
import static com.tngtech.archunit.library.dependencies.SlicesRuleDefinition.slices;

import com.tngtech.archunit.core.domain.JavaClass;
import com.tngtech.archunit.core.importer.ImportOption;
import com.tngtech.archunit.junit.AnalyzeClasses;
import com.tngtech.archunit.junit.ArchTest;
import com.tngtech.archunit.lang.ArchRule;

/** The arrows between the modules, as docs/ARCHITECTURE.md draws them. */
@AnalyzeClasses(packages = "org.gorda", importOptions = ImportOption.DoNotIncludeTests.class)
final class ArchitectureTest {

    @ArchTest
    static final ArchRule PACKAGES_HAVE_NO_CYCLES = slices().matching("org.gorda.(**)")
            .should()
            .beFreeOfCycles()
            .because(
                    "who reads one package must not have to read another that reads it; move what both need to a third");

    @ArchTest
    static final ArchRule GAPI_STANDS_ALONE = only("org.gorda.gapi..", "org.gorda.gapi..");

    @ArchTest
    static final ArchRule JGCS_STANDS_ALONE = only("org.gorda.jgcs", "org.gorda.jgcs");

    @ArchTest
    static final ArchRule RAFT_KNOWS_JGCS = only("org.gorda.jgcs.raft..", "org.gorda.jgcs", "org.gorda.jgcs.raft..");

    @ArchTest
    static final ArchRule JGROUPS_KNOWS_JGCS =
            only("org.gorda.jgcs.jgroups", "org.gorda.jgcs", "org.gorda.jgcs.jgroups");

    @ArchTest
    static final ArchRule RATIS_KNOWS_JGCS = only("org.gorda.jgcs.ratis", "org.gorda.jgcs", "org.gorda.jgcs.ratis");

    @ArchTest
    static final ArchRule RAFTS_CORE_STANDS_ALONE =
            only("org.gorda.jgcs.raft.core", "org.gorda.jgcs", "org.gorda.jgcs.raft.core");

    @ArchTest
    static final ArchRule REPLICATORS_CORE_KNOWS_VALUES =
            only("org.gorda.replicator.core", "org.gorda.replicator.core", "org.gorda.gapi", "org.gorda.jgcs");

    @ArchTest
    static final ArchRule ENGINE_KNOWS_INTERFACES = only(
            "org.gorda.replicator.engine",
            "org.gorda.replicator.engine",
            "org.gorda.replicator.core",
            "org.gorda.gapi",
            "org.gorda.jgcs");

    @ArchTest
    static final ArchRule DERBY_KNOWS_GAPI =
            only("org.gorda.bindings.derby..", "org.gorda.bindings.derby..", "org.gorda.gapi");

    @ArchTest
    static final ArchRule TRIGGERS_KNOW_GAPI =
            only("org.gorda.bindings.triggers", "org.gorda.bindings.triggers", "org.gorda.gapi");

    @ArchTest
    static final ArchRule H2_KNOWS_TRIGGERS =
            only("org.gorda.bindings.h2", "org.gorda.bindings.h2", "org.gorda.bindings.triggers", "org.gorda.gapi");

    @ArchTest
    static final ArchRule HSQLDB_KNOWS_TRIGGERS = only(
            "org.gorda.bindings.hsqldb", "org.gorda.bindings.hsqldb", "org.gorda.bindings.triggers", "org.gorda.gapi");

    @ArchTest
    static final ArchRule SQLITE_KNOWS_TRIGGERS = only(
            "org.gorda.bindings.sqlite", "org.gorda.bindings.sqlite", "org.gorda.bindings.triggers", "org.gorda.gapi");

    @ArchTest
    static final ArchRule ONLY_THE_BINDING_KNOWS_SQLITE = noClasses()
            .that()
            .resideOutsideOfPackage("org.gorda.bindings.sqlite")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.sqlite..")
            .because("a database must be replaceable: go through org.gorda.gapi or JDBC");

    @ArchTest
    static final ArchRule ONLY_THE_BINDING_KNOWS_HSQLDB = noClasses()
            .that()
            .resideOutsideOfPackage("org.gorda.bindings.hsqldb")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.hsqldb..")
            .because("a database must be replaceable: go through org.gorda.gapi or JDBC");

    @ArchTest
    static final ArchRule ONLY_THE_BINDING_KNOWS_H2 = noClasses()
            .that()
            .resideOutsideOfPackage("org.gorda.bindings.h2")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.h2..")
            .because("a database must be replaceable: go through org.gorda.gapi or JDBC");

    @ArchTest
    static final ArchRule DRIVER_KNOWS_THE_ENGINE =
            only("org.gorda.jdbc..", "org.gorda.jdbc..", "org.gorda.replicator.engine", "org.gorda.gapi");

    @ArchTest
    static final ArchRule ONLY_A_TRANSPORT_A_TOOLKIT_AND_ITS_MEASUREMENT_KNOW_JGROUPS = noClasses()
            .that()
            .resideOutsideOfPackages("org.gorda.jgcs.raft.transport", "org.gorda.jgcs.jgroups", "org.gorda.bench.gcs")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.jgroups..")
            .because(
                    "a toolkit must be replaceable: go through org.gorda.jgcs; what that costs is measured in bench.gcs");

    @ArchTest
    static final ArchRule ONLY_A_TOOLKIT_KNOWS_RATIS = noClasses()
            .that()
            .resideOutsideOfPackage("org.gorda.jgcs.ratis")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage("org.apache.ratis..", "org.gorda.jgcs.ratis")
            .because("it need not be on the class path: go through org.gorda.jgcs and its name");

    @ArchTest
    static final ArchRule ONLY_THE_BINDING_KNOWS_DERBY = noClasses()
            .that()
            .resideOutsideOfPackage("org.gorda.bindings.derby..")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.apache.derby..")
            .because("a database must be replaceable: go through org.gorda.gapi or JDBC");

    @ArchTest
    static final ArchRule ONLY_THE_BINDING_AND_THE_DRIVERS_SESSION_KNOW_POSTGRESQL = noClasses()
            .that()
            .resideOutsideOfPackage("org.gorda.bindings.postgresql..")
            .and()
            .haveNameNotMatching("org\\.gorda\\.jdbc\\.PostgresConnection(\\$.*)?")
            .should()
            .dependOnClassesThat()
            .resideInAPackage("org.postgresql..")
            .because("its driver need not be on the class path: go through org.gorda.jdbc or JDBC");

    @ArchTest
    static final ArchRule CORES_ARE_PURE = noClasses()
            .that()
            .resideInAnyPackage("org.gorda.jgcs.raft.core", "org.gorda.replicator.core")
            .should()
            .dependOnClassesThat()
            .resideInAnyPackage(
                    "java.io..", "java.net..", "java.nio.file..", "java.sql..", "java.time..", "org.slf4j..")
            .orShould()
            .dependOnClassesThat()
            .haveFullyQualifiedName(Thread.class.getName())
            .orShould()
            .dependOnClassesThat()
            .resideInAPackage("java.util.concurrent..")
            .because("the simulator runs this very code in virtual time: let the shell do it, through the effects");

    @ArchTest
    static final ArchRule NOTHING_IS_DESERIALISED = noClasses()
            .should()
            .dependOnClassesThat()
            .haveFullyQualifiedName("java.io.ObjectInputStream")
            .because("bytes from a network must not make objects: write a codec with bounds");

    private static ArchRule only(String module, String... allowed) {
        return classes()
                .that()
                .resideInAPackage(module)
                .should()
                .onlyDependOnClassesThat(JavaClass.Predicates.resideInAnyPackage(allowed)
                        .or(JavaClass.Predicates.resideOutsideOfPackage("org.gorda..")))
                .because("arrows point one way; docs/ARCHITECTURE.md has the drawing");
    }
}
