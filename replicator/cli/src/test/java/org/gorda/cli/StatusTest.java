package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import com.sun.net.httpserver.HttpServer;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What {@code gorda status} makes of what a replica tells, which is not one here. */
final class StatusTest {

    @TempDir
    private Path directory;

    private HttpServer service;

    @BeforeEach
    void serve() throws Exception {
        service = HttpServer.create(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0), 0);
        service.start();
    }

    @AfterEach
    void end() {
        service.stop(0);
    }

    private int port() {
        return service.getAddress().getPort();
    }

    /** As the only one of its group. */
    private void tell(String member, String host, String learners) {
        String status = "{\"self\":\"" + member
                + "\",\"state\":\"ONLINE\",\"explanation\":\"takes part\",\"role\":\"primary\","
                + "\"primary\":\"" + member + "\",\"epoch\":1,\"working\":true,\"members\":[\"" + member
                + "\"],\"learners\":[" + learners + "],\"refused\":{},\"services\":{\"" + member + "\":\"" + host + ":"
                + port() + "\"},\"clients\":\"\"}";
        service.createContext("/status", exchange -> {
            byte[] body = status.getBytes(StandardCharsets.UTF_8);
            exchange.sendResponseHeaders(200, body.length);
            exchange.getResponseBody().write(body);
            exchange.close();
        });
    }

    @Test
    void aGroupIsNotWellAsLongAsAMemberDoesNotCount() throws Exception {
        tell("127.0.0.1:1", "127.0.0.1", "\"127.0.0.1:1\"");
        GordaRun learner = GordaRun.in(directory, "status", "--at", "127.0.0.1:" + port());
        assertThat(learner.out()).contains("takes part; does not count for majorities yet");
        assertThat(learner.status()).isEqualTo(1);
        service.removeContext("/status");
        tell("127.0.0.1:1", "127.0.0.1", "");
        GordaRun member = GordaRun.in(directory, "status", "--at", "127.0.0.1:" + port());
        assertThat(member.out()).contains("takes part").doesNotContain("majorities");
        assertThat(member.status()).as(member.out() + member.err()).isZero();
    }

    @Test
    void hostsOfDockerAreAsked() throws Exception {
        Path hosts = directory.resolve("hosts");
        Files.writeString(hosts, "127.0.0.1 bank_db_1\n");
        tell("bank_db_1:1", "bank_db_1", "");
        GordaRun run = GordaRun.in(
                directory,
                Map.of("JDK_JAVA_OPTIONS", "-Djdk.net.hosts.file=" + hosts),
                "status",
                "--at",
                "bank_db_1:" + port());
        assertThat(run.out()).as(run.err()).contains("bank_db_1:1").contains("takes part");
        assertThat(run.status()).isZero();
        GordaRun unknown = GordaRun.in(
                directory,
                Map.of("JDK_JAVA_OPTIONS", "-Djdk.net.hosts.file=" + hosts),
                "status",
                "--at",
                "bank_db_9:" + port());
        assertThat(unknown.err()).contains("bank_db_9").doesNotContain("encrypt");
        assertThat(unknown.status()).isEqualTo(1);
    }
}
