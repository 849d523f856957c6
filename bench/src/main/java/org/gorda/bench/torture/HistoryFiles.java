package org.gorda.bench.torture;

import com.google.gson.Gson;
import java.io.IOException;
import java.io.PrintWriter;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Comparator;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.gorda.bench.torture.ListTransaction.Append;
import org.gorda.bench.torture.ListTransaction.Read;
import org.gorda.bench.torture.ListTransaction.Step;

/** Writes histories for checkers that others have made, so that nobody has to believe ours. Confined to one thread. */
final class HistoryFiles {

    private static final Gson JSON = new Gson();

    private final Path directory;

    HistoryFiles(Path directory) {
        this.directory = directory;
    }

    private record Line(long nanos, String text) {}

    /** As Jepsen's and Elle's, a map in EDN for each event: {@code :invoke}, then {@code :ok}, {@code :fail} or {@code :info}. */
    void edn(String name, List<Recorded> history) {
        List<Line> lines = new ArrayList<>();
        for (Recorded recorded : history) {
            lines.add(new Line(recorded.begunNanos(), event(recorded, "invoke", recorded.begunNanos(), false)));
            lines.add(new Line(
                    recorded.endedNanos(),
                    event(
                            recorded,
                            recorded.outcome().type(),
                            recorded.endedNanos(),
                            recorded.outcome() == Outcome.OK)));
        }
        lines.sort(Comparator.comparingLong(Line::nanos));
        write(name + ".edn", out -> {
            for (int index = 0; index < lines.size(); index++) {
                out.println("{:index " + index + ", " + lines.get(index).text());
            }
        });
    }

    private static String event(Recorded recorded, String type, long nanos, boolean ended) {
        String state = recorded.state();
        return ":type :" + type + ", :process " + recorded.process() + ", :time " + nanos + ", :f :"
                + recorded.operation().function() + ", :value "
                + recorded.operation().value(ended)
                + (state == null || type.equals("invoke") ? "" : ", :error \"" + state + "\"")
                + "}";
    }

    /**
     * As dbcop reads it: a session after the other, a transaction in brackets. An append writes its value as the list's version, a
     * read has the version of the last element. Transactions that were refused, and whose outcome is unknown and that did not happen,
     * are left out.
     *
     * @param lists as they are in the end, by key
     */
    void dbcop(String name, List<Recorded> history, Map<Integer, int[]> lists) {
        Set<Integer> present =
                lists.values().stream().flatMapToInt(Arrays::stream).boxed().collect(Collectors.toSet());
        Map<Integer, List<String>> sessions = new TreeMap<>();
        for (Recorded recorded : history) {
            ListTransaction transaction = (ListTransaction) recorded.operation();
            boolean happened = recorded.outcome() == Outcome.OK
                    || (recorded.outcome() == Outcome.UNKNOWN
                            && transaction.steps().stream()
                                    .anyMatch(step -> step instanceof Append append && present.contains(append.value)));
            if (happened) {
                sessions.computeIfAbsent(recorded.process(), any -> new ArrayList<>())
                        .add(transaction.steps().stream()
                                .map(HistoryFiles::version)
                                .collect(Collectors.joining(" ", "[", "]")));
            }
        }
        write(name + ".hist", out -> {
            boolean first = true;
            for (List<String> session : sessions.values()) {
                if (!first) {
                    out.println("---");
                }
                first = false;
                session.forEach(out::println);
            }
        });
    }

    private static String version(Step step) {
        if (step instanceof Append append) {
            return "k" + append.key + ":=" + append.value;
        }
        int[] seen = ((Read) step).seen;
        return "k" + step.key + "==" + (seen == null || seen.length == 0 ? "?" : String.valueOf(seen[seen.length - 1]));
    }

    /**
     * For Porcupine: a JSON object for each transaction of one step, with the fields of its {@code Operation}; of unknown outcome
     * returns at the end of all time. Each list is an object of its own.
     */
    void porcupine(String name, List<Recorded> history) {
        write(name + ".porcupine.jsonl", out -> {
            for (Recorded recorded : history) {
                ListTransaction transaction = (ListTransaction) recorded.operation();
                if (transaction.steps().size() == 1 && recorded.outcome() != Outcome.FAILED) {
                    Step step = transaction.steps().get(0);
                    Map<String, Object> line = new LinkedHashMap<>();
                    line.put("clientId", recorded.process());
                    line.put("key", step.key);
                    line.put("input", step instanceof Append append ? "append " + append.value : "read");
                    line.put("call", recorded.begunNanos());
                    line.put("output", step instanceof Read read && read.seen != null ? read.seen : new int[0]);
                    line.put("return", recorded.outcome() == Outcome.OK ? recorded.endedNanos() : Long.MAX_VALUE);
                    out.println(JSON.toJson(line));
                }
            }
        });
    }

    private interface Content {
        void to(PrintWriter out);
    }

    private void write(String file, Content content) {
        try (PrintWriter out = new PrintWriter(Files.newBufferedWriter(directory.resolve(file)))) {
            content.to(out);
            if (out.checkError()) {
                throw new IOException("a write failed");
            }
        } catch (IOException e) {
            throw new UncheckedIOException(directory.resolve(file) + " cannot be written", e);
        }
    }
}
