package org.gorda.bindings.derby;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.io.RandomAccessFile;
import java.nio.file.Files;
import java.nio.file.Path;
import java.sql.Connection;
import java.sql.ResultSet;
import java.sql.SQLException;
import java.sql.Statement;
import java.util.ArrayList;
import java.util.List;
import java.util.Properties;
import java.util.stream.Stream;
import java.util.zip.CRC32;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.tck.MetaLevel;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.EnumSource;

/** A database whose log ends, by a crash or as a copy's does, within the allocation of a page: Derby undoes it, and the page is to be had again. */
@Timeout(120)
class UndoneAllocationTest {

    private static final int GROWTH = 20;

    private static final String INSERT = "INSERT INTO T VALUES ('" + "x".repeat(900) + "')";

    /** What comes before the first record of a log file. */
    private static final int LOG_HEADER_BYTES = 24;

    /** What a record has besides its data: its length at both ends, and where it lies. */
    private static final int AROUND_DATA_BYTES = 2 * Integer.BYTES + Long.BYTES;

    @TempDir
    private Path directory;

    private final DerbyUnderTest derby = new DerbyUnderTest();

    /** Derby makes the first pages of a table one by one, and later ones eight at a time, before they are needed. */
    private enum Table {
        SMALL(2),
        LARGE(14);

        private final int pages;

        Table(int pages) {
            this.pages = pages;
        }
    }

    @ParameterizedTest
    @EnumSource
    void aDatabaseWhoseLogEndsWhereverWithinAnAllocationGrowsOn(Table table) throws Exception {
        Path crashed = directory.resolve("crashed");
        int rows = 0;
        List<Long> ends;
        DatabaseConfiguration configuration = derby.configuration(directory, "origin");
        try (ReflectedDatabase database = derby.binding().open(configuration, new MetaLevel());
                Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement()) {
            statement.execute("CREATE TABLE T (TEXT VARCHAR(1000) NOT NULL)");
            while (pages(statement) < table.pages) {
                statement.execute(INSERT);
                rows++;
            }
            statement.execute("CALL SYSCS_UTIL.SYSCS_CHECKPOINT_DATABASE()");
            long from;
            do {
                from = records(log(configuration)).stream().reduce((a, b) -> b).orElseThrow();
                statement.execute(INSERT);
                rows++;
            } while (pages(statement) == table.pages);
            copy(Path.of(configuration.location()), crashed);
            long before = from;
            ends = records(log(configuration)).stream()
                    .filter(end -> end > before)
                    .toList();
        }
        assertThat(ends).as("a page was allocated, and a row inserted").hasSizeGreaterThan(5);
        long checksum = ends.get(0);
        for (long end : ends.subList(1, ends.size())) {
            DatabaseConfiguration copy = derby.configuration(directory, "copy" + end);
            copy(crashed, Path.of(copy.location()));
            endLog(log(copy), checksum, end);
            DatabaseConfiguration killed = derby.configuration(directory, "killed" + end);
            int held = grown(copy, Path.of(killed.location()));
            assertThat(held).isBetween(rows - 1, rows);
            try (ReflectedDatabase database = derby.binding().open(killed, new MetaLevel());
                    Connection connection = database.connect(new Properties());
                    Statement statement = connection.createStatement()) {
                assertThat(count(statement)).as("after the next crash").isEqualTo(held + GROWTH);
            }
        }
    }

    /**
     * Has a database grow, and copies it then as a process that is killed would leave it.
     *
     * @return how many rows it had before
     */
    private int grown(DatabaseConfiguration configuration, Path killed) throws Exception {
        MetaLevel meta = new MetaLevel();
        try (ReflectedDatabase database = derby.binding().open(configuration, meta);
                Connection connection = database.connect(new Properties());
                Statement statement = connection.createStatement()) {
            meta.continueAfter(database.storedPosition().orElseThrow().index());
            int held = count(statement);
            for (int i = 0; i < GROWTH; i++) {
                statement.execute(INSERT);
            }
            assertThat(count(statement)).isEqualTo(held + GROWTH);
            copy(Path.of(configuration.location()), killed);
            return held;
        }
    }

    private static int count(Statement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery("SELECT COUNT(TEXT) FROM T")) {
            row.next();
            return row.getInt(1);
        }
    }

    private static long pages(Statement statement) throws SQLException {
        try (ResultSet row = statement.executeQuery(
                "SELECT NUMALLOCATEDPAGES FROM TABLE(SYSCS_DIAG.SPACE_TABLE('T')) X WHERE ISINDEX = 0")) {
            row.next();
            return row.getLong(1);
        }
    }

    private static Path log(DatabaseConfiguration configuration) {
        return Path.of(configuration.location()).resolve("log/log1.dat");
    }

    /** Where each record ends. */
    private static List<Long> records(Path log) throws IOException {
        List<Long> ends = new ArrayList<>();
        try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "r")) {
            long at = LOG_HEADER_BYTES;
            while (at + Integer.BYTES <= file.length()) {
                file.seek(at);
                int length = file.readInt();
                if (length == 0) {
                    break;
                }
                at += length + AROUND_DATA_BYTES;
                ends.add(at);
            }
        }
        return ends;
    }

    /**
     * As if what there is up to the end had been written out by itself.
     *
     * @param checksum the end of the record before it, which ends in how many bytes that is, their checksum, and its own length
     */
    private static void endLog(Path log, long checksum, long end) throws IOException {
        try (RandomAccessFile file = new RandomAccessFile(log.toFile(), "rw")) {
            byte[] written = new byte[(int) (end - checksum)];
            file.seek(checksum);
            file.readFully(written);
            file.write(new byte[(int) (file.length() - end)]);
            CRC32 crc = new CRC32();
            crc.update(written);
            file.seek(checksum - Integer.BYTES - Long.BYTES - Integer.BYTES);
            file.writeInt(written.length);
            file.writeLong(crc.getValue());
        }
    }

    private static void copy(Path from, Path to) throws IOException {
        try (Stream<Path> files = Files.walk(from)) {
            for (Path file :
                    files.filter(file -> !file.toString().endsWith(".lck")).toList()) {
                Files.copy(file, to.resolve(from.relativize(file).toString()));
            }
        }
    }
}
