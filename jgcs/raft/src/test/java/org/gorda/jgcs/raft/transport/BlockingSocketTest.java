package org.gorda.jgcs.raft.transport;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketException;
import java.util.ArrayList;
import java.util.List;
import java.util.concurrent.Executors;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.TimeUnit;
import org.junit.jupiter.api.AfterEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.Timeout;

@Timeout(30)
class BlockingSocketTest {

    private static final int TIMEOUT_MILLIS = 300;
    private static final int BACKLOG = 1;

    private final ScheduledExecutorService clock = Executors.newSingleThreadScheduledExecutor();

    @AfterEach
    void stop() {
        clock.shutdownNow();
    }

    @Test
    void aReadFromWhoSaysNothingEnds() throws IOException {
        try (ServerSocket server = new ServerSocket(0, 10, InetAddress.getLoopbackAddress());
                Socket socket = new BlockingSocket(clock)) {
            socket.connect(server.getLocalSocketAddress(), TIMEOUT_MILLIS);
            socket.setSoTimeout(TIMEOUT_MILLIS);
            assertThatThrownBy(() -> socket.getInputStream().read()).isInstanceOf(SocketException.class);
            assertThat(socket.isClosed()).isTrue();
        }
    }

    @Test
    void whatHasEndedInTimeIsNotClosedLater() throws Exception {
        try (ServerSocket server = new BlockingSockets(clock).createServerSocket("test")) {
            server.bind(new InetSocketAddress(InetAddress.getLoopbackAddress(), 0));
            try (Socket socket = new BlockingSocket(clock)) {
                socket.connect(server.getLocalSocketAddress(), TIMEOUT_MILLIS);
                try (Socket accepted = server.accept()) {
                    accepted.setSoTimeout(TIMEOUT_MILLIS);
                    accepted.setSoTimeout(0);
                    clock.schedule(() -> {}, TIMEOUT_MILLIS, TimeUnit.MILLISECONDS)
                            .get(); // behind what would close it
                    socket.getOutputStream().write(7);
                    assertThat(accepted.getInputStream().read()).isEqualTo(7);
                }
            }
        }
    }

    /** As many are connected as wait to be accepted; the system lets the next one wait. */
    @Test
    void aConnectionThatNobodyTakesIsGivenUp() throws IOException {
        List<Socket> sockets = new ArrayList<>();
        try (ServerSocket server = new ServerSocket(0, BACKLOG, InetAddress.getLoopbackAddress())) {
            assertThatThrownBy(() -> {
                        for (int i = 0; i < BACKLOG + 5; i++) {
                            Socket socket = new BlockingSocket(clock);
                            sockets.add(socket);
                            socket.connect(server.getLocalSocketAddress(), TIMEOUT_MILLIS);
                        }
                    })
                    .isInstanceOf(SocketException.class);
        } finally {
            for (Socket socket : sockets) {
                socket.close();
            }
        }
    }
}
