package org.gorda.bench;

import java.io.DataInputStream;
import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.io.UncheckedIOException;
import java.net.InetAddress;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.locks.LockSupport;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * What lies between replica processes of one machine: each one's outgoing connections go through a SOCKS 5 proxy of its own (RFC 1928),
 * which Java takes from the process's properties, and which can hold back, delay and reset what it passes on. No privileges are
 * needed, and the replicas' code knows nothing of it. Thread-safe.
 */
public final class Links implements AutoCloseable {

    private static final Logger LOG = LoggerFactory.getLogger(Links.class);
    private static final int BUFFER_BYTES = 64 << 10;
    private static final int CONNECT_MILLIS = 2_000;
    private static final int VERSION = 5;
    private static final int CONNECT = 1;
    private static final int IPV4 = 1;

    private final Map<Integer, Integer> replicaByPort;
    private final ServerSocket[] proxies;
    private final boolean[][] cut;
    private final int[][] delayMillis;
    private final Set<Relay> relays = ConcurrentHashMap.newKeySet();
    private volatile boolean closed;

    /** Those between a group's replicas, which must not have been started yet. */
    public static Links between(ReplicaGroup group) {
        List<List<Integer>> ports = new ArrayList<>();
        for (int replica = 0; replica < group.replicas().size(); replica++) {
            ports.add(List.of(
                    port(group.members().get(replica)),
                    port(group.replicas().get(replica).service())));
        }
        Links links = new Links(ports);
        for (int replica = 0; replica < group.replicas().size(); replica++) {
            group.replicas().get(replica).javaOptions(links.javaOptions(replica));
        }
        return links;
    }

    private static int port(String address) {
        return Integer.parseInt(address.substring(address.lastIndexOf(':') + 1));
    }

    /** @param ports of each replica, on which others may connect to it */
    private Links(List<List<Integer>> ports) {
        int count = ports.size();
        replicaByPort = new ConcurrentHashMap<>();
        proxies = new ServerSocket[count];
        cut = new boolean[count][count];
        delayMillis = new int[count][count];
        try {
            for (int replica = 0; replica < count; replica++) {
                int number = replica;
                ports.get(replica).forEach(port -> replicaByPort.put(port, number));
                ServerSocket proxy = new ServerSocket(0, 0, InetAddress.getLoopbackAddress());
                proxies[replica] = proxy;
                start("links of " + replica, () -> accept(number, proxy));
            }
        } catch (IOException e) {
            throw new UncheckedIOException(e);
        }
    }

    /** What the replica's process is to be started with. */
    private List<String> javaOptions(int replica) {
        return List.of(
                "-DsocksProxyHost=127.0.0.1",
                "-DsocksProxyPort=" + proxies[replica].getLocalPort(),
                "-DsocksNonProxyHosts=");
    }

    // -------------------------------------------------------------------------------------------------- what is done

    /** Whether what one replica sends to another is held back; replicas by number, from 0. */
    public synchronized void cut(int from, int to, boolean cuts) {
        cut[from][to] = cuts;
        notifyAll();
    }

    /** By how much what one replica sends to another arrives later. */
    public synchronized void delay(int from, int to, int millis) {
        delayMillis[from][to] = millis;
    }

    /** Nothing is held back or delayed any more. */
    public synchronized void heal() {
        for (int from = 0; from < proxies.length; from++) {
            for (int to = 0; to < proxies.length; to++) {
                cut(from, to, false);
                delay(from, to, 0);
            }
        }
    }

    /** Ends all connections between two replicas. */
    public void reset(int one, int other) {
        relays.stream()
                .filter(relay -> relay.isBetween(one, other) || relay.isBetween(other, one))
                .forEach(Relay::close);
    }

    private synchronized void awaitOpen(int from, int to) throws InterruptedException {
        while (cut[from][to] && !closed) {
            wait();
        }
    }

    private synchronized int delayMillis(int from, int to) {
        return delayMillis[from][to];
    }

