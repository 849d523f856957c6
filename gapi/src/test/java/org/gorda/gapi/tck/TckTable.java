package org.gorda.gapi.tck;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.IOException;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.Set;
import java.util.TreeSet;
import java.util.concurrent.ConcurrentHashMap;
import java.util.regex.Pattern;
import java.util.stream.Stream;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.extension.AfterEachCallback;
import org.junit.jupiter.api.extension.ConditionEvaluationResult;
import org.junit.jupiter.api.extension.ExecutionCondition;
import org.junit.jupiter.api.extension.ExtensionContext;
import org.opentest4j.TestAbortedException;

/**
 * The table of cases and bindings in {@code docs/tck.md}: notes how each case of the suites ends, and compares the table with it.
 * Thread-safe.
 */
public final class TckTable implements AfterEachCallback, ExecutionCondition {

    /** All suites; a binding runs every one. */
    public static final List<Class<? extends BindingTck>> SUITES = List.of(
            RowChangesTck.class,
            ConstraintsTck.class,
            ValuesTck.class,
            LargeObjectsTck.class,
            GeneratedKeysTck.class,
            SchemaChangesTck.class,
            UsersTck.class,
            TransactionsTck.class,
            CommitAnswersTck.class,
            AbortsTck.class,
            ApplyTck.class,
            SnapshotsTck.class,
            CertificationKeysTck.class);

    private static final Pattern COMMENT = Pattern.compile("/\\*.*?\\*/", Pattern.DOTALL);
    private static final String LINES = "Lines of code, at most";
    private static final String PASSED = "passed";
    private static final String NOT_RUN = "not run";
    private static final Path FILE = Path.of("docs", "tck.md");

    /** By binding and case. */
    private static final Map<String, Map<String, String>> RESULTS = new ConcurrentHashMap<>();

    /** For JUnit. */
    public TckTable() {}

    @Override
    public ConditionEvaluationResult evaluateExecutionCondition(ExtensionContext context) {
        String reason = context.getTestInstance()
                .filter(BindingTck.class::isInstance)
                .flatMap(suite -> context.getTestMethod()
                        .map(method -> ((BindingTck) suite).tested().missing().get(caseOf(method))))
                .orElse(null);
        return reason == null ? ConditionEvaluationResult.enabled("") : ConditionEvaluationResult.disabled(reason);
    }

    @Override
    public void afterEach(ExtensionContext context) {
        Method method = context.getRequiredTestMethod();
        if (SUITES.contains(method.getDeclaringClass())) {
            String binding = ((BindingTck) context.getRequiredTestInstance())
                    .tested()
                    .binding()
                    .name();
            String result = context.getExecutionException()
                    .map(e -> e instanceof TestAbortedException ? "skipped" : "failed")
                    .orElse(PASSED);
            RESULTS.computeIfAbsent(binding, name -> new ConcurrentHashMap<>())
                    .merge(caseOf(method), result, (before, now) -> before.equals(PASSED) ? now : before);
        }
    }

    private static String caseOf(Method method) {
        return method.getDeclaringClass().getSimpleName() + "." + method.getName();
    }

    /** The names of all cases of a suite, for {@link TckBinding#missing}. */
    public static String[] casesOf(Class<? extends BindingTck> suite) {
        return cases(suite).stream()
                .map(name -> suite.getSimpleName() + "." + name)
                .toArray(String[]::new);
    }

    /**
     * To be called when all suites have run on the binding: fails if a case did not pass, or if the documentation said otherwise;
     * then it is right afterwards.
     */
    public static void verify(TckBinding tested) throws IOException {
        String binding = tested.binding().name();
        Map<String, String> results = new HashMap<>(RESULTS.getOrDefault(binding, Map.of()));
        results.put("Size." + LINES, size(tested));
        tested.missing().forEach((name, reason) -> results.put(name, "— " + reason));
        List<String> notPassed = new ArrayList<>();
        for (Class<?> suite : SUITES) {
            for (String name : cases(suite)) {
                String result = results.getOrDefault(suite.getSimpleName() + "." + name, NOT_RUN);
                if (!result.equals(PASSED) && !tested.missing().containsKey(suite.getSimpleName() + "." + name)) {
                    notPassed.add(suite.getSimpleName() + "." + name + ": " + result);
                }
            }
        }
        assertThat(SUITES.stream()
                        .flatMap(suite -> cases(suite).stream().map(name -> suite.getSimpleName() + "." + name)))
                .as("cases that there are")
                .containsAll(tested.missing().keySet());
        assertThat(notPassed).as("cases that did not pass on %s", binding).isEmpty();
        Path file = file();
        String before = Files.exists(file) ? Files.readString(file) : "";
        String after = table(binding, results, columns(before));
        if (!after.equals(before)) {
            Files.writeString(file, after);
        }
        assertThat(before)
                .as("%s was out of date and is right now: commit it", FILE)
                .isEqualTo(after);
    }

