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
 * They come in blocks, and a block is that of the process that listens on its first port, so that two processes at work at the same time
 * never give the same ones. Thread-safe.
 */
public final class LoopbackPorts {

    private static final int LOWEST = 15_000;

    /** Where Linux begins with its own, unless told otherwise; other systems begin higher. */
    private static final int USUAL_END = 32_768;

    private static final int BLOCK = 200;

    /** The rest of a block is left to what a toolkit opens beside a member's port: JGroups listens on one that is 100 to 103 higher, too. */
    private static final int BLOCK_GIVEN = 96;

    /** So many processes at least can be at work: each takes this part of all blocks at most. */
    private static final int SHARES = 8;

    /** But it may have so many, where there are few. */
    private static final int SHARE_LEAST = 2;

    private static final int LEAST_CHOICE = 1_000;

    private static final Path LINUX_RANGE = Path.of("/proc/sys/net/ipv4/ip_local_port_range");

    /** The first ports of this process's blocks, on which it listens for as long as it lives. */
    private static final List<ServerSocket> BLOCKS = new ArrayList<>();

    /** The block from which ports are given, counted as in {@link #BLOCKS}, and the next one within it. */
    private static int block = -1;

    private static int next = BLOCK_GIVEN + 1;

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
        List<Integer> found = new ArrayList<>();
        int blocksLeft = (end() - LOWEST) / BLOCK;
        while (found.size() < count) {
            if (next > BLOCK_GIVEN) {
                if (blocksLeft-- == 0 || !nextBlock()) {
                    throw new UncheckedIOException(new IOException(
                            "fewer than " + count + " ports from " + LOWEST + " to " + end() + " are free"));
                }
                next = 1;
            }
            int port = BLOCKS.get(block).getLocalPort() + next++;
            if (isFree(port) && !found.contains(port)) {
                found.add(port);
            }
        }
        return found;
    }

    /** Goes on with a new block, or the oldest of ours if we have our share or there are no others; false if there is none at all. */
    private static boolean nextBlock() {
        int all = (end() - LOWEST) / BLOCK;
        if (BLOCKS.size() < Math.max(SHARE_LEAST, all / SHARES) && takeBlock(all)) {
            return true;
        }
        block = BLOCKS.isEmpty() ? -1 : (block + 1) % BLOCKS.size();
        return block >= 0;
    }

    private static boolean takeBlock(int all) {
        int begin = block < 0
                ? (int) (ProcessHandle.current().pid() % all)
                : (BLOCKS.get(BLOCKS.size() - 1).getLocalPort() - LOWEST) / BLOCK + 1;
        for (int i = 0; i < all; i++) {
            try {
                BLOCKS.add(new ServerSocket(LOWEST + (begin + i) % all * BLOCK, 1, InetAddress.getLoopbackAddress()));
                block = BLOCKS.size() - 1;
                return true;
            } catch (IOException e) {
                // another's, or ours
            }
        }
        return false;
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
