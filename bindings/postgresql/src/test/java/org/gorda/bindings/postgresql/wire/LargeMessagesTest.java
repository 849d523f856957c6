package org.gorda.bindings.postgresql.wire;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.EOFException;
import java.io.IOException;
import java.net.InetAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.nio.ByteBuffer;
import java.util.ArrayList;
import java.util.List;
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

    /** Who has no password may connect as often as he likes. */
    @Test
    void whoIsNotLetInSendsNothingLarge() throws IOException {
        ClientMessages messages = new ClientMessages();
        messages.started();
        messages.accept(header(65_535), 0, 5, message -> {});
        ClientMessages more = new ClientMessages();
        more.started();
        assertThatThrownBy(() -> more.accept(header(65_536), 0, 5, message -> {}))
                .isInstanceOf(IOException.class)
                .hasMessageContaining("65536 bytes");
    }

    /** One of an eighth of the heap each; all together would end the process. */
    @Test
    @Timeout(120)
    void largeMessagesOfAllClientsShareAPartOfTheHeap() throws IOException {
        int length = Math.toIntExact(Runtime.getRuntime().maxMemory() / 8 - 1);
        byte[] some = new byte[2 << 20];
        List<ClientMessages> clients = new ArrayList<>();
        IOException refused = null;
        while (refused == null) {
            assertThat(clients).hasSizeLessThan(4);
            ClientMessages client = new ClientMessages();
            client.started();
            client.letIn();
            try {
                client.accept(header(length), 0, 5, message -> {});
                client.accept(some, 0, some.length, message -> {});
                clients.add(client);
            } catch (IOException e) {
                refused = e;
            }
        }
        assertThat(refused).hasMessageContaining("no room").hasMessageContaining("-Xmx");
        assertThat(clients).isNotEmpty();
        clients.get(0).end();
        ClientMessages next = new ClientMessages();
        next.started();
        next.letIn();
        int[] taken = {0};
        next.accept(header(length), 0, 5, message -> taken[0]++);
        for (int left = length - 4; left > 0; left -= some.length) {
            next.accept(some, 0, Math.min(left, some.length), message -> taken[0]++);
        }
        assertThat(taken[0]).isOne();
        clients.forEach(ClientMessages::end);
    }

    /** Each waits, unread, in the memory of the replica while another one is told. */
    @Test
    @Timeout(120)
    void largeMessagesOfAllServersShareAPartOfTheHeap() throws Exception {
        int length = Math.toIntExact(Runtime.getRuntime().maxMemory() / 8 - 1);
        byte[] some = new byte[2 << 20];
        try (ServerSocket listening = new ServerSocket(0, 1, InetAddress.getLoopbackAddress())) {
            List<ServerStream> streams = new ArrayList<>();
            IOException refused = null;
            while (refused == null) {
                assertThat(streams).hasSizeLessThan(4);
                Socket replica = new Socket(listening.getInetAddress(), listening.getLocalPort());
                Socket server = listening.accept();
                Thread writing = new Thread(() -> {
                    try (server) {
                        server.getOutputStream().write(header(length));
                        server.getOutputStream().write(some);
                    } catch (IOException e) {
                        // nobody reads it
                    }
                });
                writing.start();
                ServerStream stream = new ServerStream(replica);
                streams.add(stream);
                try {
                    stream.next();
                } catch (EOFException e) {
                    // it holds what it has taken
                } catch (IOException e) {
                    refused = e;
                }
                writing.join();
            }
            assertThat(refused).hasMessageContaining("no room").hasMessageContaining("-Xmx");
            assertThat(streams).hasSizeGreaterThan(1);
            for (ServerStream stream : streams) {
                stream.close();
            }
        }
    }

    private static byte[] header(int length) {
        return ByteBuffer.allocate(5).put((byte) 'p').putInt(length).array();
    }
}
