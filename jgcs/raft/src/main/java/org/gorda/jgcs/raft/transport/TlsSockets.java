package org.gorda.jgcs.raft.transport;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.net.InetSocketAddress;
import java.net.ServerSocket;
import java.net.Socket;
import java.net.SocketAddress;
import java.net.SocketException;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.util.Arrays;
import java.util.List;
import java.util.Set;
import java.util.concurrent.ArrayBlockingQueue;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.RejectedExecutionException;
import java.util.concurrent.ScheduledExecutorService;
import java.util.concurrent.SynchronousQueue;
import java.util.concurrent.ThreadPoolExecutor;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicLong;
import java.util.concurrent.locks.LockSupport;
import java.util.function.Function;
import java.util.function.Supplier;
import java.util.function.UnaryOperator;
import javax.net.ssl.SSLException;
import javax.net.ssl.SSLSocket;
import org.gorda.jgcs.Encryption;
import org.gorda.jgcs.MemberCertificate;
import org.jgroups.util.DefaultSocketFactory;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Sockets over which both sides show a certificate before anything else is said, by TLS 1.3. To JGroups they are sockets like others, which
 * are closed without a goodbye: that would wait for a peer that is frozen. What is cut off by that is noticed, frames have a length. Thread-safe.
 */
final class TlsSockets extends DefaultSocketFactory {

    private static final Logger LOG = LoggerFactory.getLogger(TlsSockets.class);
    private static final String[] VERSIONS = {"TLSv1.3"};

    /** So many may be about to show their certificates at once. Members are fewer. */
    private static final int HANDSHAKES_MAX = 32;

    private static final long TOLD_NANOS = TimeUnit.SECONDS.toNanos(10);

    private final Encryption encryption;
    private final Function<InetSocketAddress, List<String>> hostAt;
    private final Supplier<List<String>> hosts;
    private final int timeoutMillis;
    private final ScheduledExecutorService clock;
    private final UnaryOperator<Runnable> vital;
    private final AtomicLong toldNanos = new AtomicLong(System.nanoTime() - TOLD_NANOS);

    /**
     * Makes the sockets of one member.
     *
     * @param hostAt which host the certificate of who is at an address has to name
     * @param hosts of which hosts the certificate of who connects has to name one
     * @param timeoutMillis how long a peer may take to show its certificate
     * @param clock ends who takes longer
     * @param vital tells when a task ends by an error without which nobody is let in any more
     */
    TlsSockets(
            Encryption encryption,
            Function<InetSocketAddress, List<String>> hostAt,
            Supplier<List<String>> hosts,
            int timeoutMillis,
            ScheduledExecutorService clock,
            UnaryOperator<Runnable> vital) {
        this.encryption = encryption;
        this.hostAt = hostAt;
        this.hosts = hosts;
        this.timeoutMillis = timeoutMillis;
        this.clock = clock;
        this.vital = vital;
    }

    @Override
    public Socket createSocket(String service) {
        return new EncryptedSocket();
    }

    @Override
    public ServerSocket createServerSocket(String service) throws IOException {
        return new EncryptedServerSocket();
    }

    /** Not more than once in a while: whoever reaches the port can cause it. */
    private void tell(String what, @Nullable SocketAddress whom, Exception why) {
        long now = System.nanoTime();
        long before = toldNanos.get();
        if (now - before >= TOLD_NANOS && toldNanos.compareAndSet(before, now)) {
            LOG.warn("{} {}: {}", what, whom, why.getMessage());
        } else {
            LOG.debug("{} {}", what, whom, why);
        }
    }

    /** A connection, in plain until both have shown who they are. */
    private final class EncryptedSocket extends BlockingSocket {

        private volatile @Nullable SSLSocket encrypted;

        EncryptedSocket() {
            super(clock);
        }

        @Override
        public void connect(SocketAddress to, int connectMillis) throws IOException {
            super.connect(to, connectMillis);
            InetSocketAddress address = (InetSocketAddress) to;
            try {
                handshake(
                        (SSLSocket) encryption
                                .context()
                                .getSocketFactory()
                                .createSocket(this, address.getHostString(), address.getPort(), false),
                        hostAt.apply(address));
            } catch (SSLException e) {
                tell("no connection to", to, e);
                throw e;
            }
        }

        /** As who was connected to. */
        void accepted() throws IOException {
            SSLSocket server = (SSLSocket)
                    encryption.context().getSocketFactory().createSocket(this, InputStream.nullInputStream(), false);
            server.setNeedClientAuth(true);
            handshake(server, hosts.get());
        }

