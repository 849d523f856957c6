package org.gorda.jgcs.simulated;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.time.Duration;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.SplittableRandom;
import java.util.TreeMap;
import java.util.concurrent.CompletableFuture;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupListener;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.View;
import org.gorda.jgcs.raft.core.Configuration;
import org.gorda.jgcs.raft.core.RaftCore;
import org.gorda.jgcs.raft.core.Standing;

/**
 * One seeded run of a group under random faults, with a user that keeps what it is given. What must hold: members deliver the same
 * message at the same position; in order; each once and in the order of its sender; what a sender saw delivered survives; who asks
 * what was decided before is told of all that anybody was given as decided; and once the faults end, everybody has everything. In every third run
 * members deliver ahead of a majority while they lead: what they are given so may be lost if they are told so, and counts once it is decided.
 * In every second run members are added and removed meanwhile.
 */
final class RandomFaults {

    private static final Duration CHAOS = Duration.ofSeconds(20);

    private final Simulation simulation;
    private final SplittableRandom random;
    private final SimulatedProtocol protocol;
    private final List<MemberId> names = new ArrayList<>();
    private final TreeMap<MemberId, User> users = new TreeMap<>();
    private final int formed;
    private final boolean moves;

    /** What was delivered at each index, by whoever was first. */
    private final TreeMap<Long, Message> history = new TreeMap<>();

    private final boolean ahead;
    private boolean chaos = true;
    private int sent;
    private int deliveredAhead;
    private int lostAhead;
    private int changes;
    private int reads;

    RandomFaults(long seed) {
        simulation = new Simulation(seed);
        ahead = seed % 3 == 0;
        random = simulation.random("faults");
        protocol = new SimulatedProtocol(simulation);
        moves = seed % 2 == 0;
        formed = List.of(1, 2, 3, 3, 3, 3, 4, 5, 5).get(random.nextInt(9));
        int others = moves ? random.nextInt(3) : 0;
        for (int i = 0; i < formed + others; i++) {
            names.add(new MemberId("m" + i + ":7800"));
        }
        names.forEach(name -> users.put(name, new User(name)));
    }

    /** Runs it; returns what went wrong, nothing if all is well. */
    List<String> run() {
        users.values().forEach(User::start);
        protocol.network().latency(100_000 + random.nextLong(2_000_000));
        if (random.nextBoolean()) {
            protocol.network()
                    .faults(
                            random.nextDouble() * 0.05,
                            random.nextDouble() * 0.05,
                            random.nextDouble() * 0.02,
                            random.nextBoolean() ? 400_000_000L : 20_000_000_000L);
        }
        simulation.schedule(CHAOS.toNanos(), "calm", () -> {
            chaos = false;
            protocol.network().heal();
            users.values().forEach(User::calm);
            takeBack();
        });
        nextFault();
        users.values().forEach(User::nextSend);
        simulation.run(CHAOS);
        boolean settled = simulation.runUntil(this::isSettled, Duration.ofMinutes(2));
        if (!settled) {
            simulation.broken("not settled: " + users.values());
        }
        check();
        return simulation.broken();
    }

    long hash() {
        return simulation.hash();
    }

    int messages() {
        return history.size();
    }

    /** How many messages were delivered before they were decided. */
    int deliveredAhead() {
        return deliveredAhead;
    }

    /** How often a member lost such ones. */
    int lostAhead() {
        return lostAhead;
    }

    /** How often somebody was added or removed. */
    int changes() {
        return changes;
    }

    /** How many were answered what was decided before they asked. */
    int reads() {
        return reads;
    }

    /** After the faults: whoever is no member, is added. */
    private void takeBack() {
        anyLeader()
                .ifPresent(leading -> names.stream()
                        .filter(name -> leading.group.core().configuration().member(name) == null)
                        .findFirst()
                        .ifPresent(leading.group::add));
        simulation.schedule(1_000_000_000L, "take back", this::takeBack);
    }

    private void nextFault() {
        simulation.schedule(random.nextLong(2_000_000_000L), "fault", () -> {
            if (chaos) {
                fault();
                nextFault();
            }
        });
    }

