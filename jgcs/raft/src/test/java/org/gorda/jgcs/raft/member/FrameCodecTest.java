package org.gorda.jgcs.raft.member;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.util.List;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.History;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.raft.core.Configuration;
import org.gorda.jgcs.raft.core.CorruptEntryException;
import org.gorda.jgcs.raft.core.RaftMessage;
import org.junit.jupiter.api.Test;

/** Whose frames are refused. */
class FrameCodecTest {

    private static final GroupId GROUP = new GroupId(3, 4);
    private static final Frame APPEND = new Frame.Core(new RaftMessage.Append(2, 0, 0, 0, 0, 0, 0, true, List.of()));
    private static final Frame CANDIDACY = new Frame.Core(new RaftMessage.VoteRequest(2, 0, 0, false, false));

    private static FrameCodec codec(String group, String member, History history) {
        FrameCodec codec = new FrameCodec(group, 7, new MemberId(member), 5);
        codec.history(history);
        return codec;
    }

    private static FrameCodec sender(History history) {
        return codec("bank", "db2:7800", history);
    }

    private static FrameCodec receiver(History history) {
        return codec("bank", "db1:7800", history);
    }

    private static History timeline(long number) {
        return new History(GROUP, number);
    }

    @Test
    void aFrameCarriesItsSendersHistory() {
        for (History history : List.of(History.UNKNOWN, timeline(0), timeline(1L << 40))) {
            FrameCodec.Received received =
                    receiver(History.UNKNOWN).decode(sender(history).encode(APPEND));
            assertThat(received.history()).isEqualTo(history);
            assertThat(received.frame()).isEqualTo(APPEND);
        }
    }

    /** What it puts into the order would stop whoever does not understand it. */
    @Test
    void whoSpeaksOtherwiseIsRefused() {
        byte[] frame = new FrameCodec("bank", 8, new MemberId("db2:7800"), 5).encode(APPEND);
        assertThatThrownBy(() -> receiver(History.UNKNOWN).decode(frame))
                .isInstanceOf(CorruptEntryException.class)
                .hasMessage("a frame of db2:7800, whose messages are of version 8, this member's are of version 7:"
                        + " run the same release on all members");
    }

    @Test
    void anotherGroupAnotherHistoryAndAnotherTimelineAreRefused() {
        assertThatThrownBy(() -> receiver(timeline(0))
                        .decode(codec("shop", "db2:7800", timeline(0)).encode(APPEND)))
                .isInstanceOf(CorruptEntryException.class)
                .hasMessageContaining("whose group has another name");
        assertThatThrownBy(() -> receiver(timeline(0))
                        .decode(sender(new History(new GroupId(3, 5), 0)).encode(APPEND)))
                .isInstanceOf(CorruptEntryException.class)
                .hasMessageContaining("it was formed separately");
        for (long[] timelines : new long[][] {{0, 1L << 40}, {1L << 40, 0}, {1L << 40, (1L << 40) + 1}}) {
            assertThatThrownBy(() -> receiver(timeline(timelines[0]))
                            .decode(sender(timeline(timelines[1])).encode(APPEND)))
                    .isInstanceOf(CorruptEntryException.class)
                    .hasMessageContaining("db2:7800")
                    .hasMessageContaining("one of the two was told to go on alone");
        }
    }

    /** Its answer would carry this timeline's terms to the other one. */
    @Test
    void whoWentOnAloneHearsOnlyTheGreetingOfWhoDoesNotKnowItsTimeline() {
        for (Frame frame : List.of(APPEND, CANDIDACY)) {
            byte[] bytes = sender(History.UNKNOWN).encode(frame);
            assertThat(receiver(timeline(0)).decode(bytes).frame()).isEqualTo(frame);
            assertThatThrownBy(() -> receiver(timeline(1L << 40)).decode(bytes))
                    .isInstanceOf(CorruptEntryException.class)
                    .hasMessageContaining("db2:7800, which does not know of timeline 1099511627776");
        }
        Frame greeting = new Frame.Core(new RaftMessage.Hello(2, true, Configuration.EMPTY, false));
        byte[] bytes = sender(History.UNKNOWN).encode(greeting);
        assertThat(receiver(timeline(1L << 40)).decode(bytes).frame()).isEqualTo(greeting);
    }
}
