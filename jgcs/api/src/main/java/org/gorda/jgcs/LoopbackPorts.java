package org.gorda.jgcs;

import java.io.IOException;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.NoSuchElementException;
import java.util.Scanner;

/**
 * Ports for groups that live on one machine, as in demonstrations and tests. They lie below those that the system gives to outgoing
 * connections: a member that is down would lose a port among these to whoever connects to anything meanwhile, and could not come back.
 * Thread-safe.
 */
public final class LoopbackPorts {

    private static final int LOWEST = 15_000;

    /** Where Linux begins with its own, unless told otherwise; other systems begin higher. */
    private static final int USUAL_END = 32_768;

    /** So far apart do processes begin that start one after the other. */
    private static final int USUAL_COUNT = 499;

    private static final int LEAST_CHOICE = 1_000;

    private static final Path LINUX_RANGE = Path.of("/proc/sys/net/ipv4/ip_local_port_range");

    private static int next;

    private LoopbackPorts() {}

    /**
     * Ports on which nothing listens now, each given once by this JVM before any is given again.
     *
     * @param count 1 to 100
     * @throws UncheckedIOException if there are not that many
     */
    public static synchronized List<Integer> free(int count) {
        if (count < 1 || count > 100) {
            throw new IllegalArgumentException("count is " + count + " but must be 1 to 100");
        }
        int end = end();
        if (next == 0) {
            next = LOWEST + (int) (ProcessHandle.current().pid() * USUAL_COUNT % (end - LOWEST));
        }
        List<Integer> found = new ArrayList<>();
        for (int tried = LOWEST; found.size() < count; tried++) {
            if (tried == end) {
                throw new UncheckedIOException(
                        new IOException("fewer than " + count + " ports from " + LOWEST + " to " + end + " are free"));
            }
            if (isFree(next)) {
                found.add(next);
            }
            next = next + 1 < end ? next + 1 : LOWEST;
        }
        return found;
    }

    private static boolean isFree(int port) {
        try (ServerSocket socket = new ServerSocket(port, 1, InetAddress.getLoopbackAddress())) {
            return socket.isBound();
        } catch (IOException e) {
            return false;
        }
    }

    private static int end() {
        try (Scanner range = new Scanner(LINUX_RANGE, StandardCharsets.US_ASCII)) {
            return Math.max(LOWEST + LEAST_CHOICE, Math.min(range.nextInt(), USUAL_END));
        } catch (IOException | NoSuchElementException e) {
            return USUAL_END;
        }
    }
}
