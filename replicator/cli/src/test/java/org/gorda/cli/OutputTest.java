package org.gorda.cli;

import static org.assertj.core.api.Assertions.assertThat;

import java.io.PrintWriter;
import java.io.StringWriter;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;
import picocli.CommandLine;
import picocli.CommandLine.Command;
import picocli.CommandLine.Mixin;

class OutputTest {

    private static final String TERMINAL = "picocli.ansi";

    @Command(name = "works")
    @SuppressWarnings("FieldMayBeFinal") // by picocli
    private static final class Works implements Runnable {
        @Mixin
        private Output output = new Output();

        @Override
        public void run() {
            output.line("one");
            output.share(0.425);
            output.line("two");
            output.share(1);
            output.line("three");
        }
    }

    @AfterEach
    void asItWas() {
        System.clearProperty(TERMINAL);
    }

    @ParameterizedTest
    @CsvSource({"true", "false"})
    void theBarIsBelowTheLinesOfATerminalAndNowhereElse(boolean terminal) {
        System.setProperty(TERMINAL, Boolean.toString(terminal));
        StringWriter out = new StringWriter();

        new CommandLine(new Works()).setOut(new PrintWriter(out)).execute();

        String bar = "[" + "#".repeat(17) + ".".repeat(23) + "] 42 %";
        String shown = "one\n\r\033[K" + bar + "\r\033[Ktwo\n" + bar + "\r\033[Kthree\n";
        assertThat(out.toString().replace(System.lineSeparator(), "\n"))
                .isEqualTo(terminal ? shown : "one\ntwo\nthree\n");
    }
}
