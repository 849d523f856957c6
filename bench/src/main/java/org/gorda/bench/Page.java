package org.gorda.bench;

import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.Map;

/** Writes pages of one file, which need nothing else and no network. */
public final class Page {

    private static final String UPLOT = "/META-INF/resources/webjars/uplot/1.6.30/dist/";

    /** Escapes what could end a script. */
    private static final Gson JSON = new GsonBuilder()
            .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
            .serializeNulls()
            .create();

    private Page() {}

    /**
     * Writes one.
     *
     * @param template a resource beside a class, in which the charts' parts and the content are put where comments name them
     */
    public static void write(Path file, Class<?> beside, String template, Object content) {
        String page = resource(beside, template);
        for (Map.Entry<String, String> part : Map.of(
                        "/* uPlot.css */", resource(Page.class, UPLOT + "uPlot.min.css"),
                        "/* uPlot.js */", resource(Page.class, UPLOT + "uPlot.iife.min.js"),
                        "/* content */", "const content = " + JSON.toJson(content) + ";")
                .entrySet()) {
            page = page.replace(part.getKey(), part.getValue());
        }
        try {
            Files.createDirectories(file.toAbsolutePath().getParent());
            Files.writeString(file, page);
        } catch (IOException e) {
            throw new UncheckedIOException(file + " cannot be written", e);
        }
    }

    private static String resource(Class<?> beside, String name) {
        try (InputStream in = beside.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("no " + name + " on the class path");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
