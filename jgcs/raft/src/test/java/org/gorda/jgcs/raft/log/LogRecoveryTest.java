package org.gorda.jgcs.raft.log;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.List;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Recovery;
import org.gorda.jgcs.raft.core.Configuration;
import org.gorda.jgcs.raft.core.Entry;
import org.gorda.jgcs.raft.core.Standing;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What a person is shown of a directory whose member does not run, and what the one step does to it. */
class LogRecoveryTest {

    private static final MemberId ADDED = new MemberId("added:7800");

    @TempDir
    Path temporary;

    private Directory directory;

    @BeforeEach
    void nameDirectory() {
        directory = new Directory(temporary.resolve("member"));
    }

    private Recovery open() {
        return LogRecovery.open(directory.path(), () -> -1);
    }

    @Test
    void showsWithoutAChange() {
        directory.fill(Directory.entries(1, 9, 3, 30));
        for (int times = 0; times < 2; times++) {
            try (Recovery recovery = open()) {
                assertThat(recovery.remains())
                        .isEqualTo(new Recovery.Remains(
                                "bank",
                                Directory.SELF,
                                true,
                                0,
                                0,
                                3,
                                9,
                                List.of(Directory.SELF, Directory.VOTED),
                                List.of()));
            }
        }
        Directory.Found found = directory.start();
        assertThat(found.standing()).isEqualTo(Standing.CERTAIN);
        assertThat(found.term()).isEqualTo(Directory.TERM);
        assertThat(found.vote()).isEqualTo(Directory.VOTED);
        assertThat(found.entries()).hasSize(9);
    }

    @Test
    void goesOnAloneInATermThatNoElectionReaches() {
        directory.fill(Directory.entries(1, 9, 3, 30));
        try (Recovery recovery = open()) {
            recovery.goOnAlone();
            assertThat(recovery.remains().voters()).containsExactly(Directory.SELF);
            assertThatThrownBy(recovery::goOnAlone)
                    .isInstanceOf(GroupException.class)
                    .hasMessageContaining("only voter already");
        }
        Directory.Found found = directory.start();
        assertThat(found.standing()).isEqualTo(Standing.CERTAIN);
        assertThat(found.entries()).hasSize(10);
        Entry last = found.entries().get(9);
        Configuration alone = Configuration.decode(last.payload());
        assertThat(last.kind()).isEqualTo(Entry.Kind.CONFIGURATION);
        assertThat(last.term()).isEqualTo(alone.timeline()).isEqualTo(found.term());
        assertThat(alone.timeline()).isBetween(1L << 40, 1L << 41);
        assertThat(alone.members())
                .containsExactly(new Configuration.Member(Directory.SELF, Directory.ADMISSION, true));
        try (Recovery recovery = open()) {
            assertThat(recovery.remains().timeline()).isEqualTo(alone.timeline());
        }
    }

    @Test
    void whoseLogLostItsEndIsShownAsSuchAndMayGoOnAllTheSame() throws Exception {
        directory.fill(Directory.entries(1, 9, 3, 30));
        Directory.cut(directory.segment(1), Files.size(directory.segment(1)) - 200);
        try (Recovery recovery = open()) {
            assertThat(recovery.remains().certain()).isFalse();
            assertThat(recovery.remains().lastIndex()).isLessThan(9);
        }
        try (Recovery recovery = open()) {
            recovery.goOnAlone();
            assertThat(recovery.remains().certain()).isTrue();
        }
        assertThat(directory.start().standing()).isEqualTo(Standing.CERTAIN);
    }

    /** Otherwise a person would be told that nobody else is needed, and nobody else would be asked. */
    @Test
    void whoWasAddedWhereTheLogIsLostIsAVoter() throws Exception {
        List<Entry> entries = new ArrayList<>(Directory.entries(1, 5, 3, 30));
        List<Configuration.Member> members = new ArrayList<>(Directory.FORMED.members());
        members.add(new Configuration.Member(ADDED, 3, true));
        Configuration grown = new Configuration(Directory.FORMED.group(), 0, members);
        entries.add(Entry.of(3, 6, Entry.Kind.CONFIGURATION, grown.encode()));
        directory.fill(entries);
        Directory.flip(directory.segment(1), 200, 1);
        try (Recovery recovery = open()) {
            assertThat(recovery.remains().certain()).isFalse();
            assertThat(recovery.remains().lastIndex()).isLessThan(6);
            assertThat(recovery.remains().voters()).containsExactlyInAnyOrder(Directory.SELF, Directory.VOTED, ADDED);
        }
    }

    @Test
    void whereThereIsNoMemberNothingIsMade() {
        assertThatThrownBy(this::open).isInstanceOf(GroupException.class).hasMessageContaining("holds no member");
        assertThat(directory.path()).doesNotExist();
    }
}
