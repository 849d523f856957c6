package org.gorda.jgcs.raft.transport;

import java.io.IOException;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.concurrent.ScheduledExecutorService;
import org.jgroups.util.DefaultSocketFactory;

/** In plain text. Thread-safe. */
final class BlockingSockets extends DefaultSocketFactory {

    private final ScheduledExecutorService clock;

    /** @param clock ends what takes longer than it may */
    BlockingSockets(ScheduledExecutorService clock) {
        this.clock = clock;
    }

    @Override
    public Socket createSocket(String service) {
        return new BlockingSocket(clock);
    }

    @Override
    public ServerSocket createServerSocket(String service) throws IOException {
        return new ServerSocket() {
            @Override
            public Socket accept() throws IOException {
                Socket socket = new BlockingSocket(clock);
                implAccept(socket);
                return socket;
            }
        };
    }
}
