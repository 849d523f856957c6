package org.gorda.bench.gcs;

import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayList;
import java.util.EnumMap;
import java.util.List;
import java.util.Locale;
import java.util.Map;
import java.util.concurrent.CompletableFuture;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.gorda.bench.workload.BenchException;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Service;

/**
 * The process of one member of all groups. It does what its standard input says, answers each line with one, and ends with its input,
 * so that it outlives its parent in no case.
 */
final class GroupMember {

    /** Of all groups: on a machine that is busy with all of them nobody is to be suspected. */
    private static final Duration ELECTION_TIMEOUT = Duration.ofSeconds(3);

    private static final Duration WAIT = Duration.ofSeconds(90);
    private static final long POLL_NANOS = TimeUnit.MILLISECONDS.toNanos(20);

    private final Map<Kind, Side> sides = new EnumMap<>(Kind.class);

    private GroupMember(int number, Path directory, List<Integer> ports) {
        int members = ports.size() / Kind.ALL.size();
        for (int i = 0; i < Kind.ALL.size(); i++) {
            Kind kind = Kind.ALL.get(i);
            List<MemberId> all = ports.subList(i * members, (i + 1) * members).stream()
                    .map(port -> new MemberId("127.0.0.1:" + port))
                    .toList();
            GroupConfiguration configuration = GroupConfiguration.builder(
                            "bench-" + kind, all.get(number), directory.resolve(kind + "-" + number))
                    .members(all)
                    .durability(Service.Durability.WRITTEN)
                    .electionTimeout(ELECTION_TIMEOUT)
                    .build();
            sides.put(kind, kind.open(configuration));
        }
    }

    /** Arguments: the member's number, a directory, and the ports of all members of the first kind, then of the next. */
    public static void main(String[] arguments) throws IOException {
        List<Integer> ports = new ArrayList<>();
        for (String port : arguments[2].split(",", -1)) {
            ports.add(Integer.valueOf(port));
        }
        GroupMember member = new GroupMember(Integer.parseInt(arguments[0]), Path.of(arguments[1]), ports);
        ExecutorService worker = Executors.newSingleThreadExecutor();
        BufferedReader orders = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String order = orders.readLine(); order != null; order = orders.readLine()) {
            String line = order;
            worker.execute(() -> System.out.println(member.answer(line)));
        }
        Runtime.getRuntime().halt(0);
    }

    private String answer(String order) {
        try {
            return obey(order.split(" ", -1));
        } catch (InterruptedException | RuntimeException e) {
            return "failed " + String.valueOf(e).replaceAll("\\s+", " ");
        }
    }

    private String obey(String[] order) throws InterruptedException {
        switch (order[0]) {
            case "join" ->
                CompletableFuture.allOf(sides.values().stream()
                                .map(side -> CompletableFuture.runAsync(side::join, task -> new Thread(task).start()))
                                .toArray(CompletableFuture[]::new))
                        .join();
            case "form" -> awaitFormed();
            case "send" -> {
                Side.Sent sent = side(order[1])
                        .send(
                                Integer.parseInt(order[2]),
                                Integer.parseInt(order[3]),
                                Long.parseLong(order[4]),
                                Long.parseLong(order[5]));
                return String.format(
                        Locale.ROOT, "sent %d %.1f %.1f", sent.count(), sent.p50Micros(), sent.p99Micros());
            }
            case "deliver" -> {
                int digest = side(order[1]).awaitDelivered(Long.parseLong(order[2]));
                return "delivered " + digest + " " + side(order[1]).leads();
            }
            default -> throw new BenchException("there is no order " + order[0]);
        }
        return "done";
    }

    private Side side(String kind) {
        Side side = sides.get(Kind.valueOf(kind));
        if (side == null) {
            throw new BenchException("there is no " + kind);
        }
        return side;
    }

    private void awaitFormed() {
        long begin = System.nanoTime();
        for (Map.Entry<Kind, Side> side : sides.entrySet()) {
            while (!side.getValue().formed()) {
                if (System.nanoTime() - begin > WAIT.toNanos()) {
                    throw new BenchException(
                            side.getKey() + " has not formed a group within " + WAIT.toSeconds() + " s");
                }
                LockSupport.parkNanos(POLL_NANOS);
            }
        }
    }
}
