package org.gorda.replicator.simulator;

import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Deque;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Set;

/**
 * A database's table of locks: who holds what, and who waits in line for it. Whoever wants a lock waits behind those that were there before,
 * unless it has priority, or holds the lock already and wants more of it. Confined to one thread.
 */
final class Locks {

    /** What there is to lock. */
    enum Kind {
        SCHEMA,
        /** The table of accounts. */
        ACCOUNTS,
        ACCOUNT,
        /** An entry of the unique index. */
        NAME,
        BRANCH,
        /** The stretch of the foreign key's index in which a branch's accounts are. */
        CHILDREN
    }

    record Lock(Kind kind, int number) {}

    enum Mode {
        /** To change something in what is locked. */
        INTENT,
        SHARED,
        EXCLUSIVE;

        boolean goesWith(Mode other) {
            return this == other && this != EXCLUSIVE;
        }

        Mode and(Mode other) {
            return this == other ? this : EXCLUSIVE;
        }
    }

    /** Who holds locks. */
    interface Owner {

        /** Somebody who has priority needs one of its locks; it may take a while to let go. */
        void giveWay();
    }

    /** A lock and how it is wanted. */
    record Need(Lock lock, Mode mode) {
        static Need of(Kind kind, int number, Mode mode) {
            return new Need(new Lock(kind, number), mode);
        }
    }

    private record Request(Owner owner, Need need, Runnable granted) {}

    private record Entry(Map<Owner, Mode> holders, Deque<Request> line) {
        static Entry empty() {
            return new Entry(new LinkedHashMap<>(), new ArrayDeque<>());
        }
    }

    /** Not in the order of their hashes, which is another one in each run. */
    private final Map<Lock, Entry> entries = new LinkedHashMap<>();

    private final Map<Owner, Request> waiting = new LinkedHashMap<>();

    boolean isEmpty() {
        return waiting.isEmpty()
                && entries.values().stream().allMatch(entry -> entry.holders().isEmpty());
    }

    boolean isWaitingFor(Owner owner, Need need) {
        Request request = waiting.get(owner);
        return request != null && request.need().equals(need);
    }

    /**
     * Asks for a lock.
     *
     * @param granted called once it has the lock, if it had to wait and has not let go of everything meanwhile
     * @return whether it has the lock at once
     */
    boolean request(Owner owner, Need need, boolean first, Runnable granted) {
        Entry entry = entry(need.lock());
        Request request = new Request(owner, need, granted);
        boolean ahead = first || entry.holders().containsKey(owner);
        if (obstacles(owner, need).isEmpty() && (ahead || entry.line().isEmpty())) {
            grant(entry, request);
            return true;
        }
        waiting.put(owner, request);
        if (ahead) {
            entry.line().addFirst(request);
        } else {
            entry.line().addLast(request);
        }
        return false;
    }

    /** Who holds the lock in a mode that does not go with what the owner needs. */
    List<Owner> obstacles(Owner owner, Need need) {
        Map<Owner, Mode> holders = entry(need.lock()).holders();
        Mode held = holders.get(owner);
        Mode wanted = held == null ? need.mode() : held.and(need.mode());
        List<Owner> obstacles = new ArrayList<>();
        holders.forEach((holder, mode) -> {
            if (holder != owner && !mode.goesWith(wanted)) {
                obstacles.add(holder);
            }
        });
        return obstacles;
    }

    private void grant(Entry entry, Request request) {
        entry.holders().merge(request.owner(), request.need().mode(), Mode::and);
    }

    /** The owner has no lock any more, and waits for none. */
    void release(Owner owner) {
        Request request = waiting.remove(owner);
        if (request != null) {
            entry(request.need().lock()).line().remove(request);
        }
        entries.values().forEach(entry -> entry.holders().remove(owner));
        entries.values().forEach(this::grantNext);
    }

    /** The owner has this one no longer. */
    void release(Owner owner, Lock lock) {
        entry(lock).holders().remove(owner);
        grantNext(entry(lock));
    }

    private Entry entry(Lock lock) {
        return entries.computeIfAbsent(lock, each -> Entry.empty());
    }

    private void grantNext(Entry entry) {
        for (Request next = entry.line().peekFirst();
                next != null && obstacles(next.owner(), next.need()).isEmpty();
                next = entry.line().peekFirst()) {
            entry.line().removeFirst();
            grant(entry, next);
            waiting.remove(next.owner());
            next.granted().run();
        }
    }

    /** Whether the owner waits for somebody who waits for it, directly or by others. */
    boolean isDeadlocked(Owner owner) {
        Deque<Owner> next = new ArrayDeque<>(waitsFor(owner));
        Set<Owner> seen = new HashSet<>();
        while (!next.isEmpty()) {
            Owner each = next.removeFirst();
            if (each == owner) {
                return true;
            }
            if (seen.add(each)) {
                next.addAll(waitsFor(each));
            }
        }
        return false;
    }

    private List<Owner> waitsFor(Owner owner) {
        Request request = waiting.get(owner);
        if (request == null) {
            return List.of();
        }
        Entry entry = entry(request.need().lock());
        List<Owner> others = obstacles(owner, request.need());
        entry.line().stream()
                .takeWhile(each -> each.owner() != owner)
                .map(Request::owner)
                .forEach(others::add);
        return others;
    }

    /** Who has what and who waits, for a person. */
    @Override
    public String toString() {
        StringBuilder text = new StringBuilder("locks:");
        entries.forEach((lock, entry) -> {
            if (!entry.holders().isEmpty()) {
                text.append(' ').append(lock).append(" of ").append(entry.holders());
            }
        });
        return text.append(", waiting: ").append(waiting.values()).toString();
    }
}