    // ---------------------------------------------------------------------------------------------- what passes on

    private static void start(String name, Runnable body) {
        Thread thread = new Thread(body, name);
        thread.setDaemon(true);
        thread.start();
    }

    private void accept(int from, ServerSocket proxy) {
        while (!closed) {
            try {
                Socket client = proxy.accept();
                start("link from " + from, () -> serve(from, client));
            } catch (IOException e) {
                LOG.debug("the proxy of replica {} has ended", from, e);
            }
        }
    }

    private void serve(int from, Socket client) {
        try {
            client.setTcpNoDelay(true);
            InetSocketAddress wanted = handshake(client);
            int to = replicaByPort.getOrDefault(wanted.getPort(), from); // all else is within the replica
            awaitOpen(from, to);
            awaitOpen(to, from);
            Socket server = new Socket();
            Relay relay = new Relay(from, to, client, server);
            relays.add(relay);
            try {
                server.connect(wanted, CONNECT_MILLIS);
                server.setTcpNoDelay(true);
                accepted(client);
            } catch (IOException e) {
                relay.close(); // by which the client learns it
                return;
            }
            start("link to " + from, () -> relay.run(server, client, to, from));
            relay.run(client, server, from, to);
        } catch (IOException | InterruptedException e) {
            LOG.debug("a connection from replica {} has ended", from, e);
            closeQuietly(client);
        }
    }

    private static InetSocketAddress handshake(Socket client) throws IOException {
        DataInputStream in = new DataInputStream(client.getInputStream());
        require(in.readUnsignedByte() == VERSION);
        in.readNBytes(in.readUnsignedByte()); // ways to authenticate
        client.getOutputStream().write(new byte[] {VERSION, 0});
        require(in.readUnsignedByte() == VERSION && in.readUnsignedByte() == CONNECT);
        in.readUnsignedByte();
        require(in.readUnsignedByte() == IPV4);
        InetAddress host = InetAddress.getByAddress(in.readNBytes(4));
        return new InetSocketAddress(host, in.readUnsignedShort());
    }

    private static void require(boolean understood) throws IOException {
        if (!understood) {
            throw new IOException("not what Java's SOCKS client sends for an IPv4 address");
        }
    }

    private static void accepted(Socket client) throws IOException {
        client.getOutputStream().write(new byte[] {VERSION, 0, 0, IPV4, 0, 0, 0, 0, 0, 0});
    }

    private static void closeQuietly(AutoCloseable resource) {
        try {
            resource.close();
        } catch (Exception e) {
            LOG.debug("closing {}", resource, e);
        }
    }

    /** One connection between two replicas. Thread-safe. */
    private final class Relay {
        private final int from;
        private final int to;
        private final Socket client;
        private final Socket server;

        Relay(int from, int to, Socket client, Socket server) {
            this.from = from;
            this.to = to;
            this.client = client;
            this.server = server;
        }

        boolean isBetween(int one, int other) {
            return from == one && to == other;
        }

        void run(Socket source, Socket target, int sender, int receiver) {
            byte[] buffer = new byte[BUFFER_BYTES];
            try {
                InputStream in = source.getInputStream();
                OutputStream out = target.getOutputStream();
                for (int count = in.read(buffer); count >= 0; count = in.read(buffer)) {
                    awaitOpen(sender, receiver);
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(delayMillis(sender, receiver)));
                    out.write(buffer, 0, count);
                }
            } catch (IOException | InterruptedException e) {
                LOG.debug("a connection from replica {} to {} has ended", from, to, e);
            } finally {
                close();
            }
        }

        void close() {
            relays.remove(this);
            closeQuietly(client);
            closeQuietly(server);
        }
    }

    @Override
    public void close() {
        closed = true;
        for (ServerSocket proxy : proxies) {
            closeQuietly(proxy);
        }
        relays.forEach(Relay::close);
        synchronized (this) {
            notifyAll();
        }
    }
}
