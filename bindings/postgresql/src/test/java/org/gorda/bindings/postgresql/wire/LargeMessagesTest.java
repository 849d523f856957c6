package org.gorda.bindings.postgresql.wire;

import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

class LargeMessagesTest {

    /** Of which only the length arrives. */
    @Test
    @Timeout(20)
    void whatTheHeapWouldNotTakeIsRefusedBeforeItIsRead() throws IOException {
        int length = Math.toIntExact(Runtime.getRuntime().maxMemory() / 8 + 1);
        try (ServerSocket listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress());
                Socket replica = new Socket(listening.getInetAddress(), listening.getLocalPort());
                Socket server = listening.accept();
                ServerStream messages = new ServerStream(replica)) {
            server.setSoLinger(true, 0);
            server.getOutputStream()
                    .write(ByteBuffer.allocate(5).put((byte) 'D').putInt(length).array());
            replica.setSoTimeout(5000);
            assertThatThrownBy(messages::next)
                    .isInstanceOf(IOException.class)
                    .hasMessageContaining("an eighth of its heap");
        }
    }
}