        private void handshake(SSLSocket socket, List<String> right) throws IOException {
            socket.setEnabledProtocols(VERSIONS);
            setSoTimeout(timeoutMillis);
            socket.startHandshake();
            requireRight(socket, right);
            setSoTimeout(0);
            encrypted = socket;
        }

        /** Asks all again: of a session that is resumed Java has asked nothing. */
        private void requireRight(SSLSocket socket, List<String> right) throws SSLException {
            Certificate[] shown = socket.getSession().getPeerCertificates();
            X509Certificate[] chain = Arrays.copyOf(shown, shown.length, X509Certificate[].class);
            try {
                if (socket.getUseClientMode()) {
                    encryption.trust().checkServerTrusted(chain, "UNKNOWN"); // as it is called with TLS 1.3
                } else {
                    encryption
                            .trust()
                            .checkClientTrusted(chain, chain[0].getPublicKey().getAlgorithm());
                }
            } catch (CertificateException e) {
                throw new SSLException(e.getMessage(), e);
            }
            if (right.stream().noneMatch(host -> MemberCertificate.isFor(chain[0], host))) {
                throw new SSLException("its certificate names " + MemberCertificate.names(chain[0]) + " and not "
                        + String.join(" or ", right) + " (" + chain[0].getSubjectX500Principal() + ")");
            }
        }

        @Override
        public InputStream getInputStream() throws IOException {
            SSLSocket socket = encrypted;
            return socket == null ? super.getInputStream() : socket.getInputStream();
        }

        @Override
        public OutputStream getOutputStream() throws IOException {
            SSLSocket socket = encrypted;
            return socket == null ? super.getOutputStream() : socket.getOutputStream();
        }
    }

    /** Gives out only who has shown who it is; one that takes its time with that holds up no other. */
    private final class EncryptedServerSocket extends ServerSocket {

        private final BlockingQueue<EncryptedSocket> ready = new ArrayBlockingQueue<>(HANDSHAKES_MAX);
        private final ThreadPoolExecutor handshakes = new ThreadPoolExecutor(
                0, HANDSHAKES_MAX, 10, TimeUnit.SECONDS, new SynchronousQueue<>(), task -> daemon(task, "handshake"));
        private final Set<EncryptedSocket> showing = ConcurrentHashMap.newKeySet();
        private @Nullable Thread acceptor;

        EncryptedServerSocket() throws IOException {}

        @Override
        public Socket accept() throws IOException {
            synchronized (this) {
                if (acceptor == null) {
                    acceptor = daemon(vital.apply(this::acceptAll), "acceptor");
                    acceptor.start();
                }
            }
            try {
                return ready.take();
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                throw new SocketException("closed");
            }
        }

        private void acceptAll() {
            while (!isClosed()) {
                try {
                    acceptNext();
                } catch (IOException | RuntimeException | OutOfMemoryError e) {
                    LOG.debug("accepting at {}", getLocalSocketAddress(), e);
                    // Perhaps there are no more files or threads to be had, or there is no more memory.
                    LockSupport.parkNanos(TimeUnit.MILLISECONDS.toNanos(10));
                }
            }
        }

        private void acceptNext() throws IOException {
            EncryptedSocket socket = new EncryptedSocket();
            boolean isShowing = false;
            try {
                implAccept(socket);
                handshakes.execute(() -> letIn(socket));
                isShowing = true;
            } catch (RejectedExecutionException e) {
                LOG.debug("{}: too many are about to show who they are", getLocalSocketAddress(), e);
            } finally {
                if (!isShowing) {
                    socket.closeLate();
                }
            }
        }

        private void letIn(EncryptedSocket socket) {
            showing.add(socket);
            boolean isIn = false;
            try {
                if (!isClosed()) { // else nobody ends it any more
                    socket.accepted();
                }
                isIn = ready.offer(socket) && !(isClosed() && ready.remove(socket));
            } catch (IOException | RuntimeException e) {
                if (!isClosed()) {
                    tell("not let in as a member:", socket.getRemoteSocketAddress(), e);
                }
            } finally {
                showing.remove(socket);
                if (!isIn) {
                    socket.closeLate();
                }
            }
        }

        @Override
        public void close() throws IOException {
            super.close();
            handshakes.shutdownNow();
            showing.forEach(EncryptedSocket::closeLate);
            for (EncryptedSocket socket = ready.poll(); socket != null; socket = ready.poll()) {
                socket.closeLate();
            }
        }

        private Thread daemon(Runnable task, String role) {
            Thread thread = new Thread(task, "gorda-transport-" + role + "-" + getLocalPort());
            thread.setDaemon(true);
            return thread;
        }
    }
}
