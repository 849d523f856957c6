package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;
import static org.gorda.replicator.engine.Setting.Use.CLUSTER;
import static org.gorda.replicator.engine.Setting.Use.EMBEDDED;
import static org.gorda.replicator.engine.Setting.Use.NODE;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Arrays;
import java.util.List;
import java.util.Map;
import java.util.stream.Collectors;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import org.junit.jupiter.params.provider.ValueSource;

class SettingsTest {

    @TempDir
    Path directory;

    private String file(String text) throws IOException {
        Path file = directory.resolve("gorda.yaml");
        Files.writeString(file, text);
        return file.toString();
    }

    @Test
    void whatTheProgramGivesWinsOverTheEnvironmentAndThatOverTheFile() throws IOException {
        String file = file("reads: strong\ndurability: local\ngroup: filed\nmembers: [a:1, b:2]\n");
        Map<String, String> environment =
                Map.of("GORDA_CONFIG", file, "GORDA_DURABILITY", "group-disk", "GORDA_GROUP", "environs", "PATH", "x");
        assertThat(Settings.complete(NODE, Map.of("Group", "given"), List.of(), environment))
                .containsOnly(
                        Map.entry("config", file),
                        Map.entry("group", "given"),
                        Map.entry("durability", "group-disk"),
                        Map.entry("reads", "strong"),
                        Map.entry("members", "a:1,b:2"));
    }

    @Test
    void fileAndEnvironmentMayBeSharedByReplicasAndClients() throws IOException {
        String file = file("database: /var/lib/bank\nmembers: a:1\nconnect-timeout: 5s\nuser: ada\n");
        Map<String, String> environment = Map.of("GORDA_SELF", "a:1", "GORDA_PASSWORD", " secret ");
        assertThat(Settings.complete(CLUSTER, Map.of("config", file), List.of(), environment))
                .containsOnlyKeys("config", "connect-timeout", "user", "password")
                .containsEntry("password", " secret ");
        assertThat(Settings.complete(EMBEDDED, Map.of("config", file), List.of(), environment))
                .containsOnlyKeys("config", "members", "connect-timeout", "user", "password", "self");
    }

    @Test
    void variableThatIsNoSettingIsPassedOver() {
        assertThat(Settings.complete(
                        NODE, Map.of(), List.of(), Map.of("GORDA_PORT_7800_TCP", "x", "GORDA_MENBERS", "a:1")))
                .isEmpty();
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "CLUSTER | conect-timeout | there is no setting 'conect-timeout'; did you mean 'connect-timeout'?",
                "CLUSTER | members | 'members' is no setting for jdbc:gorda://HOST:PORT,.../DB but for gorda node and jdbc:gorda:derby:PATH",
                "EMBEDDED | DURABILTY | there is no setting 'DURABILTY'; did you mean 'durability'?",
                "EMBEDDED | colation | there is no setting 'colation'; did you mean 'collation'?",
                "EMBEDDED | services | 'services' is no setting for jdbc:gorda:derby:PATH but for gorda node",
                "NODE | connect-timeout | 'connect-timeout' is no setting for gorda node",
            })
    void keyThatIsNotKnownNamesTheNearestOrItsPlace(Setting.Use use, String key, String message) throws IOException {
        List<String> others = use == EMBEDDED ? List.of("collation") : List.of();
        assertThatThrownBy(() -> Settings.complete(use, Map.of(key, "x"), others, Map.of()))
                .isInstanceOf(ReplicaException.class)
                .hasMessageContaining(message);
    }

    @ParameterizedTest
    @CsvSource(
            delimiter = '|',
            value = {
                "durablity: group | gorda.yaml: there is no setting 'durablity'; did you mean 'durability'?",
                "self: | gorda.yaml: self has no value",
                "password: null | gorda.yaml: password has no value",
                "just text | gorda.yaml is not a list of 'key: value' lines",
                "a: [ | gorda.yaml is not YAML",
            })
    void badFileGetsOneLineThatNamesIt(String text, String message) throws IOException {
        String file = file(text);
        assertThatThrownBy(() -> Settings.complete(NODE, Map.of("config", file), List.of(), Map.of()))
                .isInstanceOf(ReplicaException.class)
                .message()
                .contains(message)
                .doesNotContain("\n");
    }

    @ParameterizedTest
    @ValueSource(
            strings = {"12e4", "1.10", "007", "0x1F", "-0", "12345678901234567890", "true", "~", "1_000", "2024-10-01"})
    void valuesOfAFileAreAsTheyAreWritten(String value) throws IOException {
        String file = file("password: " + value + "\nmembers: [a:1, " + value + "]\n");
        assertThat(Settings.complete(EMBEDDED, Map.of("config", file), List.of(), Map.of()))
                .containsEntry("password", value)
                .containsEntry("members", "a:1," + value);
    }

    @Test
    void fileThatIsNotThereIsNamed() {
        assertThatThrownBy(() -> Settings.complete(NODE, Map.of(), List.of(), Map.of("GORDA_CONFIG", "nosuch.yaml")))
                .isInstanceOf(ReplicaException.class)
                .hasMessageContaining("nosuch.yaml");
    }

    /** The table in the docs is made from the settings; if it differs, the failure prints what it should be. */
    @Test
    void docsHaveTheTableOfAllSettings() throws IOException {
        String table = Arrays.stream(Setting.values()).map(SettingsTest::row).collect(Collectors.joining());
        assertThat(Files.readString(Path.of("..", "..", "docs", "jdbc.md")))
                .as("docs/jdbc.md has the rows\n%s", table)
                .contains(table);
    }

    private static String row(Setting setting) {
        return "| `" + setting.key() + "` | " + mark(setting, NODE) + " | " + mark(setting, EMBEDDED) + " | "
                + mark(setting, CLUSTER) + " | " + setting.range().replace("|", ", ") + " | " + setting.standard()
                + " | " + setting.text() + " |\n";
    }

    private static String mark(Setting setting, Setting.Use use) {
        return setting.isFor(use) ? "x" : "";
    }
}
