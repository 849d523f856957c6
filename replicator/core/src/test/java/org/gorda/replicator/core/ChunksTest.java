package org.gorda.replicator.core;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.OptionalLong;
import org.gorda.gapi.Generator;
import org.gorda.gapi.Refusal;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TransactionId;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Message;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.Position;
import org.gorda.jgcs.View;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;

/** A large transaction is committed with all its chunks or not at all, and what cannot be committed any more is forgotten. */
class ChunksTest implements Effects {

    private static final MemberId PRIMARY = new MemberId("db1:7800");
    private static final MemberId OTHER = new MemberId("db2:7800");
    private static final TransactionId FIRST = new TransactionId(new SessionId(1, 1), 1);
    private static final TransactionId SECOND = new TransactionId(new SessionId(2, 2), 1);

    private final List<String> done = new ArrayList<>();
    private final List<ReplicaMessage> sent = new ArrayList<>();
    private ReplicaCore core = new ReplicaCore(OTHER, 1, ReplicationProtocol.PRIMARY_BACKUP, this);
    private long index;
    private Outcome outcome;
    private String told = "";

    private void deliver(MemberId from, ByteBuffer payload) {
        index++;
        core.delivered(new Message(new Position(new GroupId(1, 2), 1, index), new MessageId(from, 1, index), payload));
    }

    private void proclaim(MemberId member) {
        deliver(member, ReplicaMessage.encode(new ReplicaMessage.Primary(member, 1)));
    }

    private void takeWritesEverywhere() {
        core = new ReplicaCore(OTHER, 1, ReplicationProtocol.CERTIFICATION, this);
        deliver(
                PRIMARY,
                ReplicaMessage.encode(new ReplicaMessage.Begin(ReplicationProtocol.CERTIFICATION, FirstRows.NONE)));
    }

    private void chunk(MemberId from, TransactionId id, long epoch, int number) {
        ByteBuffer chunk = ByteBuffer.allocate(ReplicaMessage.CHUNK_HEADER_BYTES + 1);
        ReplicaMessage.putChunkHeader(chunk, id, epoch, 0, number, 0);
        deliver(from, chunk.rewind());
    }

    private void commit(MemberId from, TransactionId id, long epoch, int chunks) {
        ByteBuffer commit = ByteBuffer.allocate(ReplicaMessage.WRITE_SET_HEADER_BYTES);
        ReplicaMessage.putWriteSetHeader(commit, id, epoch, 0, 0, chunks);
        deliver(from, commit.rewind());
    }

    private void close(TransactionId id) {
        deliver(OTHER, ReplicaMessage.encode(new ReplicaMessage.Close(id, 0, 9)));
    }

    /** Its origin has given it up half-way, behind the chunk at a place. */
    private void giveUp(TransactionId id, long last) {
        deliver(PRIMARY, ReplicaMessage.encode(new ReplicaMessage.Abandon(id, new MessageId(PRIMARY, 1, last))));
    }

    private void restart() {
        ByteBuffer state = core.checkpoint();
        core = new ReplicaCore(OTHER, 2, core.protocol(), this);
        core.restore(state);
    }

    @Test
    void chunksOfSeveralTransactionsTakeTurns() {
        proclaim(PRIMARY);
        chunk(PRIMARY, FIRST, 1, 0);
        chunk(PRIMARY, SECOND, 1, 0);
        chunk(PRIMARY, FIRST, 1, 1);
        assertThat(core.firstNeeded()).isEqualTo(2);
        commit(PRIMARY, SECOND, 1, 1);
        assertThat(core.firstNeeded()).isEqualTo(2);
        commit(PRIMARY, FIRST, 1, 2);
        assertThat(core.firstNeeded()).isEqualTo(Long.MAX_VALUE);
        assertThat(done).containsExactly("commit " + SECOND + " [3]", "commit " + FIRST + " [2, 4]");
    }

    /** Clients name transactions: two members may have one of the same name. */
    @Test
    void chunksOfANamesakeOfAnotherMemberAreNotTaken() {
        takeWritesEverywhere();
        chunk(PRIMARY, FIRST, 1, 0);
        commit(OTHER, FIRST, 1, 1);
        assertThat(done).noneMatch(what -> what.startsWith("commit"));
        assertThat(core.firstNeeded()).isEqualTo(2);
    }

