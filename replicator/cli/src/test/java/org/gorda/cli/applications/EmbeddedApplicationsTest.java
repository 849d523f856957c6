package org.gorda.cli.applications;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import org.awaitility.Awaitility;
import org.gorda.bench.ReplicaGroup;
import org.gorda.bench.ReplicaProcess;
import org.junit.jupiter.api.AfterAll;
import org.junit.jupiter.api.BeforeAll;
import org.junit.jupiter.api.MethodOrderer;
import org.junit.jupiter.api.Order;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.TestMethodOrder;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/**
 * Programs that nobody here wrote, each in three JVMs that are replicas by their URLs: one works, two stand by. The one that works is killed in
 * the middle of a transaction, and another goes on where the database says.
 */
@TestMethodOrder(MethodOrderer.OrderAnnotation.class)
final class EmbeddedApplicationsTest {

    private static final Duration WAIT = Duration.ofSeconds(60);

    @TempDir
    private static Path directory;

    private static ReplicaGroup group;
    private static final List<StandbyProcess> PROGRAMS = new ArrayList<>();

    @BeforeAll
    static void start() {
        group = ReplicaGroup.of(3, directory, Map.of());
        for (ReplicaProcess replica : group.replicas()) {
            StandbyProcess program = new StandbyProcess(replica.directory(), replica.embeddedUrl());
            program.start();
            PROGRAMS.add(program);
        }
        PROGRAMS.forEach(program -> await(program, "ready"));
    }

    @AfterAll
    static void end() {
        PROGRAMS.forEach(StandbyProcess::kill);
        group.close();
    }

    private static void await(StandbyProcess program, String line) {
        Awaitility.await(line).atMost(WAIT).until(() -> program.said(line));
    }

    private static StandbyProcess whoSays(String line, List<StandbyProcess> among) {
        Awaitility.await(line).atMost(WAIT).until(() -> among.stream().anyMatch(program -> program.said(line)));
        return among.stream().filter(program -> program.said(line)).findFirst().orElseThrow();
    }

    @ParameterizedTest
    @EnumSource(Framework.class)
    @Order(1)
    void anotherGoesOnWhenTheOneThatWorksIsKilled(Framework framework) {
        PROGRAMS.forEach(program -> program.tell(framework.name()));
        StandbyProcess killed = whoSays("midway " + framework, PROGRAMS);
        killed.kill();
        List<StandbyProcess> others =
                PROGRAMS.stream().filter(program -> program != killed).toList();
        others.forEach(program -> program.tell(StandbyProgram.GO_ON));
        whoSays("done " + framework, others);
        assertThat(others)
                .as("what was not committed is gone, so that another comes to the same place")
                .anyMatch(program -> program.said("midway " + framework));
        killed.start();
        await(killed, "ready");
        killed.tell(framework.name());
        for (StandbyProcess program : PROGRAMS) {
            program.tell(StandbyProgram.LOOK);
            await(program, "looked " + framework);
        }
    }

    /** Programs have no service to compare replicas by; replica processes on the same directories have. */
    @Test
    @Order(2)
    void replicasAreIdenticalAfterwards() throws Exception {
        PROGRAMS.parallelStream().forEach(StandbyProcess::stop);
        group.start();
        group.awaitOnline(WAIT, line -> {});
        assertThat(group.verify(WAIT).identical()).isTrue();
        Catalogue.assertIdentical(group);
    }
}
