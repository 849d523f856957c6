package org.gorda.replicator.core;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.OptionalLong;
import java.util.Set;
import java.util.SplittableRandom;
import org.gorda.gapi.Generator;
import org.gorda.gapi.GeneratorState;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.WriteSetWriter;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.Position;
import org.junit.jupiter.api.Test;

/** No value of a generator is given to two, whoever asks with whatever state of his own. */
class LeasesTest {

    private static final MemberId SELF = new MemberId("db1:7800");
    private static final MemberId OTHER = new MemberId("db2:7800");
    private static final Generator SEQUENCE = new Generator(false, "APP", "S");
    private static final Generator IDENTITY = new Generator(true, "APP", "S");

    private final List<String> done = new ArrayList<>();
    private ReplicaCore core = newCore();
    private long index;

    private ReplicaCore newCore() {
        Effects effects = (Effects) java.lang.reflect.Proxy.newProxyInstance(
                Effects.class.getClassLoader(), new Class<?>[] {Effects.class}, (proxy, method, arguments) -> {
                    switch (method.getName()) {
                        case "lease" ->
                            done.add(arguments[0] + " " + arguments[1] + " " + text((LeasedRange) arguments[2]));
                        case "settle" -> done.add("settle " + arguments[0]);
                        case "commit" -> done.add("commit");
                        default -> {}
                    }
                    return null;
                });
        return new ReplicaCore(SELF, 1, ReplicationProtocol.CERTIFICATION, effects);
    }

    private static String text(LeasedRange range) {
        return range == null ? "outdated" : range.first() + "+" + range.count() + "*" + range.increment();
    }

    private void deliver(MemberId from, ByteBuffer payload) {
        index++;
        core.delivered(new Message(new Position(new GroupId(1, 2), 1, index), new MessageId(from, 1, index), payload));
    }

    private void everywhere() {
        deliver(
                SELF,
                ReplicaMessage.encode(new ReplicaMessage.Begin(ReplicationProtocol.CERTIFICATION, FirstRows.NONE)));
    }

    private static GeneratorState state(Generator generator, long next, long increment) {
        return new GeneratorState(generator, next, increment, Integer.MIN_VALUE, Integer.MAX_VALUE);
    }

    private void lease(MemberId from, long request, long seen, GeneratorState state) {
        deliver(from, ReplicaMessage.encode(new ReplicaMessage.Lease(request, seen, 100, state)));
    }

    private void schemaChange() {
        WriteSetWriter out = new WriteSetWriter(ReplicaMessage.WRITE_SET_HEADER_BYTES, 1 << 20, Path.of("none"));
        out.insert(new TableShape("S", "T", List.of(), List.of()), 0);
        out.key(KeyMode.REMOVED, KeyHasher.SCHEMA);
        ByteBuffer commit = out.finish().precededBy(ReplicaMessage.WRITE_SET_HEADER_BYTES);
        TransactionId id = new TransactionId(new SessionId(3, 4), index);
        ReplicaMessage.putWriteSetHeader(commit, id, core.epoch(), index, index, 0);
        deliver(OTHER, commit.rewind());
    }

    private void restart() {
        ByteBuffer state = core.checkpoint();
        assertThat(state.remaining()).isEqualTo(state.limit()).isEqualTo(state.capacity());
        core = newCore();
        core.restore(state);
    }

    @Test
    void rangesFollowEachOtherFromTheFarthestStateOnAlsoAfterARestart() {
        everywhere();
        lease(SELF, 1, 1, state(SEQUENCE, 10, 5));
        lease(OTHER, 2, 1, state(SEQUENCE, 5, 5));
        restart();
        lease(SELF, 3, 1, state(SEQUENCE, 5000, 5));
        lease(SELF, 4, 1, state(IDENTITY, -1, -1));
        restart();
        lease(OTHER, 5, 1, state(IDENTITY, 7, -1));
        assertThat(done)
                .containsExactly(
                        "1 " + SELF + " 10+100*5",
                        "2 " + OTHER + " 510+100*5",
                        "3 " + SELF + " 5000+100*5",
                        "4 " + SELF + " -1+100*-1",
                        "5 " + OTHER + " -101+100*-1");
    }