    /** Who was refused when a part was sent may run it again under the same name before what was sent is closed. */
    @Test
    void chunksOfAnEarlierTryUnderTheSameNameAreNotTaken() {
        proclaim(PRIMARY);
        chunk(PRIMARY, FIRST, 1, 0);
        chunk(PRIMARY, FIRST, 1, 1);
        // Refused, rolled back, run again; and nobody has said so yet.
        chunk(PRIMARY, FIRST, 1, 0);
        chunk(PRIMARY, FIRST, 1, 1);
        chunk(PRIMARY, FIRST, 1, 2);
        commit(PRIMARY, FIRST, 1, 3);
        close(FIRST);
        assertThat(done).contains("commit " + FIRST + " [4, 5, 6]");
    }

    @Test
    void aRestartGoesOnBehindTheChunksThatWereThere() {
        proclaim(PRIMARY);
        chunk(PRIMARY, FIRST, 1, 0);
        restart();
        assertThat(core.firstNeeded()).isEqualTo(2);
        chunk(PRIMARY, FIRST, 1, 1);
        restart();
        commit(PRIMARY, FIRST, 1, 2);
        assertThat(done).containsExactly("commit " + FIRST + " [2, 3]");
    }

    @Test
    void anEpochsEndForgetsWhatWasBegunInIt() {
        proclaim(PRIMARY);
        chunk(PRIMARY, FIRST, 1, 0);
        proclaim(OTHER);
        assertThat(core.openTransactions()).isZero();
        chunk(PRIMARY, FIRST, 1, 1);
        commit(PRIMARY, FIRST, 1, 2);
        assertThat(core.openTransactions()).isZero();
        assertThat(done).containsExactly("discard " + FIRST);
    }

    @Test
    void aClosedTransactionIsForgottenWhateverOfItFollows() {
        proclaim(PRIMARY);
        chunk(PRIMARY, FIRST, 1, 0);
        close(FIRST);
        assertThat(core.openTransactions()).isZero();
        chunk(PRIMARY, FIRST, 1, 1);
        close(SECOND);
        chunk(PRIMARY, SECOND, 1, 0);
        assertThat(core.openTransactions()).isZero();
        commit(PRIMARY, FIRST, 1, 2);
        commit(PRIMARY, SECOND, 1, 1);
        assertThat(done).containsExactly("discard " + FIRST, "discard " + SECOND);
    }

    /** All logs are kept from its first chunk on. */
    @Test
    void whatAMemberThatDoesNotComeBackHasBegunIsForgottenBehindAGigabyteOfOthers() {
        takeWritesEverywhere();
        chunk(PRIMARY, FIRST, 1, 0);
        ByteBuffer large = ByteBuffer.allocate(16 << 20);
        ReplicaMessage.putChunkHeader(large, SECOND, 1, 0, 1, 0); // of nothing that has begun
        for (int megabytes = 16; megabytes < 1024; megabytes += 16) {
            deliver(OTHER, large.rewind());
        }
        restart();
        assertThat(core.firstNeeded()).isEqualTo(2);
        deliver(OTHER, large.rewind());
        deliver(OTHER, large.rewind());
        assertThat(core.openTransactions()).isZero();
        assertThat(core.firstNeeded()).isEqualTo(Long.MAX_VALUE);
    }

    /** Its client is told to run it again, and names it as before. */
    @Test
    void whatItsOriginGaveUpMayBeRunAgainByTheSameName() {
        proclaim(PRIMARY);
        chunk(PRIMARY, FIRST, 1, 0);
        chunk(PRIMARY, FIRST, 1, 1);
        giveUp(FIRST, 3);
        assertThat(core.openTransactions()).isZero();
        chunk(PRIMARY, FIRST, 1, 0);
        commit(PRIMARY, FIRST, 1, 1);
        assertThat(done).containsExactly("commit " + FIRST + " [5]");
    }

    /** Where there was no room to send that it is given up, there was again for its client's next try. */
    @Test
    void whatIsRunAgainIsNotGivenUpByWhatComesLate() {
        proclaim(PRIMARY);
        chunk(PRIMARY, FIRST, 1, 0);
        chunk(PRIMARY, FIRST, 1, 1);
        chunk(PRIMARY, FIRST, 1, 0);
        restart();
        giveUp(FIRST, 3);
        chunk(PRIMARY, FIRST, 1, 1);
        commit(PRIMARY, FIRST, 1, 2);
        assertThat(done).containsExactly("commit " + FIRST + " [4, 6]");
    }