    /** How many lines of Java a module has, without tests, comments and empty ones. */
    public static int linesOfCode(String module) throws IOException {
        int lines = 0;
        Path sources = file().getParent().resolveSibling(module).resolve("src/main/java");
        try (Stream<Path> files = Files.walk(sources)) {
            for (Path source :
                    files.filter(file -> file.toString().endsWith(".java")).toList()) {
                String code = COMMENT.matcher(Files.readString(source)).replaceAll("");
                lines += (int) code.lines()
                        .filter(line -> !line.isBlank() && !line.strip().startsWith("//"))
                        .count();
            }
        }
        return lines;
    }

    /** In words that stay true for a while. */
    private static String size(TckBinding tested) throws IOException {
        List<String> sizes = new ArrayList<>();
        for (String module : tested.modules()) {
            sizes.add(module.replace("bindings/", "") + " " + (linesOfCode(module) + 499) / 500 * 500);
        }
        return String.join(", ", sizes);
    }

    private static Path file() {
        for (Path at = Path.of("").toAbsolutePath(); at != null; at = at.getParent()) {
            if (Files.isDirectory(at.resolve(FILE).getParent()) && Files.exists(at.resolve("LICENSE"))) {
                return at.resolve(FILE);
            }
        }
        throw new IllegalStateException(
                "there is no " + FILE.getParent() + " above " + Path.of("").toAbsolutePath());
    }

    private static Set<String> cases(Class<?> suite) {
        Set<String> names = new TreeSet<>();
        Arrays.stream(suite.getDeclaredMethods())
                .filter(method -> method.isAnnotationPresent(Test.class))
                .forEach(method -> names.add(method.getName()));
        return names;
    }

    /** What a table says, by binding and by suite and words of a case. */
    private static Map<String, Map<String, String>> columns(String markdown) {
        Map<String, Map<String, String>> columns = new LinkedHashMap<>();
        List<String> bindings = List.of();
        String suite = "";
        for (String line : markdown.lines().toList()) {
            if (line.startsWith("## ")) {
                suite = line.substring(3);
            } else if (line.startsWith("| Case |")) {
                bindings = cells(line);
            } else if (line.startsWith("| ") && !bindings.isEmpty()) {
                List<String> cells = cells(line);
                for (int i = 1; i < Math.min(cells.size(), bindings.size()); i++) {
                    columns.computeIfAbsent(bindings.get(i), name -> new LinkedHashMap<>())
                            .put(suite + "." + cells.get(0), cells.get(i));
                }
            }
        }
        return columns;
    }

    private static List<String> cells(String line) {
        return Arrays.stream(line.split("\\|")).skip(1).map(String::strip).toList();
    }

    private static String table(String binding, Map<String, String> results, Map<String, Map<String, String>> columns) {
        TreeSet<String> bindings = new TreeSet<>(columns.keySet());
        bindings.add(binding);
        int count = SUITES.stream().mapToInt(suite -> cases(suite).size()).sum();
        StringBuilder out = new StringBuilder("# What bindings are tested for\n\n")
                .append("The contract suites of `gapi`: ")
                .append(count)
                .append(
                        " cases, the same for each binding. A run of a binding's tests compares this page with what passed,\n")
                .append(
                        "fails if it differs, and writes it anew. A case that a binding does not run has the reason instead.\n");
        for (Class<?> suite : SUITES) {
            String title = words(suite.getSimpleName().replace("Tck", ""));
            out.append("\n## ").append(title).append("\n\n| Case |");
            bindings.forEach(name -> out.append(' ').append(name).append(" |"));
            out.append("\n|---|").append("---|".repeat(bindings.size())).append('\n');
            for (String name : cases(suite)) {
                out.append("| ").append(words(name)).append(" |");
                for (String column : bindings) {
                    String result = column.equals(binding)
                            ? results.getOrDefault(suite.getSimpleName() + "." + name, NOT_RUN)
                            : columns.getOrDefault(column, Map.of()).getOrDefault(title + "." + words(name), NOT_RUN);
                    out.append(' ').append(result).append(" |");
                }
                out.append('\n');
            }
        }
        out.append(
                        "\n## Size\n\nEach module's own, without tests, comments and empty lines. What GORDA's own had to write in 2008: ")
                .append("Derby 9,464, PostgreSQL 12,858, Sequoia 8,625.\n\n| Case |");
        bindings.forEach(name -> out.append(' ').append(name).append(" |"));
        out.append("\n|---|")
                .append("---|".repeat(bindings.size()))
                .append("\n| ")
                .append(LINES)
                .append(" |");
        bindings.forEach(column -> out.append(' ')
                .append(
                        column.equals(binding)
                                ? results.get("Size." + LINES)
                                : columns.getOrDefault(column, Map.of()).getOrDefault("Size." + LINES, NOT_RUN))
                .append(" |"));
        return out.append('\n').toString();
    }

    /** {@code keysThatCollide} as a sentence begins. */
    private static String words(String name) {
        String spaced = name.replaceAll("(?<=[a-z])(?=[A-Z])|(?<=[A-Z])(?=[A-Z][a-z])", " ")
                .toLowerCase(Locale.ENGLISH);
        return Character.toUpperCase(spaced.charAt(0)) + spaced.substring(1);
    }
}
