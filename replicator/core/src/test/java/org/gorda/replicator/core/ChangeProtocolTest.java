package org.gorda.replicator.core;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import org.gorda.gapi.Generator;
import org.gorda.gapi.GeneratorState;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.WriteSetWriter;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.View;
import org.junit.jupiter.api.Test;

/** A group changes its protocol at one place in the order, for all alike, and nothing from before counts after it. */
class ChangeProtocolTest {

    private static final MemberId SELF = new MemberId("db1:7800");
    private static final MemberId OTHER = new MemberId("db2:7800");
    private static final Generator SEQUENCE = new Generator(false, "APP", "S");
    private static final View LED_HERE = new View(List.of(SELF, OTHER), List.of(), Optional.of(SELF), true, 0);

    private final List<String> done = new ArrayList<>();
    private ReplicaCore core = newCore();
    private long index;

    private ReplicaCore newCore() {
        return newCore(ReplicationProtocol.PRIMARY_BACKUP);
    }

    private ReplicaCore newCore(ReplicationProtocol configured) {
        Effects effects = (Effects) java.lang.reflect.Proxy.newProxyInstance(
                Effects.class.getClassLoader(), new Class<?>[] {Effects.class}, (proxy, method, arguments) -> {
                    switch (method.getName()) {
                        case "primary" -> done.add("primary " + arguments[0]);
                        case "protocolChanged" ->
                            done.add((((ReplicationProtocol) arguments[0]).isEverywhere() ? "everywhere " : "one ")
                                    + arguments[2]);
                        case "begun" -> done.add("begun " + arguments[1] + " " + ((FirstRows) arguments[2]).count());
                        case "commit" -> done.add("commit");
                        case "verify" -> done.add("verify " + arguments[0]);
                        case "conflict" -> done.add("conflict");
                        case "discard" -> done.add("discard: " + ((Refusal) arguments[2]).message());
                        case "lease" -> done.add(arguments[2] == null ? "outdated" : "lease");
                        case "send" -> done.add("send " + arguments[0]);
                        default -> {}
                    }
                    return null;
                });
        return new ReplicaCore(SELF, 1, configured, effects);
    }

    private void restart() {
        ByteBuffer state = core.checkpoint();
        core = newCore();
        core.restore(state);
    }

    private void deliver(ByteBuffer payload) {
        deliver(OTHER, payload);
    }

    private void deliver(MemberId from, ByteBuffer payload) {
        index++;
        core.delivered(new Message(new Position(new GroupId(1, 2), 1, index), new MessageId(from, 1, index), payload));
    }

    private void change(boolean everywhere, long epoch) {
        change(everywhere ? ReplicationProtocol.CERTIFICATION : ReplicationProtocol.PRIMARY_BACKUP, epoch);
    }

    private void change(ReplicationProtocol protocol, long epoch) {
        deliver(ReplicaMessage.encode(new ReplicaMessage.ChangeProtocol(protocol, epoch)));
    }

    private void begin(ReplicationProtocol protocol) {
        deliver(ReplicaMessage.encode(new ReplicaMessage.Begin(protocol, FirstRows.NONE)));
    }

    private void proclaim(MemberId member) {
        deliver(ReplicaMessage.encode(new ReplicaMessage.Primary(member, 1)));
    }

    private void commit(long key, long epoch, long begun, long executed) {
        WriteSetWriter out = new WriteSetWriter(ReplicaMessage.WRITE_SET_HEADER_BYTES, 1 << 20, Path.of("none"));
        out.insert(new TableShape("S", "T", List.of(), List.of()), 0);
        out.key(KeyMode.WRITTEN, key);
        ByteBuffer commit = out.finish().precededBy(ReplicaMessage.WRITE_SET_HEADER_BYTES);
        TransactionId id = new TransactionId(new SessionId(3, 4), index);
        ReplicaMessage.putWriteSetHeader(commit, id, epoch, begun, executed, 0);
        deliver(commit.rewind());
    }

    private void lease(long seen, long next) {
        GeneratorState state = new GeneratorState(SEQUENCE, next, 1, 1, Integer.MAX_VALUE);
        deliver(ReplicaMessage.encode(new ReplicaMessage.Lease(1, seen, 100, state)));
    }

    @Test
    void itCountsOnlyInTheEpochInWhichItWasAskedFor() {
        proclaim(OTHER);
        proclaim(SELF);
        change(true, 1);
        assertThat(core.isEverywhere()).isFalse();
        change(true, 2);
        assertThat(core.isEverywhere()).isTrue();
        assertThat(core.epoch()).isEqualTo(4);
        change(true, 4);
        assertThat(core.epoch()).as("as it is").isEqualTo(4);
        assertThat(done).containsExactly("primary " + OTHER, "primary " + SELF, "everywhere {}");
    }

    @Test
    void whoWantedToBecomeThePrimaryBeforeDoesNotUndoIt() {
        proclaim(OTHER);
        change(true, 1);
        proclaim(SELF);
        assertThat(core.isEverywhere()).isTrue();
        assertThat(core.epoch()).isEqualTo(2);
    }

    @Test
    void itDoesNotBeginTheGroup() {
        change(true, 0);
        assertThat(core.epoch()).isZero();
        assertThat(done).isEmpty();
    }