    @Test
    void aSchemaChangeIsToldWhereGeneratorsAreAndOutdatesWhatWasSeenBefore() {
        everywhere();
        schemaChange();
        lease(SELF, 1, index, state(SEQUENCE, 1, 1));
        lease(SELF, 2, index, new GeneratorState(IDENTITY, 7, 1, 1, 7));
        lease(OTHER, 3, index, new GeneratorState(IDENTITY, 7, 1, 1, 7));
        restart();
        schemaChange();
        long changed = index;
        lease(SELF, 4, changed - 1, state(SEQUENCE, 1, 1));
        lease(SELF, 5, changed, state(SEQUENCE, 50, 1));
        Map<Generator, OptionalLong> settled = new java.util.LinkedHashMap<>();
        settled.put(SEQUENCE, OptionalLong.of(101));
        settled.put(IDENTITY, OptionalLong.empty());
        assertThat(done)
                .containsExactly(
                        "settle {}",
                        "commit",
                        "1 " + SELF + " 1+100*1",
                        "2 " + SELF + " 7+1*1",
                        "3 " + OTHER + " 0+0*1",
                        "settle " + settled,
                        "commit",
                        "4 " + SELF + " outdated",
                        "5 " + SELF + " 50+100*1");
    }

    /** Against the definition, at the limits of BIGINT too. */
    @Test
    void eachValueIsGivenOnceAndWithinTheLimitsUpToTheLast() {
        for (int seed = 0; seed < 500; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            long maximum = random.nextBoolean() ? Long.MAX_VALUE : random.nextInt(500);
            long minimum = random.nextBoolean() ? Long.MIN_VALUE : -random.nextInt(500);
            boolean up = random.nextBoolean();
            long increment = (up ? 1L : -1L) * random.nextInt(1, 10);
            long start = up ? Math.max(minimum, maximum - 400) : Math.min(maximum, minimum + 400);
            Set<Long> given = new HashSet<>();
            Leases leases = new Leases();
            while (true) {
                // Each replica has its own idea of where it is.
                long ahead = Math.min(given.size(), random.nextInt(3));
                GeneratorState state =
                        new GeneratorState(SEQUENCE, start + ahead * increment, increment, minimum, maximum);
                ByteBuffer kept = ByteBuffer.allocate(leases.encodedBytes());
                leases.encode(kept);
                leases = new Leases();
                leases.decode(kept.flip());
                LeasedRange range = leases.grant(state, random.nextInt(-1, 20_000));
                if (range.count() == 0) {
                    break;
                }
                for (int i = 0; i < range.count(); i++) {
                    long value = range.first() + i * range.increment();
                    assertThat(value).isBetween(minimum, maximum);
                    assertThat(given.add(value)).as("seed %s: %s", seed, value).isTrue();
                }
            }
            Map<Long, Boolean> expected = new HashMap<>();
            long value = start;
            for (int i = 0; i < 1000 && value >= minimum && value <= maximum; i++) {
                expected.put(value, true);
                long next = value + increment;
                if (up ? next < value : next > value) {
                    break;
                }
                value = next;
            }
            assertThat(given).as("seed %s", seed).isEqualTo(expected.keySet());
            assertThat(leases.takeAll()).containsEntry(SEQUENCE, OptionalLong.empty());
        }
    }

    @Test
    void oneLeaseIsBounded() {
        assertThat(new Leases().grant(state(SEQUENCE, 0, 1), Integer.MAX_VALUE).count())
                .isEqualTo(Leases.COUNT_MAX);
        assertThat(new Leases().grant(state(SEQUENCE, 0, 1), -7).count()).isEqualTo(1);
        GeneratorState widest = new GeneratorState(SEQUENCE, Long.MIN_VALUE, 1, Long.MIN_VALUE, Long.MAX_VALUE);
        assertThat(new Leases().grant(widest, 10)).isEqualTo(new LeasedRange(Long.MIN_VALUE, 10, 1));
        assertThatThrownBy(() -> state(SEQUENCE, 0, 0)).isInstanceOf(IllegalArgumentException.class);
    }
}
