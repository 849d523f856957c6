package org.gorda.bench.workload;

import java.time.Duration;
import java.util.Collections;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;

/** Values of {@linkplain Parameter parameters}, all of them legal. Immutable. */
public final class Parameters {

    private final Map<String, String> values = new LinkedHashMap<>();

    /**
     * Takes what was chosen, and the standard for the rest.
     *
     * @throws BenchException if a value cannot be, or if there is no such parameter
     */
    public Parameters(List<Parameter> known, Map<String, String> chosen) {
        for (Parameter parameter : known) {
            String value = chosen.getOrDefault(parameter.name(), parameter.standard());
            parameter.check().accept(value);
            values.put(parameter.name(), value);
        }
        for (String name : chosen.keySet()) {
            if (!values.containsKey(name)) {
                throw new BenchException(
                        "there is no parameter '" + name + "': there are " + String.join(", ", values.keySet()));
            }
        }
    }

    public String text(String name) {
        String value = values.get(name);
        if (value == null) {
            throw new IllegalArgumentException("no parameter " + name);
        }
        return value;
    }

    public int number(String name) {
        return Math.toIntExact(Long.parseLong(text(name)));
    }

    public Duration duration(String name) {
        return Parameter.parse(name, text(name));
    }

    /** By name, in the order in which they are declared. */
    public Map<String, String> all() {
        return Collections.unmodifiableMap(values);
    }
}
