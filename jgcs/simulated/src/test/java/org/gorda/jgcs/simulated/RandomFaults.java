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
import java.util.SplittableRandom;
import java.util.TreeMap;
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
 * message at the same position; in order; each once and in the order of its sender; what a sender saw delivered survives; and once
 * the faults end, everybody has everything. In every third run members deliver ahead of a majority while they lead: what they are given so
 * may be lost if they are told so, and counts once it is decided.
 */
final class RandomFaults {

    private static final Duration CHAOS = Duration.ofSeconds(20);

    private final Simulation simulation;
    private final SplittableRandom random;
    private final SimulatedProtocol protocol;
    private final List<MemberId> names = new ArrayList<>();
    private final TreeMap<MemberId, User> users = new TreeMap<>();
    private final Service.Durability durability;

    /** What was delivered at each index, by whoever was first. */
    private final TreeMap<Long, Message> history = new TreeMap<>();

    private final boolean ahead;
    private boolean chaos = true;
    private int sent;
    private int deliveredAhead;
    private int lostAhead;

    RandomFaults(long seed) {
        simulation = new Simulation(seed);
        ahead = seed % 3 == 0;
        random = simulation.random("faults");
        protocol = new SimulatedProtocol(simulation);
        durability = random.nextInt(3) == 0 ? Service.Durability.SYNCED : Service.Durability.WRITTEN;
        int members = List.of(1, 2, 3, 3, 3, 3, 4, 5, 5).get(random.nextInt(9));
        for (int i = 0; i < members; i++) {
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
        int kind = random.nextInt(13);
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
                if (durability == Service.Durability.SYNCED || othersAreWell(user)) {
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
            default -> {
                if (user.group.view().members().size() > 1) {
                    user.group.transferLeadership(anyName());
                }
            }
        }
    }

    /** Whether a majority remembers everything even if this member forgets something, and no other is about to. */
    private boolean othersAreWell(User forgetful) {
        if (names.size() < 3) {
            return false;
        }
        for (User user : users.values()) {
            if (user == forgetful) {
                continue;
            }
            if (user.group.stopped().isPresent()) {
                return false;
            }
            RaftCore core = user.group.core();
            Configuration decided = core.configurationAt(core.commitIndex());
            boolean counts = users.keySet().stream().allMatch(name -> {
                Configuration.Member member = decided.member(name);
                return name.equals(forgetful.name)
                        || (member != null
                                && member.voter()
                                && member.admission()
                                        == protocol.disk(name).mount(false).admission());
            });
            if (!counts || core.standing() != Standing.CERTAIN) {
                return false;
            }
        }
        return true;
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
        SimulatedGroup group;
        List<Message> kept = new ArrayList<>();

        /** Delivered, and not known to be decided. */
        final Deque<Message> unconfirmed = new ArrayDeque<>();

        private long released;
        private boolean restarting;

        User(MemberId name) {
            this.name = name;
            this.group = open();
        }

        private SimulatedGroup open() {
            GroupConfiguration configuration = GroupConfiguration.builder("test", name, Path.of("unused"))
                    .members(names)
                    .durability(durability)
                    .sendBytesMax(64 << 10)
                    .build();
            return protocol.open(configuration, protocol.offers(configuration), this);
        }

        void start() {
            group.deliverAhead(ahead);
            group.join(
                    kept.isEmpty() ? start(released) : kept.get(kept.size() - 1).position());
        }

        private Position start(long index) {
            return index == 0 ? Position.START : history.get(index).position();
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
