package org.gorda.gapi.tck;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.stream.Stream;

/** What Linux tells of the connections of this machine. Stateless. */
public final class SocketTimers {

    private static final String KEEP_ALIVE = "02";
    private static final double TICKS_PER_SECOND = 100;

    private SocketTimers() {}

    /** After how many seconds the other end is asked whether it is still there, as the end at a port has it; infinite if it never is. */
    public static double secondsUntilAsked(int port, int otherPort) {
        try (Stream<String> four = Files.lines(Path.of("/proc/net/tcp"));
                Stream<String> six = Files.lines(Path.of("/proc/net/tcp6"))) {
            return Stream.concat(four, six)
                    .map(line -> List.of(line.strip().split("\\s+")))
                    .filter(line -> isPort(line.get(1), port) && isPort(line.get(2), otherPort))
                    .map(line -> line.get(5).split(":"))
                    .filter(timer -> timer[0].equals(KEEP_ALIVE))
                    .mapToDouble(timer -> Long.parseLong(timer[1], 16) / TICKS_PER_SECOND)
                    .findFirst()
                    .orElse(Double.POSITIVE_INFINITY);
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    private static boolean isPort(String address, int port) {
        return address.endsWith(String.format(":%04X", port));
    }
}
