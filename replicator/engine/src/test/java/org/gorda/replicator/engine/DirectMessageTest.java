package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.List;
import java.util.Set;
import java.util.SplittableRandom;
import org.gorda.gapi.Capability;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.MemberId;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** What comes from another process is taken for what it is. */
class DirectMessageTest {

    private static final List<DirectMessage> ALL = List.of(
            new DirectMessage.Want(4711, "derby"),
            new DirectMessage.Want(0, ""),
            new DirectMessage.Wait(true, "es lädt"),
            new DirectMessage.Offer(
                    -3,
                    List.of(
                            new DirectMessage.FileOffered("state/checkpoint", 100, -1),
                            new DirectMessage.FileOffered("snapshot/seg0/größe", 0, 0))),
            new DirectMessage.Fetch(7, 3, 1L << 40, 65536),
            new DirectMessage.Part(7, 3, 5, ByteBuffer.wrap(new byte[] {1, 2, 3})),
            new DirectMessage.Gone(9),
            new DirectMessage.Done(9),
            new DirectMessage.Shown(1L << 50, true, Set.of(Capability.WRITE_SETS, Capability.NETWORK_SERVER)));

    @Test
    void whatIsEncodedIsDecoded() {
        for (DirectMessage message : ALL) {
            assertThat(DirectMessage.decode(DirectMessage.encode(message))).isEqualTo(message);
        }
    }

    @Test
    void whatIsCutShortOrDamagedIsRefusedOrIsAnotherMessage() {
        SplittableRandom random = new SplittableRandom(1);
        for (int i = 0; i < 50_000; i++) {
            DirectMessage message = ALL.get(random.nextInt(ALL.size()));
            byte[] bytes = DirectMessage.encode(message).array().clone();
            int length = random.nextInt(bytes.length + 1);
            for (int flips = random.nextInt(4); flips > 0; flips--) {
                bytes[random.nextInt(bytes.length)] = (byte) random.nextInt();
            }
            try {
                DirectMessage.decode(ByteBuffer.wrap(bytes, 0, length));
            } catch (GroupException e) {
                assertThat(e).hasMessageContaining("malformed");
            }
        }
    }

    @Test
    void noFileIsWrittenElsewhere(@TempDir Path directory) throws IOException {
        ReceivedDatabase received = new ReceivedDatabase(directory.resolve("replica"));
        for (String name : List.of("../../evil", "/tmp/evil", "a/../../../evil")) {
            DirectMessage.Offer offer = new DirectMessage.Offer(1, List.of(new DirectMessage.FileOffered(name, 1, 0)));
            assertThatThrownBy(() -> received.begin(new MemberId("127.0.0.1:1"), offer))
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining(name);
        }
        assertThat(Files.exists(directory.resolve("replica"))).isFalse();
    }
}
