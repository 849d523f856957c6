package org.gorda.replicator.node;

import java.time.Duration;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Optional;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Consumer;
import java.util.stream.Collectors;
import org.gorda.replicator.engine.ReplicaException;
import org.gorda.replicator.engine.ReplicaState;
import org.jspecify.annotations.Nullable;

/** What the replicas of a group hold at one place in the order, as they get there one by one. Confined to one thread. */
final class Contents {

    private static final Duration POLL = Duration.ofMillis(20);
    private static final Duration LOOK = Duration.ofSeconds(1);

    /** One that has not told yet. */
    private static final class Awaited {
        final String service;
        long answeredNanos = System.nanoTime();
        long lookedNanos = answeredNanos;
        String stands = "";

        Awaited(String service) {
            this.service = service;
        }
    }

    private final NodeClient client;
    private final NodeStatus leader;
    private final ReplicaContent reference;
    private final Consumer<String> progress;
    private final Map<String, Awaited> awaited = new LinkedHashMap<>();
    private final Map<String, ReplicaContent> found = new HashMap<>();
    private final Map<String, String> missing = new LinkedHashMap<>();

    /**
     * @param leader of the verification, which knows all others
     * @param reference what that one found
     * @param progress told who is waited for, as often as that changes
     */
    Contents(NodeClient client, NodeStatus leader, ReplicaContent reference, Consumer<String> progress) {
        this.client = client;
        this.leader = leader;
        this.reference = reference;
        this.progress = progress;
        leader.services().forEach((member, service) -> awaited.put(member, new Awaited(service)));
    }

    /** Those that were there in time. */
    List<ReplicaContent> found() {
        return leader.services().keySet().stream()
                .map(found::get)
                .filter(Objects::nonNull)
                .toList();
    }

    /** The others, and why. */
    Map<String, String> missing() {
        return missing;
    }

    /**
     * Waits for all that may still come there.
     *
     * @param wait how long that is, for people
     */
    void await(long endNanos, Duration wait) {
        while (true) {
            for (Map.Entry<String, Awaited> each : List.copyOf(awaited.entrySet())) {
                String why = ask(each.getKey(), each.getValue());
                if (why != null) {
                    missing.put(each.getKey(), why);
                }
            }
            awaited.keySet().removeAll(found.keySet());
            awaited.keySet().removeAll(missing.keySet());
            if (awaited.isEmpty()) {
                return;
            }
            if (System.nanoTime() - endNanos > 0) {
                awaited.forEach((member, one) -> missing.put(
                        member,
                        "has not told within " + wait.toSeconds() + " s what it holds at " + reference.position()
                                + one.stands + "; --wait gives it longer"));
                return;
            }
            progress.accept(awaited.entrySet().stream()
                    .map(each -> each.getKey() + each.getValue().stands)
                    .collect(Collectors.joining("; ", "what is held at " + reference.position() + " by ", "")));
            LockSupport.parkNanos(POLL.toNanos());
        }
    }

    /** Why it will not tell; null if it has, or may yet. */
    private @Nullable String ask(String member, Awaited one) {
        try {
            Optional<ReplicaContent> content = client.content(one.service, reference.request());
            one.answeredNanos = System.nanoTime();
            if (content.isPresent()) {
                found.put(member, content.get());
                return null;
            }
            return one.answeredNanos - one.lookedNanos > LOOK.toNanos() ? look(one) : null;
        } catch (ReplicaException e) {
            long silentNanos = System.nanoTime() - one.answeredNanos;
            if (!NodeClient.isSilence(e)) {
                return String.valueOf(e.getMessage());
            }
            if (silentNanos > NodeClient.PATIENCE.toNanos()) {
                return one.service + " has not answered for "
                        + Duration.ofNanos(silentNanos).toSeconds() + " s";
            }
            one.stands = " (no answer)";
            return null;
        }
    }

    /** How far it is; why it will not get there, if so. */
    private @Nullable String look(Awaited one) {
        NodeStatus now = client.status(one.service);
        one.lookedNanos = System.nanoTime();
        if (now.isOfAnotherGroup(leader)) {
            return "belongs to another group, " + now.history() + "; this one is " + leader.history();
        }
        if (now.state().equals(ReplicaState.STOPPED.toString())) {
            return "has stopped: " + now.explanation();
        }
        one.stands = " (" + now.state() + " at " + now.applied() + ": " + now.explanation() + ")";
        return null;
    }
}