    private User anyUser() {
        return users.get(names.get(random.nextInt(names.size())));
    }

    private MemberId anyName() {
        return names.get(random.nextInt(names.size()));
    }

    private void fault() {
        User user = anyUser();
        int kind = random.nextInt(moves ? 20 : 13);
        simulation.note("fault " + kind + " " + user.name);
        switch (kind) {
            case 0, 1 -> user.restart(() -> {});
            case 2 -> users.values().forEach(each -> each.restart(() -> {}));
            case 3 -> {
                MemberId alone = anyName();
                names.forEach(peer -> {
                    protocol.network().cut(alone, peer);
                    protocol.network().cut(peer, alone);
                });
            }
            case 4 -> protocol.network().cut(anyName(), anyName());
            case 5, 6 ->
                names.forEach(a -> names.forEach(b -> protocol.network().mend(a, b)));
            case 7 -> {
                MemberId from = anyName();
                MemberId to = anyName();
                protocol.network().hold(from, to);
                simulation.schedule(
                        random.nextLong(5_000_000_000L),
                        "release",
                        () -> protocol.network().release(from, to));
            }
            case 8 -> {
                user.group.pause(true);
                SimulatedGroup paused = user.group;
                simulation.schedule(random.nextLong(4_000_000_000L), "go on", () -> paused.pause(false));
            }
            case 9 -> {
                if (user.hasForcedAll() || othersAreWell(user)) {
                    user.restart(() -> protocol.disk(user.name).losePower());
                }
            }
            case 10 -> {
                if (othersAreWell(user)) {
                    boolean tail = random.nextBoolean();
                    user.restart(() -> {
                        if (tail) {
                            protocol.disk(user.name).loseTail(1 + random.nextInt(50));
                        } else {
                            protocol.disk(user.name).wipe();
                        }
                    });
                }
            }
            case 11 -> {
                protocol.disk(user.name).fail(true);
                simulation.schedule(
                        random.nextLong(1_000_000_000L),
                        "mended disk",
                        () -> user.restart(() -> protocol.disk(user.name).fail(false)));
            }
            case 12 -> {
                if (user.group.view().members().size() > 1) {
                    user.group.transferLeadership(anyName());
                }
            }
            case 13, 14, 15 -> changed(anyLeader().orElse(user).group.add(anyName()));
            case 16 -> changed(user.group.add(anyName()));
            default -> {
                MemberId removed = anyName();
                anyLeader()
                        .filter(leader -> canDoWithout(leader, removed))
                        .ifPresent(leader -> changed(leader.group.remove(removed)));
            }
        }
    }

    /** Whether the others are more than one without this member, and one that has just forgotten everything is not counted for one of them. */
    private boolean canDoWithout(User leader, MemberId removed) {
        Configuration current = leader.group.core().configuration();
        return current.voters() > 1
                && current.members().stream()
                        .allMatch(member -> member.id().equals(removed) || remembers(member, current));
    }

    private void changed(CompletableFuture<View> change) {
        change.whenComplete((view, failure) -> changes += failure == null ? 1 : 0);
    }

    private Optional<User> anyLeader() {
        return users.values().stream()
                .filter(user ->
                        user.group.stopped().isEmpty() && user.group.view().isLeader(user.name))
                .findFirst();
    }

    /** Whether a majority remembers everything even if this member forgets something, and no other is about to. */
    private boolean othersAreWell(User forgetful) {
        Optional<User> leading = anyLeader();
        boolean formsItsOwn = formed == 1 && forgetful.name.equals(names.get(0)); // it is to ask nobody else
        if (leading.isEmpty() || formsItsOwn) {
            return false;
        }
        RaftCore leader = leading.get().group.core();
        Configuration decided = leader.configurationAt(leader.commitIndex());
        return decided.voters() >= 3
                && decided.member(forgetful.name) != null
                && decided.members().stream()
                        .allMatch(member -> member.id().equals(forgetful.name) || remembers(member, decided));
    }

    /** Whether a member counts, and knows of no other configuration. */
    private boolean remembers(Configuration.Member member, Configuration decided) {
        User user = users.get(member.id());
        return user.group.stopped().isEmpty()
                && user.group.core().standing() == Standing.CERTAIN
                && user.group.core().configuration().members().equals(decided.members())
                && member.voter()
                && member.admission() == protocol.disk(member.id()).mount(false).admission();
    }

