package org.gorda.bench.torture;

import com.google.gson.FieldNamingPolicy;
import com.google.gson.Gson;
import com.google.gson.GsonBuilder;
import java.io.IOException;
import java.io.InputStream;
import java.io.UncheckedIOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Map;

/** The page of a run: one file, which needs nothing else and no network. */
final class TorturePage {

    private static final String UPLOT = "/META-INF/resources/webjars/uplot/1.6.30/dist/";
    private static final String TEMPLATE = "torture.html";

    /** Escapes what could end a script. */
    private static final Gson JSON = new GsonBuilder()
            .setFieldNamingPolicy(FieldNamingPolicy.LOWER_CASE_WITH_UNDERSCORES)
            .serializeNulls()
            .create();

    private record Mark(String family, String text, double from, double to) {}

    private record Content(
            Torture.Result result, List<Timeline.Second> seconds, List<Mark> faults, List<String> findings) {}

    private TorturePage() {}

    static void write(
            Path file,
            Torture.Result result,
            List<Timeline.Second> seconds,
            List<FaultInjector.Done> done,
            List<String> findings) {
        List<Mark> marks = done.stream()
                .map(each -> new Mark(
                        each.fault().kind().family(), each.fault().describe(), each.fromSeconds(), each.toSeconds()))
                .toList();
        String page = resource(TEMPLATE);
        for (Map.Entry<String, String> part : Map.of(
                        "/* uPlot.css */", resource(UPLOT + "uPlot.min.css"),
                        "/* uPlot.js */", resource(UPLOT + "uPlot.iife.min.js"),
                        "/* content */",
                                "const content = " + JSON.toJson(new Content(result, seconds, marks, findings)) + ";")
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

    private static String resource(String name) {
        try (InputStream in = TorturePage.class.getResourceAsStream(name)) {
            if (in == null) {
                throw new IllegalStateException("no " + name + " on the class path");
            }
            return new String(in.readAllBytes(), StandardCharsets.UTF_8);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }
}
