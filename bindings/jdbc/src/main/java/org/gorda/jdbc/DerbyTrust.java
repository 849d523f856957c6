package org.gorda.jdbc;

import java.lang.reflect.Field;
import java.net.Socket;
import java.security.cert.CertificateException;
import java.security.cert.X509Certificate;
import java.sql.Connection;
import java.sql.DriverManager;
import java.sql.SQLException;
import java.sql.SQLNonTransientConnectionException;
import java.util.Properties;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.SSLParameters;
import javax.net.ssl.SSLSocket;
import javax.net.ssl.TrustManager;
import javax.net.ssl.X509ExtendedTrustManager;
import javax.net.ssl.X509TrustManager;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Derby's client with {@code ssl=basic} trusts everybody. Here it asks us first: while GORDA's driver logs in, in this thread, a server's certificate must be
 * one that is trusted, and for the host. For all other connections of the process nothing changes. Thread-safe.
 */
final class DerbyTrust extends X509ExtendedTrustManager {

    private static final Logger LOG = LoggerFactory.getLogger(DerbyTrust.class);
    private static final String NAIVE = "org.apache.derby.shared.common.drda.NaiveTrustManager";

    /** What is asked of the trust manager in this thread. */
    private static final ThreadLocal<@Nullable Login> LOGIN = new ThreadLocal<>();

    private static final class Login {
        private final X509ExtendedTrustManager trust;
        private boolean isReached;
        private boolean isTrusted;

        Login(X509ExtendedTrustManager trust) {
            this.trust = trust;
        }
    }

    /** Derby's own; or that of another copy of this driver, which asks Derby's. */
    private X509TrustManager next;

    private DerbyTrust(X509TrustManager next) {
        this.next = next;
    }

    /** Logs in to a server that is trusted. */
    static Connection connect(String url, Properties properties, X509ExtendedTrustManager trust) throws SQLException {
        Login login = new Login(trust);
        LOGIN.set(login);
        try {
            install(login);
            properties.setProperty("ssl", "basic");
            Connection connection = DriverManager.getConnection(url, properties);
            if (!login.isTrusted) {
                connection.close();
                throw new SQLNonTransientConnectionException(
                        "the certificate of " + url + " was not asked for", "08001");
            }
            return connection;
        } finally {
            LOGIN.remove();
        }
    }

    private static void install(Login login) throws SQLException {
        try {
            putFirst(login);
        } catch (ReflectiveOperationException | RuntimeException e) {
            throw new SQLNonTransientConnectionException(
                    "this version of Derby's client is not known, so that TLS would trust everybody: take derbyclient 10.16.1.1 ("
                            + e + ")",
                    "08001",
                    e);
        }
    }

    /** Puts one of ours before Derby's, unless one is there, be it behind one of another copy of this driver. */
    private static void putFirst(Login login) throws ReflectiveOperationException {
        Class<?> naive = Class.forName(NAIVE);
        synchronized (naive) { // the same for all copies of this driver
            putFirst(login, naive);
        }
    }

    private static void putFirst(Login login, Class<?> naive) throws ReflectiveOperationException {
        Field managers = naive.getDeclaredField("thisManager");
        managers.setAccessible(true);
        if (managers.get(null) == null) { // who makes Derby's own then does not replace ours
            naive.getMethod("getSocketFactory", Properties.class).invoke(null, new Properties());
        }
        X509TrustManager first = (X509TrustManager) ((TrustManager[]) managers.get(null))[0];
        first.getAcceptedIssuers();
        if (!login.isReached) {
            managers.set(null, new TrustManager[] {new DerbyTrust(first)});
        }
    }

    /** The driver is deregistered: Derby's client, which may outlive it, keeps nothing of it. */
    static void leave() {
        try {
            Class<?> naive = Class.forName(NAIVE);
            synchronized (naive) {
                takeOut(naive);
            }
        } catch (ReflectiveOperationException | LinkageError | RuntimeException e) {
            LOG.debug("Derby's client is not there, or of an unknown version", e);
        }
    }

    private static void takeOut(Class<?> naive) throws ReflectiveOperationException {
        Field managers = naive.getDeclaredField("thisManager");
        managers.setAccessible(true);
        TrustManager[] chain = (TrustManager[]) managers.get(null);
        Object before = null;
        Object at = chain == null ? null : chain[0];
        while (at != null && at.getClass().getName().equals(DerbyTrust.class.getName())) {
            Object behind = next(at).get(at);
            if (!(at instanceof DerbyTrust)) {
                before = at;
            } else if (before == null) {
                managers.set(null, new TrustManager[] {(TrustManager) behind});
            } else {
                next(before).set(before, behind);
            }
            at = behind;
        }
    }

    /** Of whatever copy of this driver. */
    private static Field next(Object manager) throws NoSuchFieldException {
        Field next = manager.getClass().getDeclaredField("next");
        next.setAccessible(true);
        return next;
    }

    @Override
    public X509Certificate[] getAcceptedIssuers() {
        Login login = LOGIN.get();
        if (login != null) {
            login.isReached = true;
        }
        return next.getAcceptedIssuers();
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, Socket socket)
            throws CertificateException {
        Login login = LOGIN.get();
        if (login == null) {
            if (next instanceof X509ExtendedTrustManager extended) {
                extended.checkServerTrusted(chain, authType, socket);
            } else {
                next.checkServerTrusted(chain, authType);
            }
            return;
        }
        SSLSocket encrypted = (SSLSocket) socket;
        SSLParameters parameters = encrypted.getSSLParameters();
        parameters.setEndpointIdentificationAlgorithm("HTTPS");
        encrypted.setSSLParameters(parameters);
        login.trust.checkServerTrusted(chain, authType, encrypted);
        login.isTrusted = true;
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType) throws CertificateException {
        requireOthers();
        next.checkServerTrusted(chain, authType);
    }

    @Override
    public void checkServerTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
            throws CertificateException {
        requireOthers();
        next.checkServerTrusted(chain, authType);
    }

    /** Of a login of ours the host must be known. */
    private static void requireOthers() throws CertificateException {
        if (LOGIN.get() != null) {
            throw new CertificateException("the host of a replica's certificate cannot be compared");
        }
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType) throws CertificateException {
        next.checkClientTrusted(chain, authType);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, Socket socket)
            throws CertificateException {
        next.checkClientTrusted(chain, authType);
    }

    @Override
    public void checkClientTrusted(X509Certificate[] chain, String authType, SSLEngine engine)
            throws CertificateException {
        next.checkClientTrusted(chain, authType);
    }
}
