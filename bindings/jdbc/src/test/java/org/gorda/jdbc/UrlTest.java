package org.gorda.jdbc;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Path;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.time.Duration;
import java.util.Properties;
import org.gorda.jgcs.LoopbackPorts;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

@Timeout(60)
class UrlTest {

    @ParameterizedTest
    @CsvSource(
            delimiterString = " -> ",
            quoteCharacter = '`',
            value = {
                "jdbc:gorda://a:1,b:2 -> names no database",
                "jdbc:gorda://a:1;user=app;password=secret -> 'jdbc:gorda://a:1' names no database",
                "jdbc:gorda:;user=app;password=secret -> 'jdbc:gorda:' names no engine",
                "jdbc:gorda://a/db -> 'a' in the URL is not host:port",
                "jdbc:gorda://a:1,/db -> '' in the URL is not host:port",
                "jdbc:gorda://a:99999/db -> 'a:99999' in the URL",
                "jdbc:gorda://a:1/db;conect-timeout=5s -> there is no setting 'conect-timeout'; did you mean 'connect-timeout'",
                "jdbc:gorda://a:1/db;members=b:2 -> 'members' is no setting for jdbc:gorda://HOST:PORT,.../DB but for gorda node and jdbc:gorda:derby:PATH",
                "jdbc:gorda://a:1/db;connect-timeout=soon -> connect-timeout",
                "jdbc:gorda://a:1/db;nonsense -> 'nonsense' in the URL is not key=value",
                "jdbc:gorda:derby -> names no engine",
                "jdbc:gorda:oracle:x;self=127.0.0.1:1 -> oracle",
                "jdbc:gorda:h3:x -> named 'h3' is on the class path; there is",
                "jdbc:gorda:derby:x;menbers=a:1 -> did you mean 'members'",
                "jdbc:gorda:derby:x;self=nowhere -> nowhere",
            })
    void badUrlGivesOneClearLine(String url, String message) {
        assertThatThrownBy(() -> DriverManager.getConnection(url)).isInstanceOfSatisfying(SQLException.class, e -> {
            assertThat(e.getSQLState()).isEqualTo("08001");
            assertThat(e.getMessage()).contains(message).doesNotContain("\n");
        });
    }

    @Test
    void keysAreKnownInAnyCaseAndTheUrlWinsOverProperties() throws SQLException {
        Properties info = new Properties();
        info.setProperty("Connect-Timeout", "7s");
        info.setProperty("user", "ada");
        ClusterUrl url = ClusterUrl.parse("jdbc:gorda://a:1, b:2/db;User=grace", info);
        assertThat(url.nodes()).containsExactly("a:1", "b:2");
        assertThat(url.database()).isEqualTo("db");
        assertThat(url.connectTimeout()).isEqualTo(Duration.ofSeconds(7));
        assertThat(url.properties()).containsOnly(java.util.Map.entry("user", "grace"));
    }

    /** A program of its own, because a process cannot change its environment. */
    @Test
    void environmentIsReadByTheDriver() throws Exception {
        int port = 1; // where nobody listens
        ProcessBuilder program = new ProcessBuilder(
                java.nio.file.Path.of(System.getProperty("java.home"), "bin", "java")
                        .toString(),
                "-cp",
                System.getProperty("java.class.path"),
                UrlTest.class.getName(),
                "jdbc:gorda://127.0.0.1:" + port + "/db");
        program.environment().put("GORDA_CONNECT_TIMEOUT", "1s");
        Process process = program.redirectErrorStream(true).start();
        String printed = new String(process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        assertThat(process.waitFor()).isZero();
        assertThat(printed).contains("no primary within 1 s");
    }

    /** The URL that says nothing of it is not what is to be changed. */
    @Test
    void aSettingOfTheEnvironmentThatIsNotTheFirstUrlsIsToldToBeOfTheEnvironment(@TempDir Path directory)
            throws Exception {
        String url = "jdbc:gorda:derby:" + directory.resolve("shop");
        ProcessBuilder program = new ProcessBuilder(
                Path.of(System.getProperty("java.home"), "bin", "java").toString(),
                "-cp",
                System.getProperty("java.class.path"),
                UrlTest.class.getName(),
                url + ";self=127.0.0.1:" + LoopbackPorts.free(1).get(0) + ";durability=group",
                url,
                url + ";durability=local");
        program.environment().put("GORDA_DURABILITY", "group-disk");
        Process process = program.redirectErrorStream(true).start();
        String printed = new String(process.getInputStream().readAllBytes(), java.nio.charset.StandardCharsets.UTF_8);
        assertThat(process.waitFor()).isZero();
        assertThat(printed)
                .contains("durability=group, not with durability=group-disk, as the environment or the file of config"
                        + " says: give it in each URL as in that of the first connection")
                .contains("durability=group, not with durability=local: give it as in the URL of the first connection");
    }

    /** Connects to one after the other, and prints what comes of it. */
    public static void main(String[] arguments) {
        for (String url : arguments) {
            try {
                System.out.println(DriverManager.getConnection(url));
            } catch (SQLException e) {
                System.out.println(e.getMessage());
            }
        }
    }

    @Test
    void groupThatDoesNotAnswerIsToldWithAllItsNodes() {
        int port = 1; // where nobody listens
        assertThatThrownBy(() -> DriverManager.getConnection("jdbc:gorda://127.0.0.1:" + port + ",[::1]:" + port
                        + ",no.such.host.invalid:7801/db;connect-timeout=1s"))
                .isInstanceOfSatisfying(
                        SQLNonTransientConnectionException.class,
                        e -> assertThat(e.getSQLState()).isEqualTo("08001"))
                .hasMessageContaining("no primary within 1 s")
                .hasMessageContaining("127.0.0.1:" + port + " does not answer")
                .hasMessageContaining("[::1]:" + port + " does not answer")
                .hasMessageContaining("no.such.host.invalid:7801 does not answer");
    }

    @Test
    void whoseThreadIsInterruptedIsToldThat() {
        Thread.currentThread().interrupt();
        assertThatThrownBy(() -> DriverManager.getConnection("jdbc:gorda://127.0.0.1:1/db"))
                .hasMessageContaining("no primary, as the thread is interrupted: 127.0.0.1:1 does not answer");
        assertThat(Thread.interrupted()).isTrue();
    }
}
