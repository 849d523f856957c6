package org.gorda.replicator.core;

import static org.assertj.core.api.Assertions.assertThat;

import java.nio.ByteBuffer;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import java.util.SplittableRandom;
import org.gorda.gapi.KeyHasher;
import org.gorda.gapi.KeyMode;
import org.gorda.gapi.SessionId;
import org.gorda.gapi.TableShape;
import org.gorda.gapi.TransactionId;
import org.gorda.gapi.WriteSet;
import org.gorda.gapi.WriteSetWriter;
import org.gorda.jgcs.MemberId;
import org.jspecify.annotations.Nullable;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.params.ParameterizedTest;
import org.junit.jupiter.params.provider.CsvSource;

class CertifierTest {

    private static final MemberId ORIGIN = new MemberId("db1:7800");
    private static final List<KeyMode> OF_ROWS =
            List.of(KeyMode.WRITTEN, KeyMode.REMOVED, KeyMode.REFERENCED, KeyMode.READ, KeyMode.READ_UNLOCKED);
    private static final List<KeyMode> OF_TABLES = List.of(KeyMode.CHANGED, KeyMode.READ, KeyMode.READ_UNLOCKED);
    private static final TableShape TABLE = new TableShape("S", "T", List.of(), List.of());

    private final Certifier certifier = new Certifier();
    private long index;

    private record Use(KeyMode mode, long key) {}

    private static Use written(long key) {
        return new Use(KeyMode.WRITTEN, key);
    }

    private static WriteSet writeSet(List<Use> uses) {
        WriteSetWriter out = new WriteSetWriter(0, 1 << 20, Path.of("none"));
        out.insert(TABLE, 0);
        uses.forEach(use -> out.key(use.mode(), use.key()));
        return out.finish();
    }

    private static TransactionId id(long index) {
        return new TransactionId(new SessionId(1, 2), index);
    }

    /** Orders a transaction that saw everything up to {@code begun} and {@code executed}. */
    private @Nullable Conflict order(long begun, long executed, Use... uses) {
        index++;
        return certifier.certify(writeSet(List.of(uses)), begun, executed, index, id(index), ORIGIN);
    }

    @ParameterizedTest(name = "{0} against {1}: {2}")
    @CsvSource({
        "WRITTEN, WRITTEN, true",
        "WRITTEN, REMOVED, true",
        "WRITTEN, REFERENCED, false",
        "REMOVED, WRITTEN, true",
        "REMOVED, REMOVED, true",
        "REMOVED, REFERENCED, true",
        "REFERENCED, WRITTEN, false",
        "REFERENCED, REMOVED, true",
        "REFERENCED, REFERENCED, false"
    })
    void whoSawTheOtherNeverConflictsAndWhoDidNotByTheModes(KeyMode first, KeyMode second, boolean conflict) {
        assertThat(order(0, 0, new Use(first, 7))).isNull();
        Conflict found = order(0, 0, new Use(second, 7));
        assertThat(found != null).isEqualTo(conflict);
        if (found != null) {
            assertThat(found).isEqualTo(new Conflict(7, 1, new Conflict.Winner(id(1), ORIGIN)));
        }
        assertThat(order(index, index, new Use(second, 7))).isNull();
        assertThat(order(0, 0, new Use(second, 8))).isNull();
    }

    @Test
    void writesCountFromWhereTheyWereExecutedAndReferencesFromWhereTheTransactionBegan() {
        order(0, 0, written(1), new Use(KeyMode.REFERENCED, 2), new Use(KeyMode.REMOVED, 3));
        assertThat(order(0, 1, written(1))).isNull();
        assertThat(order(0, 1, new Use(KeyMode.REMOVED, 2))).isNotNull();
        assertThat(order(0, 1, new Use(KeyMode.REFERENCED, 3))).isNotNull();
    }

    @Test
    void whoLosesLeavesNoTrace() {
        order(0, 0, written(1));
        assertThat(order(0, 0, written(1), written(2))).isNotNull();
        assertThat(order(1, 1, written(2))).isNull();
    }

