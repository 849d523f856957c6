package org.gorda.bench.torture;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.util.List;
import java.util.Map;
import org.gorda.bench.Links;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

class FaultInjectorTest {

    @TempDir
    private Path directory;

    /** Its process ends at once: the command is of a module that is not here. */
    @Test
    void whoEndsWhileItsDiskIsFullAndDoesNotSayThatThisIsWhyIsFound() {
        Fault full = new Fault(Fault.Kind.DISK_FULL, 0, 100, List.of(0), 1);
        Findings findings = new Findings();
        try (ReplicaGroup group = ReplicaGroup.of(1, directory, Map.of());
                Links links = Links.between(group)) {
            FaultInjector injector =
                    new FaultInjector(new FaultPlan(List.of(full)), group.replicas(), links, findings, line -> {});
            ReplicaProcess replica = group.replicas().get(0);
            replica.start();
            injector.run();
            while (replica.isAlive()) {
                Thread.onSpinWait();
            }
            injector.watch();
        }
        assertThat(findings.count(Findings.ENDED)).isPositive();
    }

    @Test
    void onlyWhyAReplicaStopsIsLookedAt() {
        String begin = "2026-11-30T13:36:42.095Z ERROR ReplicaEngine - 127.0.0.1:22801: the replica stops: ";
        String caused = "\norg.gorda.gapi.ReflectionException: no commit\n\tat org.gorda\nCaused by: ";
        String next = "\n2026-11-30T13:36:42.100Z WARN  Other - IO Exception: File too large\ngorda: make room";
        for (String why : List.of(
                "the disk failed (java.io.IOException: File too large): make room or mend it",
                "Cannot flush the log file. Make room or mend the disk, then start this replica again.",
                "no commit" + caused + "org.sqlite.SQLiteException: [SQLITE_IOERR_WRITE] I/O error",
                "no commit" + caused + "org.hsqldb.HsqlException: file input/output error: bank/database.log")) {
            assertThat(FaultInjector.isForWantOfRoom(begin + why)).as(why).isTrue();
        }
        String other = begin + "an invariant is broken" + caused + "java.lang.IllegalStateException" + next;
        assertThat(FaultInjector.isForWantOfRoom(other)).isFalse();
        assertThat(FaultInjector.isForWantOfRoom("the database cannot be opened. Make room"))
                .isTrue();
        assertThat(FaultInjector.isForWantOfRoom("")).isFalse();
    }
}
