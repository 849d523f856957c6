package org.gorda.replicator.engine;

import java.io.IOException;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.util.Collection;
import java.util.HashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.stream.Collectors;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;
import org.snakeyaml.engine.v2.api.Load;
import org.snakeyaml.engine.v2.api.LoadSettings;
import org.snakeyaml.engine.v2.exceptions.YamlEngineException;
import org.snakeyaml.engine.v2.nodes.Tag;
import org.snakeyaml.engine.v2.resolver.ScalarResolver;
import org.snakeyaml.engine.v2.schema.JsonSchema;

/**
 * Puts settings together from the places where they may stand. What stands nearer to the program wins: first what the program gives
 * (a URL over its properties; the command line), then the environment, {@code GORDA_CONNECT_TIMEOUT} for {@code connect-timeout},
 * then the YAML file that {@code config} names. Thread-safe.
 */
public final class Settings {

    private static final Logger LOG = LoggerFactory.getLogger(Settings.class);
    private static final String PREFIX = "GORDA_";
    private static final int FILE_BYTES_MAX = 1 << 20;

    /** Variables that were warned of, and those of others. */
    private static final Set<String> TOLD = ConcurrentHashMap.newKeySet();

    private Settings() {}

    /** Of a file's values, what is there is text: a password of {@code 1.10} is no number. */
    private static final class AsWritten extends JsonSchema {
        @Override
        public ScalarResolver getScalarResolver() {
            ScalarResolver json = super.getScalarResolver();
            return (value, isPlain) -> json.resolve(value, isPlain).equals(Tag.NULL) ? Tag.NULL : Tag.STR;
        }
    }

    /**
     * Adds to what the program gives what stands in the environment and in a file. The file and the environment may be shared: keys
     * that are for another use are passed over there. A variable that is no setting is warned of, because the environment is not
     * ours alone.
     *
     * @param given keys and values, the keys in any case
     * @param others keys beside the settings that are known
     * @return values by their keys in the settings' own spelling
     * @throws ReplicaException if a key is not known, naming it, where it stands and the nearest right one; or if the file cannot be
     *     read
     */
    public static Map<String, String> complete(Setting.Use use, Map<String, String> given, Collection<String> others) {
        return complete(use, given, others, System.getenv());
    }

    static Map<String, String> complete(
            Setting.Use use, Map<String, String> given, Collection<String> others, Map<String, String> environment) {
        Map<String, String> values = new HashMap<>();
        given.forEach((key, value) -> values.put(known(use, key, others), value));
        environment.forEach((variable, value) -> {
            if (variable.startsWith(PREFIX)) {
                String key = variable.substring(PREFIX.length()).replace('_', '-');
                Optional<Setting> setting = Setting.of(key);
                if (setting.isEmpty()) {
                    warn(variable, Setting.unknown(key.toLowerCase(Locale.ROOT), use, others.stream()));
                } else if (setting.get().isFor(use)) {
                    values.putIfAbsent(setting.get().key(), value);
                }
            }
        });
        String file = values.get(Setting.CONFIG.key());
        if (file != null) {
            load(Path.of(file)).forEach((key, value) -> {
                Optional<Setting> setting = Setting.of(key);
                if (setting.isEmpty() || setting.get().isFor(use)) {
                    values.putIfAbsent(knownIn(file, use, key, others), value);
                }
            });
        }
        return values;
    }

    private static String known(Setting.Use use, String key, Collection<String> others) {
        Optional<Setting> setting = Setting.of(key).filter(found -> found.isFor(use));
        if (setting.isEmpty() && !others.contains(key)) {
            throw Setting.unknown(key, use, others.stream());
        }
        return setting.map(Setting::key).orElse(key);
    }

    private static String knownIn(String file, Setting.Use use, String key, Collection<String> others) {
        try {
            return known(use, key, others);
        } catch (ReplicaException e) {
            throw new ReplicaException(file + ": " + e.getMessage(), e);
        }
    }

    private static void warn(String variable, ReplicaException unknown) {
        if (!variable.equals("GORDA_JAVA_OPTIONS") && TOLD.add(variable)) {
            LOG.warn("environment variable {} is passed over: {}", variable, unknown.getMessage());
        }
    }

    /** Reads a YAML file of {@code key: value}; a list of addresses may be a YAML list. */
    private static Map<String, String> load(Path file) {
        try {
            if (Files.size(file) > FILE_BYTES_MAX) {
                throw new ReplicaException(
                        file + " is larger than " + FILE_BYTES_MAX + " bytes, it is no configuration");
            }
            LoadSettings yaml = LoadSettings.builder()
                    .setLabel(file.toString())
                    .setSchema(new AsWritten())
                    .build();
            Object content = new Load(yaml).loadFromString(Files.readString(file));
            if (!(content instanceof Map<?, ?> map)) {
                throw new ReplicaException(file + " is not a list of 'key: value' lines");
            }
            return map.entrySet().stream()
                    .collect(Collectors.toMap(
                            entry -> String.valueOf(entry.getKey()),
                            entry -> text(file, String.valueOf(entry.getKey()), entry.getValue())));
        } catch (NoSuchFileException e) {
            throw new ReplicaException(file + " is not there: name the file that config is to be read from", e);
        } catch (IOException e) {
            throw new ReplicaException(file + " cannot be read: " + e, e);
        } catch (YamlEngineException e) {
            throw new ReplicaException(
                    file + " is not YAML: " + String.valueOf(e.getMessage()).replaceAll("\\s*\\R\\s*", ", "), e);
        }
    }

    private static String text(Path file, String key, @Nullable Object value) {
        if (value instanceof List<?> list) {
            return list.stream().map(String::valueOf).collect(Collectors.joining(","));
        }
        if (value == null || value instanceof Map<?, ?>) {
            throw new ReplicaException(file + ": " + key + " has no value that could be used");
        }
        return value.toString();
    }
}
