package org.gorda.bench.torture;

import java.nio.file.Path;
import java.util.List;
import org.gorda.bench.Page;
import org.gorda.bench.Timeline;

/** The page of a run: one file, which needs nothing else and no network. */
final class TorturePage {

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
        Page.write(file, TorturePage.class, "torture.html", new Content(result, seconds, marks, findings));
    }
}