    @Test
    void changesOfTheSchemaConflictWithAllThatDidNotSeeThemAndAreNotForgotten() {
        Use uses = new Use(KeyMode.REFERENCED, KeyHasher.SCHEMA);
        Use changes = new Use(KeyMode.REMOVED, KeyHasher.SCHEMA);
        assertThat(order(0, 0, uses)).isNull();
        assertThat(order(0, 0, uses)).isNull();
        assertThat(order(1, 1, changes)).as("did not see the second").isNotNull();
        assertThat(order(3, 3, changes)).isNull();
        assertThat(order(3, 4, uses)).isNotNull();
        assertThat(order(3, 4, changes)).isNotNull();
        index += 10 * Certifier.STRETCH_PLACES;
        assertThat(order(index, index, written(1))).isNull();
        WriteSet old = writeSet(List.of(written(1), uses));
        assertThat(certifier.knows(old, 3, index)).isTrue();
        assertThat(order(3, index, uses)).isNotNull();
        assertThat(order(4, index, uses)).isNull();
    }

    @Test
    void aTurnToChangeTheSchemaHasOthersMakeRoom() {
        Use uses = new Use(KeyMode.REFERENCED, KeyHasher.SCHEMA);
        Use changes = new Use(KeyMode.REMOVED, KeyHasher.SCHEMA);
        assertThat(order(0, 0, uses)).isNull();
        long turn = ++index;
        certifier.schemaTurn(turn, id(turn), ORIGIN);
        assertThat(order(0, turn - 1, uses))
                .as("did not execute it")
                .isEqualTo(new Conflict(KeyHasher.SCHEMA, turn, new Conflict.Winner(id(turn), ORIGIN)));
        assertThat(order(0, turn, changes))
                .as("began before other rows, but no schema change")
                .isNull();
        assertThat(order(turn, turn, uses)).as("did not see the change").isNotNull();

        long late = ++index;
        certifier.schemaTurn(late, id(late), ORIGIN);
        assertThat(order(late, late, uses)).isNull();
        assertThat(order(late, late, changes)).as("rows changed in its turn").isNotNull();
    }

    @Test
    void whoKeptItsTablesLockedNeedNotHaveBegunBehindChangesOfOtherTables() {
        Use locked = new Use(KeyMode.CHANGED, KeyHasher.SCHEMA);
        Use uses = new Use(KeyMode.REFERENCED, KeyHasher.SCHEMA);
        Use changesTables = new Use(KeyMode.WRITTEN, KeyHasher.SCHEMA);
        Use changes = new Use(KeyMode.REMOVED, KeyHasher.SCHEMA);
        assertThat(order(0, 0, changesTables)).isNull();
        assertThat(certifier.schemaChanged()).isEqualTo(1);
        assertThat(order(0, 0, locked)).as("did not execute it").isNotNull();
        assertThat(order(0, 2, locked)).isNull();
        assertThat(order(0, 3, uses)).as("began before it").isNotNull();
        assertThat(order(0, 3, changesTables)).as("began before it").isNotNull();
        assertThat(order(3, 2, changesTables)).as("did not see the rows").isNotNull();
        assertThat(order(3, 6, changes)).isNull();
        assertThat(order(3, 7, locked)).as("began before what no lock guards").isNotNull();
        assertThat(order(7, 7, locked)).isNull();
    }

    @Test
    void whatWasReadMustNotHaveBeenChangedSince() {
        long wrote = order(0, 0, written(1)) == null ? index : 0;
        Use reads = new Use(KeyMode.READ, 1);
        assertThat(order(0, 0, reads, written(2)))
                .isEqualTo(new Conflict(1, wrote, new Conflict.Winner(id(wrote), ORIGIN)));
        assertThat(order(0, wrote, reads, written(2))).as("executed before").isNull();
        assertThat(order(0, wrote, written(1))).as("readers are not in the way").isNull();
        order(0, index, new Use(KeyMode.CHANGED, 7));
        assertThat(order(0, 0, new Use(KeyMode.CHANGED, 7)))
                .as("other rows of one table")
                .isNull();
        assertThat(order(0, index - 1, new Use(KeyMode.READ, 7))).isNotNull();
        assertThat(certifier.knows(writeSet(List.of(reads)), 0, index)).isTrue();
    }

    @Test
    void whatIsForgottenIsSaidNotToBeKnown() {
        WriteSet writes = writeSet(List.of(written(1)));
        WriteSet refers = writeSet(List.of(new Use(KeyMode.REFERENCED, 1)));
        order(0, 0, written(1));
        for (int i = 0; i < 2 * Certifier.STRETCH_PLACES - 1; i++) {
            order(index, index, written(1_000_000 + i));
        }
        assertThat(certifier.knows(writes, 0, index)).isTrue();
        assertThat(certifier.knows(writes, index, index - Certifier.STRETCH_PLACES))
                .isTrue();
        assertThat(certifier.knows(refers, 0, index)).isTrue();
        for (int i = 0; i < 10; i++) {
            order(index, index, written(i));
        }
        assertThat(certifier.knows(writes, 0, index)).isTrue();
        assertThat(certifier.knows(writes, 0, 0)).isFalse();
        assertThat(certifier.knows(refers, 0, index)).isFalse();
    }

