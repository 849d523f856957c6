package org.gorda.bench;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What load tests leave on the disk. */
class LoadFilesTest {

    @TempDir
    private Path directory;

    /** Whoever is killed, or finds the disk full, while it is written has the one before. */
    @Test
    void aReportIsWholeWheneverItIsReplaced() throws Exception {
        Path reports = directory.resolve("reports");
        Path report = reports.resolve("report.json");
        Path before = directory.resolve("before");
        try (LoadFiles files = LoadFiles.in(reports)) {
            files.write(new LoadMatrix.Result("first", List.of(), List.of()));
            Files.createLink(before, report);
            files.write(new LoadMatrix.Result("second", List.of(), List.of()));
        }
        assertThat(before).content().contains("first").doesNotContain("second");
        assertThat(report).content().contains("second");
        assertThat(reports.toFile().list())
                .containsExactlyInAnyOrder("report.json", "runs.csv", "seconds.csv", "index.html");
    }
}
