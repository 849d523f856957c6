package org.gorda.jgcs.jgroups;

import static org.assertj.core.api.Assertions.assertThat;

import java.util.List;
import java.util.Optional;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.MessageId;
import org.gorda.jgcs.View;
import org.junit.jupiter.api.Test;

final class SendersTest {

    private static final MemberId SELF = new MemberId("a:1");
    private static final MemberId OTHER = new MemberId("b:1");

    private final Senders senders = new Senders();

    private void see(MemberId... members) {
        senders.see(new View(List.of(members), List.of(), Optional.of(SELF), true, 0));
    }

    private boolean take(long incarnation, long sequence) {
        return senders.take(new MessageId(OTHER, incarnation, sequence));
    }

    @Test
    void whoWasThereBeforeIsHeardFromWhereverItIs() {
        see(SELF, OTHER);
        assertThat(take(7, 41)).isTrue();
        assertThat(take(7, 42)).isTrue();
    }

    @Test
    void whoWasPutOutAndIsBackIsNotHeardBehindWhatIsMissing() {
        see(SELF, OTHER);
        assertThat(take(7, 41)).isTrue();
        see(SELF);
        see(SELF, OTHER);
        assertThat(take(7, 43)).isFalse();
        assertThat(take(7, 44)).isFalse();
        assertThat(take(7, 42)).isTrue();
        assertThat(take(7, 43)).isTrue();
    }

    @Test
    void whoWasPutOutBeforeItHadSentAnythingIsNotHeardBehindWhatIsMissing() {
        see(SELF, OTHER);
        see(SELF);
        see(SELF, OTHER);
        assertThat(take(7, 2)).isFalse();
        assertThat(take(7, 1)).isTrue();
    }

    @Test
    void whoBeginsAnewIsHeardFromItsFirstMessageEvenBeforeItIsSeen() {
        see(SELF, OTHER);
        assertThat(take(7, 41)).isTrue();
        see(SELF);
        assertThat(take(8, 1)).isTrue();
        see(SELF, OTHER);
        assertThat(take(8, 2)).isTrue();
        assertThat(take(7, 43)).as("what the run before had sent").isFalse();
    }

    @Test
    void nothingIsHeardBehindWhatItsSenderSentAfterIt() {
        see(SELF, OTHER);
        assertThat(take(7, 41)).isTrue();
        assertThat(take(7, 43)).as("a hole of one that stayed is the toolkit's").isTrue();
        assertThat(take(7, 42)).isFalse();
        assertThat(take(7, 43)).isFalse();
    }
}