    private boolean isSettled() {
        if (chaos) {
            return false;
        }
        users.values().forEach(User::confirm);
        long last = history.isEmpty() ? 0 : history.lastKey();
        for (User user : users.values()) {
            if (user.group.stopped().isPresent()
                    || !user.group.isConfirmed()
                    || user.lastIndex() < last
                    || !user.unconfirmed.isEmpty()
                    || user.group.core().standing() != Standing.CERTAIN
                    || !user.group.core().configuration().isVoter(user.name)) {
                return false;
            }
        }
        return sent > 0 || history.isEmpty();
    }

    private void check() {
        for (User user : users.values()) {
            List<Message> expected = new ArrayList<>(history.values());
            List<Message> got = user.kept;
            if (got.size() != expected.size()) {
                simulation.broken(user.name + " has " + got.size() + " of " + expected.size() + " messages");
            } else if (!ids(got).equals(ids(expected))) {
                simulation.broken(user.name + " has other messages than the history");
            }
            Map<MemberId, MessageId> last = new HashMap<>();
            for (Message message : got) {
                MessageId id = message.id();
                MessageId before = last.put(id.member(), id);
                boolean fits = before == null
                        || (id.incarnation() > before.incarnation() && id.sequence() == 1)
                        || (id.incarnation() == before.incarnation() && id.sequence() == before.sequence() + 1);
                if (!fits) {
                    simulation.broken(user.name + " has " + id + " after " + before);
                }
            }
        }
    }

    private static List<MessageId> ids(List<Message> messages) {
        return messages.stream().map(Message::id).toList();
    }

    /** The user of one member: sends, and keeps what is delivered over restarts, but may lose the end of it. */
    private final class User implements GroupListener {
        final MemberId name;
        Service.Durability durability;
        SimulatedGroup group;
        List<Message> kept = new ArrayList<>();

        /** Delivered, and not known to be decided. */
        final Deque<Message> unconfirmed = new ArrayDeque<>();

        /** Up to here its user has got all from another. */
        private Position received = Position.START;

        private long released;
        private boolean restarting;

        User(MemberId name) {
            this.name = name;
            this.durability = drawn();
            this.group = open();
        }

        private Service.Durability drawn() {
            return random.nextInt(3) == 0 ? Service.Durability.SYNCED : Service.Durability.WRITTEN;
        }

        /** Also what its runs before only wrote, if they did: it does so when it starts. */
        boolean hasForcedAll() {
            return durability == Service.Durability.SYNCED && group.stopped().isEmpty();
        }

        private SimulatedGroup open() {
            GroupConfiguration configuration = GroupConfiguration.builder("test", name, Path.of("unused"))
                    .members(names.subList(0, formed))
                    .durability(durability)
                    .sendBytesMax(64 << 10)
                    .build();
            SimulatedGroup opened = protocol.open(configuration, protocol.offers(configuration), this);
            if (random.nextInt(4) == 0) {
                opened.clockAhead(Duration.ofMinutes(random.nextInt(60))); // and behind that the next time
            }
            return opened;
        }

        void start() {
            group.deliverAhead(ahead);
            group.join(
                    lastIndex() <= received.index()
                            ? received
                            : kept.get(kept.size() - 1).position());
        }

        void restart(Runnable meanwhile) {
            if (restarting) {
                return;
            }
            restarting = true;
            group.kill();
            meanwhile.run();
            simulation.schedule(random.nextLong(1_500_000_000L), "restart", () -> {
                restarting = false;
                int lost = random.nextInt(4) == 0 ? random.nextInt(kept.size() + 1) : 0;
                while (lost-- > 0 && lastIndex() > released) {
                    kept.remove(kept.size() - 1);
                }
                unconfirmed.removeIf(message -> message.position().index() > lastIndex());
                durability = drawn();
                group = open();
                start();
            });
        }

        void calm() {
            group.pause(false);
            protocol.disk(name).fail(false);
            if (group.stopped().isPresent()) {
                restart(() -> {});
            }
        }