    /** The leader tells so again and again, and its client goes elsewhere. */
    @Test
    void whatIsRunAgainElsewhereIsNotGivenUpWithWhatARemovedMemberLeft() {
        takeWritesEverywhere();
        chunk(PRIMARY, FIRST, 1, 0);
        core.viewChanged(new View(List.of(OTHER), List.of(), Optional.of(OTHER), true, index));
        core.viewChanged(new View(List.of(OTHER), List.of(), Optional.of(OTHER), true, index));
        assertThat(sent).hasSize(2);
        deliver(OTHER, ReplicaMessage.encode(sent.get(0)));
        assertThat(core.openTransactions()).isZero();
        chunk(OTHER, FIRST, 1, 0);
        deliver(OTHER, ReplicaMessage.encode(sent.get(1)));
        assertThat(core.openTransactions()).isEqualTo(1);
    }

    @Test
    void whoUsesTheNameOfWhatIsCommittedIsToldSo() {
        proclaim(PRIMARY);
        commit(PRIMARY, FIRST, 1, 0);
        commit(PRIMARY, FIRST, 1, 0);
        assertThat(done).containsExactly("commit " + FIRST + " []", "discard " + FIRST);
        assertThat(told).contains("is committed already, at 2");
        close(SECOND);
        commit(PRIMARY, SECOND, 1, 0);
        assertThat(told).contains("its client had given it up, at 4");
    }

    @Test
    void manyOthersBetweenItsChunksDoNotMakeATransactionTooOld() {
        proclaim(PRIMARY);
        chunk(PRIMARY, FIRST, 1, 0);
        chunk(PRIMARY, SECOND, 1, 0);
        index += 3 * Outcomes.KEPT;
        chunk(PRIMARY, FIRST, 1, 1);
        long base = index;
        ByteBuffer commit = ByteBuffer.allocate(ReplicaMessage.WRITE_SET_HEADER_BYTES);
        ReplicaMessage.putWriteSetHeader(commit, FIRST, 1, base, base, 2);
        deliver(PRIMARY, commit.rewind());
        assertThat(done).containsExactly("commit " + FIRST + " [2, " + base + "]");
        close(SECOND);
        assertThat(outcome).isEqualTo(Outcome.ABORTED);
        chunk(PRIMARY, SECOND, 1, 1);
        chunk(PRIMARY, SECOND, 1, 0);
        assertThat(core.openTransactions()).isZero();
    }

    @Test
    void whatIsNotWholeIsDiscarded() {
        proclaim(PRIMARY);
        chunk(PRIMARY, FIRST, 1, 0);
        chunk(PRIMARY, FIRST, 1, 2);
        chunk(OTHER, FIRST, 1, 1);
        commit(PRIMARY, FIRST, 1, 2);
        commit(PRIMARY, SECOND, 1, 1);
        assertThat(done).containsExactly("discard " + FIRST, "discard " + SECOND);
        assertThat(core.openTransactions()).isZero();
    }

    @Override
    public void commit(Position position, TransactionId id, long[] chunks, ByteBuffer writeSet) {
        done.add("commit " + id + " " + java.util.Arrays.toString(chunks));
    }

    @Override
    public void chunk(TransactionId id) {}

    @Override
    public void conflict(TransactionId id, Conflict conflict) {}

    @Override
    public void begun(Position position, MemberId member, FirstRows rows) {}

    @Override
    public void protocolChanged(ReplicationProtocol protocol, Position epoch, Map<Generator, OptionalLong> next) {}

    @Override
    public void discard(TransactionId id, long epoch, Refusal refusal) {
        done.add("discard " + id);
        told = refusal.message();
    }

    @Override
    public void primary(MemberId member, long epoch, boolean here) {}

    @Override
    public void outcome(long request, MemberId asker, TransactionId id, Outcome found) {
        outcome = found;
    }

    @Override
    public void settle(Map<Generator, OptionalLong> next) {}

    @Override
    public void lease(long request, MemberId asker, @Nullable LeasedRange range) {}

    @Override
    public void schemaTurn(TransactionId id, Position position, boolean ends) {}

    @Override
    public void verify(long request, Position position) {}

    @Override
    public void durableEverywhere(long everywhere) {}

    @Override
    public void send(ReplicaMessage message) {
        sent.add(message);
    }
}
