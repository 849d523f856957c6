package org.gorda.gapi;

import java.io.IOException;
import java.net.Socket;
import java.net.SocketOption;
import java.util.Map;
import jdk.net.ExtendedSocketOptions;

/** Misses within a minute whoever has vanished from the other end of a connection, as with the power of his machine; the system's own takes two hours. Stateless. */
public final class KeepAlive {

    /** In seconds without a word until one is asked for, in seconds until it is asked for again, and how often. */
    private static final Map<SocketOption<Integer>, Integer> SETTINGS = Map.of(
            ExtendedSocketOptions.TCP_KEEPIDLE, 30,
            ExtendedSocketOptions.TCP_KEEPINTERVAL, 10,
            ExtendedSocketOptions.TCP_KEEPCOUNT, 3);

    private KeepAlive() {}

    /** From now on, as far as the system can. */
    public static void on(Socket socket) throws IOException {
        socket.setKeepAlive(true);
        for (Map.Entry<SocketOption<Integer>, Integer> setting : SETTINGS.entrySet()) {
            if (socket.supportedOptions().contains(setting.getKey())) {
                socket.setOption(setting.getKey(), setting.getValue());
            }
        }
    }
}