        long lastIndex() {
            return kept.isEmpty() ? 0 : kept.get(kept.size() - 1).position().index();
        }

        void nextSend() {
            simulation.schedule(random.nextLong(20_000_000), "send", () -> {
                send();
                if (chaos) {
                    nextSend();
                }
            });
        }

        private void send() {
            if (group.stopped().isPresent()) {
                return;
            }
            byte[] payload = new byte[random.nextInt(2000)];
            try {
                group.multicast(ByteBuffer.wrap(payload), Duration.ZERO);
                sent++;
            } catch (GroupException e) {
                simulation.note("refused");
            }
            if (random.nextInt(20) == 0) {
                long decided = history.isEmpty() ? 0 : history.lastKey();
                group.readPosition().thenAccept(position -> read(decided, position));
            }
        }

        private void read(long decided, Position from) {
            reads++;
            if (from.index() < decided) {
                simulation.broken(name + " is told to read from " + from + ", when " + decided + " was decided before");
            }
        }

        @Override
        public void onMessage(Message message) {
            long index = message.position().index();
            if (index <= lastIndex()) {
                simulation.broken(name + " gets " + index + " after " + lastIndex());
            }
            confirm();
            kept.add(message);
            if (index > group.lastCommitted().index()) {
                deliveredAhead++;
                unconfirmed.addLast(message);
            } else {
                decided(message);
            }
            if (random.nextInt(200) == 0) {
                long some = kept.get(random.nextInt(kept.size())).position().index();
                if (history.containsKey(some)) {
                    released = Math.max(released, some);
                    group.release(history.get(released).position());
                }
            }
        }

        /** What was delivered ahead and is decided now, counts. */
        private void confirm() {
            while (!unconfirmed.isEmpty()
                    && unconfirmed.getFirst().position().index()
                            <= group.lastCommitted().index()) {
                Message message = unconfirmed.getFirst();
                boolean known = message.position().index() <= group.firstHeld().index();
                if (!known && !isInTheLog(message)) {
                    return; // about to be told of the gap
                }
                unconfirmed.removeFirst();
                if (!known) {
                    decided(message);
                }
            }
        }

        private boolean isInTheLog(Message message) {
            try {
                return group.at(message.position().index()).position().equals(message.position());
            } catch (GroupException e) {
                return false; // no message there
            }
        }

        private void decided(Message message) {
            long index = message.position().index();
            Message first = history.putIfAbsent(index, message);
            if (first != null
                    && (!first.position().equals(message.position())
                            || !first.id().equals(message.id())
                            || !first.payload().equals(message.payload()))) {
                simulation.broken(name + " gets " + message.id() + " at " + index + " where another got " + first.id());
            }
            if (first == null && !history.lastKey().equals(index)) {
                simulation.broken(name + " gets " + message.id() + " at " + index + ", which others passed over");
            }
        }

        @Override
        public void onCaughtUp(Position upTo) {
            simulation.note("caught up");
            confirm();
        }

        @Override
        public void onView(View view) {
            simulation.note("view " + view.leader());
        }

        @Override
        public void onGap(Position firstHeld, String reason) {
            // Stands for state transfer: another member's user has everything up to there.
            kept = new ArrayList<>(history.headMap(firstHeld.index(), true).values());
            received = firstHeld;
            released = Math.max(released, lastIndex());
            unconfirmed.clear();
            if (ahead) {
                lostAhead++;
                restart(() -> {}); // what it had sent may be lost, so that its next messages would not follow
            } else {
                group.join(firstHeld);
            }
        }

        @Override
        public void onStop(GroupException cause) {
            if (!chaos) {
                restart(() -> {});
            }
        }

        @Override
        public String toString() {
            return "\n" + name + " " + group.core().explain() + ", "
                    + group.core().standing() + ", last "
                    + group.core().lastIndex() + ", committed " + group.core().commitIndex() + ", delivered "
                    + group.deliveredIndex() + ", confirmed " + group.isConfirmed() + ", kept " + kept.size() + ", "
                    + group.stopped().map(Throwable::getMessage).orElse("runs");
        }
    }
}
