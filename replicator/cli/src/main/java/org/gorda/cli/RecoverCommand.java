package org.gorda.cli;

import java.nio.file.Path;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.concurrent.Callable;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Recovery;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.ReplicaRecovery;
import org.gorda.replicator.engine.Setting;
import org.gorda.replicator.engine.Settings;
import org.gorda.replicator.node.Node;
import org.jspecify.annotations.Nullable;
import picocli.CommandLine.ArgGroup;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;
import picocli.CommandLine.Option;
import picocli.CommandLine.Parameters;

@Command(
        name = "recover",
        mixinStandardHelpOptions = true,
        description = {
            "For a group that has lost its majority for good: shows how far a replica that does not run has come, and has it go on"
                    + " alone. A group that was only down needs no such step: start its replicas.",
            "Look at each replica that is left, take the one whose log ends in the higher term, or in the same term at the higher"
                    + " index, and give it --accept-loss. What the lost ones had acknowledged and it does not hold is lost.",
            "The others must not work with each other again: delete their databases and directories, start them, and take them in"
                    + " with: gorda member add.",
            "Where all replicas have lost their logs, or nothing but a backup of a database is left, there is nobody to go on with: a new"
                    + " group begins with the database that --new-group is given for, or with several that hold the same rows."
        })
@SuppressWarnings("FieldMayBeFinal") // by picocli
final class RecoverCommand implements Callable<Integer> {

    @Mixin
    private Output output = new Output();

    /** What is done, one of them at most: the first cannot be undone, and leaves nothing to do for the other. */
    private static final class Step {
        @Option(names = "--accept-loss", required = true, description = "Makes it the group's only replica.")
        private boolean acceptLoss;

        @Option(
                names = "--new-group",
                required = true,
                description =
                        "Has the database, which has no log, belong to no group any more, so that one can begin with it.")
        private boolean newGroup;
    }

    @Parameters(
            paramLabel = "DATABASE",
            arity = "0..1",
            description = "The replica's database, as its node was given it; if not here, by --config or the"
                    + " environment, which are read as its node does.")
    private @Nullable String database;

    @Option(
            names = "--config",
            paramLabel = "FILE",
            description =
                    "Its node's YAML file, with what is not said here: database, engine, directory, user, password.")
    private @Nullable String config;

    @Option(names = "--engine", description = "The kind of database (default: derby).")
    private @Nullable String engine;

    @Option(names = "--directory", description = "The replica's directory (default: DATABASE.gorda).")
    private @Nullable String directory;

    @Option(
            names = "--attribute",
            paramLabel = "KEY=VALUE",
            description =
                    "What else the database needs to be opened. A command line can be read by others: a password had"
                            + " better be in GORDA_PASSWORD, or in that file.")
    private Map<String, String> attributes = new HashMap<>();

    @ArgGroup
    private @Nullable Step step;

    /** What the command ends with. */
    private record Report(
            @Nullable String member,
            @Nullable String group,
            long timeline,
            long firstHeld,
            long lastTerm,
            long lastIndex,
            boolean certain,
            long storedTerm,
            long stored,
            List<String> voters,
            List<String> learners,
            @Nullable String obstacle) {

        private static List<String> names(List<MemberId> members) {
            return members.stream().map(MemberId::name).toList();
        }

        static Report of(ReplicaRecovery.Remains remains) {
            Recovery.Remains log = remains.log();
            long storedTerm = remains.stored() == null ? 0 : remains.stored().term();
            long stored = remains.stored() == null ? 0 : remains.stored().index();
            return log == null
                    ? new Report(
                            null, null, 0, 0, 0, 0, false, storedTerm, stored, List.of(), List.of(), remains.obstacle())
                    : new Report(
                            log.member().name(),
                            log.group(),
                            log.timeline(),
                            log.firstHeld(),
                            log.lastTerm(),
                            log.lastIndex(),
                            log.certain(),
                            storedTerm,
                            stored,
                            names(log.voters()),
                            names(log.learners()),
                            remains.obstacle());
        }
    }

    @Override
    public Integer call() {
        try (ReplicaRecovery recovery = open()) {
            if (step != null && step.acceptLoss) {
                recovery.goOnAlone();
            } else if (step != null && step.newGroup) {
                recovery.beginNewGroup();
            }
            ReplicaRecovery.Remains remains = recovery.remains();
            Report report = Report.of(remains);
            if (remains.log() == null) {
                tellWithoutLog(report);
            } else {
                tell(report);
            }
            output.result(report);
            return 0;
        }
    }

    /** As the node would, by the same settings. */
    private ReplicaRecovery open() {
        Map<String, String> given = new HashMap<>();
        give(given, Setting.DATABASE, database);
        give(given, Setting.CONFIG, config);
        give(given, Setting.ENGINE, engine);
        give(given, Setting.DIRECTORY, directory);
        Map<String, String> settings = Settings.complete(Setting.Use.NODE, given, List.of());
        String location = settings.get(Setting.DATABASE.key());
        if (location == null) {
            throw new ReplicaException("database is not set: give the database's path");
        }
        for (Setting setting : List.of(Setting.USER, Setting.PASSWORD)) {
            String value = settings.get(setting.key());
            if (value != null) {
                attributes.putIfAbsent(setting.key(), value);
            }
        }
        String kept = settings.get(Setting.DIRECTORY.key());
        Node.logBeside(location);
        return ReplicaRecovery.open(
                settings.getOrDefault(Setting.ENGINE.key(), "derby"),
                location,
                attributes,
                kept == null ? null : Path.of(kept));
    }

    private static void give(Map<String, String> given, Setting setting, @Nullable String value) {
        if (value != null) {
            given.put(setting.key(), value);
        }
    }

    private void tellWithoutLog(Report report) {
        output.line("log         " + report.obstacle());
        if (step != null) {
            output.line(
                    "database    belongs to no group any more: start it, and the group that is formed begins with it");
        } else {
            output.line("database    holds everything up to " + report.storedTerm() + "." + report.stored());
            output.line(
                    "            If a member of its group has its log, start that one and this. If none has, take the database"
                            + " that holds most (the higher term, before the dot, first), and give it --new-group.");
        }
    }

    private void tell(Report report) {
        output.line("replica     " + report.member() + " of group " + report.group());
        output.line("voters      " + String.join(", ", report.voters()) + ": "
                + (report.voters().size() / 2 + 1) + " must be there"
                + (report.certain()
                        ? ""
                        : " with whole logs, or all " + report.voters().size()));
        if (!report.learners().isEmpty()) {
            output.line("learners    " + String.join(", ", report.learners()));
        }
        output.line("log         ends in term " + report.lastTerm() + " at " + report.lastIndex() + ", begins after "
                + report.firstHeld()
                + (report.certain() ? "" : "; its end may be lost, for instance with the machine's power"));
        output.line("database    holds everything up to " + report.stored());
        if (report.obstacle() != null) {
            output.line("OBSTACLE    " + report.obstacle());
        } else if (step != null) {
            output.line("            It goes on alone, on timeline " + report.timeline() + ": start it.");
        }
    }
}