    /** Against the definition: every pair of transactions compared. Restored from a checkpoint now and then. */
    @Test
    void decidesAsTheDefinitionDoes() {
        record Past(long at, List<Use> uses) {}
        for (int seed = 0; seed < 200; seed++) {
            SplittableRandom random = new SplittableRandom(seed);
            Certifier tested = new Certifier();
            List<Past> certified = new ArrayList<>();
            long turn = 0;
            for (long at = 1; at <= 200; at++) {
                if (random.nextInt(15) == 0) {
                    turn = at;
                    tested.schemaTurn(at, id(at), ORIGIN);
                    continue;
                }
                long executed = Math.max(0, at - 1 - random.nextInt(6));
                long begun = Math.max(0, executed - random.nextInt(6));
                List<Use> uses = new ArrayList<>();
                for (int i = random.nextInt(4); i >= 0; i--) {
                    uses.add(
                            random.nextInt(4) > 0
                                    ? new Use(OF_ROWS.get(random.nextInt(OF_ROWS.size())), random.nextInt(12))
                                    : new Use(
                                            OF_TABLES.get(random.nextInt(OF_TABLES.size())), 100 + random.nextInt(3)));
                }
                boolean changesSchema = random.nextInt(8) == 0;
                boolean locks = random.nextBoolean();
                KeyMode rows = locks ? KeyMode.CHANGED : KeyMode.REFERENCED;
                KeyMode schema = locks ? KeyMode.WRITTEN : KeyMode.REMOVED;
                uses.add(new Use(changesSchema ? schema : rows, KeyHasher.SCHEMA));
                boolean expected = (!changesSchema && turn > executed)
                        || certified.stream()
                                .anyMatch(past -> past.uses().stream()
                                        .anyMatch(theirs -> uses.stream()
                                                .anyMatch(mine -> conflict(theirs, mine, past.at(), begun, executed))));
                if (random.nextInt(20) == 0) {
                    ByteBuffer state = ByteBuffer.allocate(tested.encodedBytes());
                    tested.encode(state);
                    assertThat(state.hasRemaining()).isFalse();
                    tested = new Certifier();
                    tested.decode(state.flip());
                }
                Conflict found = tested.certify(writeSet(uses), begun, executed, at, id(at), ORIGIN);
                assertThat(found != null).as("seed %s, at %s", seed, at).isEqualTo(expected);
                if (found == null) {
                    certified.add(new Past(at, uses));
                }
            }
        }
    }

    private static boolean conflict(Use theirs, Use mine, long at, long begun, long executed) {
        // 0 and 1 are one key: a needless conflict.
        if (Math.max(1, theirs.key()) != Math.max(1, mine.key())) {
            return false;
        }
        if (mine.key() == KeyHasher.SCHEMA) {
            boolean changes = mine.mode() == KeyMode.REMOVED || mine.mode() == KeyMode.WRITTEN;
            if (theirs.mode() == KeyMode.REFERENCED || theirs.mode() == KeyMode.CHANGED) {
                // Rows that a schema change has not seen; its turn was where it calls everything executed.
                return changes && at > executed;
            }
            boolean guarded = mine.mode() == KeyMode.CHANGED && theirs.mode() == KeyMode.WRITTEN;
            return at > (guarded ? executed : begun);
        }
        boolean wasRead = theirs.mode() == KeyMode.READ || theirs.mode() == KeyMode.READ_UNLOCKED;
        if (wasRead || mine.mode() == KeyMode.CHANGED) {
            return false;
        }
        if (mine.mode() == KeyMode.READ_UNLOCKED) {
            return theirs.mode() != KeyMode.REFERENCED && at > begun;
        }
        if (theirs.mode() == KeyMode.REFERENCED) {
            return mine.mode() == KeyMode.REMOVED && at > begun;
        }
        if (mine.mode() == KeyMode.REFERENCED) {
            return theirs.mode() == KeyMode.REMOVED && at > begun;
        }
        return at > executed;
    }
}
