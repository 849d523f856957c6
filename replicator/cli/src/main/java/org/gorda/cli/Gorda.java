package org.gorda.cli;

import java.time.Duration;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.Setting;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.HelpCommand;
import picocli.CommandLine.IParameterExceptionHandler;
import picocli.CommandLine.ITypeConverter;
import picocli.CommandLine.TypeConversionException;
import picocli.CommandLine.UnmatchedArgumentException;

/** The command {@code gorda}: 0 if what was asked for succeeded, 1 if it did not, 2 if its options could not be understood. */
@Command(
        name = "gorda",
        description = "Replicates databases from outside the database.",
        mixinStandardHelpOptions = true,
        version = "gorda 0.1.0-SNAPSHOT",
        subcommands = {
            DemoCommand.class,
            TortureCommand.class,
            StatusCommand.class,
            VerifyCommand.class,
            MemberCommand.class,
            ProtocolCommand.class,
            CertificateCommand.class,
            RecoverCommand.class,
            ConflictsCommand.class,
            ProbesCommand.class,
            CheckCommand.class,
            InstallationCommand.Install.class,
            InstallationCommand.Uninstall.class,
            SqlCommand.class,
            SimulateCommand.class,
            HelpCommand.class
        })
public final class Gorda {

    private Gorda() {}

    /** Understands {@code 500ms}, {@code 30s}, {@code 5m}, {@code 1h}. */
    private static final class DurationConverter implements ITypeConverter<Duration> {
        @Override
        public Duration convert(String text) {
            try {
                return Setting.duration("it", text);
            } catch (ReplicaException e) {
                throw new TypeConversionException(String.valueOf(e.getMessage()));
            }
        }
    }

    /** Runs the command. */
    public static void main(String[] arguments) {
        if (System.getProperty("gorda.log.level") == null && arguments.length > 0 && arguments[0].equals("node")) {
            System.setProperty("gorda.log.level", "INFO");
        }
        CommandLine line = line();
        try {
            System.exit(line.execute(arguments));
        } catch (Throwable e) { // an Error: threads that were begun would keep a process that does nothing
            try {
                e.printStackTrace(line.getErr());
            } finally {
                Runtime.getRuntime().halt(CommandLine.ExitCode.SOFTWARE);
            }
        }
    }

    /** All commands, and how each tells what went wrong. */
    static CommandLine line() {
        CommandLine line = new CommandLine(new Gorda());
        line.addSubcommand("node", NodeCommand.spec());
        line.addSubcommand("bench", BenchCommand.spec());
        line.registerConverter(Duration.class, new DurationConverter());
        line.setCaseInsensitiveEnumValuesAllowed(true);
        line.setExecutionExceptionHandler((failure, command, parsed) -> {
            command.getErr().println("gorda: " + Output.explain(failure));
            return CommandLine.ExitCode.SOFTWARE;
        });
        IParameterExceptionHandler usage = line.getParameterExceptionHandler();
        line.setParameterExceptionHandler((failure, all) -> {
            CommandLine command = failure.getCommandLine();
            String name = command.getCommandSpec().qualifiedName();
            if (command.getSubcommands().isEmpty()) {
                command.getErr().println("gorda: " + failure.getMessage());
                UnmatchedArgumentException.printSuggestions(failure, command.getErr());
                command.getErr().println(name + " --help lists all options");
            } else if (failure instanceof UnmatchedArgumentException unmatched && !unmatched.isUnknownOption()) {
                String word = unmatched.getUnmatched().get(0);
                String meant = Setting.nearest(word, command.getSubcommands().keySet().stream());
                command.getErr()
                        .println("gorda: there is no '" + name + " " + word + "'; did you mean '" + name + " " + meant
                                + "'?");
                command.getErr().println(name + " --help lists all commands");
            } else {
                return usage.handleParseException(failure, all);
            }
            return CommandLine.ExitCode.USAGE;
        });
        return line;
    }
}
