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
import java.util.Locale;
import java.util.Map;
import java.util.Set;
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
                + ", :isolation :"
                + recorded.operation()
                        .isolation()
                        .name()
                        .toLowerCase(Locale.ROOT)
                        .replace('_', '-')
                + (state == null || type.equals("invoke") ? "" : ", :error \"" + state + "\"")
                + "}";
    }

    /**
     * As dbcop reads it: sessions, each of one transaction in brackets, because a client's transactions go to any replica and are not
     * promised to follow each other there. An append writes its value as the list's version, a read has the version of the last
     * element, and is there once however often it was made (dbcop takes the second one for a cycle). Transactions that were
     * refused, and those of unknown outcome that did not happen, are left out.
     *
     * @param lists as they are in the end, by key
     */
    void dbcop(String name, List<Recorded> history, Map<Integer, int[]> lists) {
        Set<Integer> present =
                lists.values().stream().flatMapToInt(Arrays::stream).boxed().collect(Collectors.toSet());
        List<String> transactions = new ArrayList<>();
        for (Recorded recorded : history) {
            ListTransaction transaction = (ListTransaction) recorded.operation();
            boolean happened = recorded.outcome() == Outcome.OK
                    || (recorded.outcome() == Outcome.UNKNOWN
                            && transaction.steps().stream()
                                    .anyMatch(step -> step instanceof Append append && present.contains(append.value)));
            if (happened) {
                transactions.add(transaction.steps().stream()
                        .map(HistoryFiles::version)
                        .distinct()
                        .collect(Collectors.joining(" ", "[", "]")));
            }
        }
        write(name + ".hist", out -> out.println(String.join("\n---\n", transactions)));
    }

    private static String version(Step step) {
        if (step instanceof Append append) {
            return "k" + append.key + ":=" + append.value;
        }
        int[] seen = ((Read) step).seen;
        return "k" + step.key + "==" + (seen == null || seen.length == 0 ? "?" : String.valueOf(seen[seen.length - 1]));
    }

    /**
     * For Porcupine: a JSON object for each claim of a name that was given or found taken, with the fields of its {@code Operation}. Each
     * name is an object of its own, of which the first claim gets true and all others false. A claim of unknown outcome has no output,
     * and returns at the end of all time.
     */
    void porcupine(String name, List<Recorded> history) {
        write(name + ".porcupine.jsonl", out -> {
            for (Recorded recorded : history) {
                boolean taken = UniqueNames.TAKEN.equals(recorded.state());
                if (recorded.outcome() != Outcome.FAILED || taken) {
                    UniqueNames.Claim claim = (UniqueNames.Claim) recorded.operation();
                    boolean unknown = recorded.outcome() == Outcome.UNKNOWN;
                    Map<String, Object> line = new LinkedHashMap<>();
                    line.put("clientId", recorded.process());
                    line.put("key", claim.name());
                    line.put("input", claim.owner());
                    line.put("call", recorded.begunNanos());
                    line.put("output", unknown ? null : !taken);
                    line.put("return", unknown ? Long.MAX_VALUE : recorded.endedNanos());
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