    @Test
    void theFirstBeginsTheGroup() {
        core.holds(new FirstRows(7, 8));
        core.viewChanged(LED_HERE);
        deliver(
                OTHER,
                ReplicaMessage.encode(
                        new ReplicaMessage.Begin(ReplicationProtocol.PRIMARY_BACKUP, new FirstRows(3, 4))));
        deliver(
                SELF,
                ReplicaMessage.encode(
                        new ReplicaMessage.Begin(ReplicationProtocol.CERTIFICATION, new FirstRows(7, 8))));
        assertThat(core.isEverywhere()).isFalse();
        assertThat(core.epoch()).isEqualTo(1);
        assertThat(done)
                .containsExactly(
                        "send " + new ReplicaMessage.Begin(ReplicationProtocol.PRIMARY_BACKUP, new FirstRows(7, 8)),
                        "begun " + OTHER + " 3",
                        "one {}",
                        "send " + new ReplicaMessage.Primary(SELF, 1));
    }

    /** Else each start of a group would double what its log has of them. */
    @Test
    void theLeaderWantsToBecomeThePrimaryOnceHoweverManyHaveBeenItBefore() {
        core.viewChanged(LED_HERE);
        for (int i = 0; i < 10; i++) {
            proclaim(OTHER);
            deliver(ReplicaMessage.encode(new ReplicaMessage.Primary(SELF, 7))); // an earlier run
        }
        assertThat(done).filteredOn(one -> one.startsWith("send")).hasSize(1);
        proclaim(SELF);
        assertThat(core.isPrimaryHere()).isTrue();
        proclaim(OTHER);
        assertThat(done)
                .as("it leads still")
                .filteredOn(one -> one.startsWith("send"))
                .hasSize(2);
    }

    /** One that asks for the first protocol of a group finds that it has one. */
    @Test
    void theLeaderBecomesThePrimaryAlsoIfItsFirstWishWasInVain() {
        core = newCore(ReplicationProtocol.ASYNCHRONOUS);
        core.viewChanged(LED_HERE);
        assertThat(done)
                .containsExactly("send " + new ReplicaMessage.Begin(ReplicationProtocol.ASYNCHRONOUS, FirstRows.NONE));
        proclaim(OTHER);
        deliver(
                SELF,
                ReplicaMessage.encode(new ReplicaMessage.Begin(ReplicationProtocol.ASYNCHRONOUS, FirstRows.NONE)));
        assertThat(done).last().isEqualTo("send " + new ReplicaMessage.Primary(SELF, 1));
    }

    @Test
    void theLeaderBecomesThePrimary() {
        begin(ReplicationProtocol.CERTIFICATION);
        core.viewChanged(LED_HERE);
        assertThat(done).containsExactly("begun " + OTHER + " 0", "everywhere {}");
        change(false, 1);
        assertThat(core.primary()).isNull();
        assertThat(done).last().isEqualTo("send " + new ReplicaMessage.Primary(SELF, 1));
        proclaim(SELF);
        assertThat(core.isPrimaryHere()).isTrue();
    }

    @Test
    void whatBeganBeforeIsNotCommitted() {
        proclaim(OTHER);
        commit(7, 1, 0, 0);
        change(true, 1);
        done.clear();
        commit(7, 1, 2, 2);
        commit(7, 3, 2, 3);
        commit(7, 3, 3, 3);
        assertThat(done).hasSize(3);
        assertThat(done.get(0)).contains("the primary changed");
        assertThat(done.get(1)).contains("before every replica took writes (epoch 3)");
        assertThat(done.get(2)).isEqualTo("commit");
    }

    @Test
    void aVerificationThatWasAskedForBeforeDoesNotTakePlace() {
        proclaim(OTHER);
        deliver(ReplicaMessage.encode(new ReplicaMessage.Verify(5, 1)));
        change(true, 1);
        deliver(ReplicaMessage.encode(new ReplicaMessage.Verify(6, 1)));
        deliver(ReplicaMessage.encode(new ReplicaMessage.Verify(7, 3)));
        assertThat(done).containsExactly("primary " + OTHER, "verify 5", "everywhere {}", "verify 7");
    }

    /** Whoever was there in the first stretch of certification knows no more than who comes later. */
    @Test
    void allDecideAlikeWhoeverTookPartBefore() {
        begin(ReplicationProtocol.CERTIFICATION);
        for (int i = 0; i < 10; i++) {
            commit(i, 1, index, index);
        }
        change(false, 1);
        proclaim(OTHER);
        ReplicaCore was = core;
        restart();
        long base = index;
        for (ReplicaCore one : List.of(was, core)) {
            core = one;
            index = base;
            change(true, base);
            long epoch = index;
            index += Certifier.STRETCH_PLACES - 5;
            commit(1, epoch, index, index);
            index += 10;
            commit(1, epoch, epoch, index);
            commit(2, epoch, epoch, epoch);
            restart();
            commit(2, epoch, epoch, epoch);
            done.add("and");
        }
        List<String> decided = done.subList(done.indexOf("primary " + OTHER) + 1, done.size());
        assertThat(decided)
                .containsExactly(
                        "everywhere {}",
                        "commit",
                        "commit",
                        "commit",
                        "conflict",
                        "and",
                        "everywhere {}",
                        "commit",
                        "commit",
                        "commit",
                        "conflict",
                        "and");
    }

    @Test
    void generatorsGoOnBehindWhatWasLeased() {
        begin(ReplicationProtocol.CERTIFICATION);
        done.clear();
        lease(1, 1);
        change(false, 1);
        assertThat(done).containsExactly("lease", "one " + Map.of(SEQUENCE, "OptionalLong[101]"));
        lease(3, 1);
        assertThat(done).hasSize(2);
        change(true, 3);
        long epoch = index;
        lease(epoch - 1, 50);
        lease(epoch, 101);
        assertThat(done.subList(2, 5)).containsExactly("everywhere {}", "outdated", "lease");
    }
}
