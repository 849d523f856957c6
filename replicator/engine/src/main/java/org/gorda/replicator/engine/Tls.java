package org.gorda.replicator.engine;

import java.io.ByteArrayInputStream;
import java.io.IOException;
import java.net.Socket;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.NoSuchFileException;
import java.nio.file.Path;
import java.nio.file.attribute.PosixFilePermission;
import java.security.GeneralSecurityException;
import java.security.KeyFactory;
import java.security.KeyStore;
import java.security.Principal;
import java.security.PrivateKey;
import java.security.PublicKey;
import java.security.Signature;
import java.security.cert.Certificate;
import java.security.cert.CertificateException;
import java.security.cert.CertificateFactory;
import java.security.cert.X509Certificate;
import java.security.spec.PKCS8EncodedKeySpec;
import java.time.Duration;
import java.time.Instant;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.List;
import java.util.Objects;
import java.util.Optional;
import java.util.Set;
import java.util.concurrent.TimeUnit;
import java.util.function.Function;
import java.util.regex.MatchResult;
import java.util.regex.Pattern;
import javax.net.ssl.KeyManager;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.SSLEngine;
import javax.net.ssl.TrustManager;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedKeyManager;
import javax.net.ssl.X509ExtendedTrustManager;
import org.gorda.jgcs.MemberCertificate;
import org.jspecify.annotations.Nullable;
import org.slf4j.Logger;
import org.slf4j.LoggerFactory;

/**
 * Who this process is, and whom it believes, by PEM files. A file that is replaced counts for the connections that are opened a second
 * later; one that cannot be used then is warned of, and what was read before goes on. Thread-safe.
 */
public final class Tls {

    /** The version that replicas and services speak. */
    public static final String VERSION = "TLSv1.3";

    private static final Logger LOG = LoggerFactory.getLogger(Tls.class);
    private static final long LOOK_NANOS = TimeUnit.SECONDS.toNanos(1);
    private static final Duration EXPIRES_SOON = Duration.ofDays(30);
    private static final int FILE_BYTES_MAX = 1 << 20;
    private static final Pattern PEM =
            Pattern.compile("-----BEGIN ([A-Z0-9 ]+)-----([^-]+)-----END ([A-Z0-9 ]+)-----", Pattern.DOTALL);
    private static final char[] NO_PASSWORD = {};

    /**
     * Where it stands. Immutable.
     *
     * @param authority certificates; who shows one that one of these has issued is believed
     * @param certificate this process's own, with those between it and the authority behind it
     * @param key that of the certificate, PKCS #8, not encrypted
     */
    public record Place(
            Path authority,
            @Nullable Path certificate,
            @Nullable Path key) {

        /**
         * That which is set.
         *
         * @param value gives the value of a setting, null if it is not set
         * @return null if none is
         * @throws ReplicaException if some are missing
         */
        public static @Nullable Place of(Function<Setting, @Nullable String> value) {
            String authority = value.apply(Setting.TLS_AUTHORITY);
            String certificate = value.apply(Setting.TLS_CERTIFICATE);
            String key = value.apply(Setting.TLS_KEY);
            if (authority == null && certificate == null && key == null) {
                return null;
            }
            if (authority == null) {
                throw new ReplicaException(Setting.TLS_AUTHORITY.key()
                        + " is not set: name the file with the certificate by which others are believed");
            }
            if ((certificate == null) != (key == null)) {
                throw new ReplicaException((key == null ? Setting.TLS_KEY : Setting.TLS_CERTIFICATE).key()
                        + " is not set: a certificate and its key go together");
            }
            return new Place(
                    Path.of(authority),
                    certificate == null ? null : Path.of(certificate),
                    key == null ? null : Path.of(key));
        }
    }

    /** A certificate, those between it and the authority, and its key. */
    record Identity(List<X509Certificate> chain, PrivateKey key) {}

    /** What the files held, and what was made of it. */
    private record Read(
            List<byte[]> contents,
            X509ExtendedTrustManager trust,
            @Nullable Identity identity,
            @Nullable X509ExtendedKeyManager shows) {}

    private final Place place;
    private final SSLContext context;
    private final X509ExtendedTrustManager trust = new CurrentTrust();
    private volatile Read read;

    /** That of this process, once others connect to it. */
    private volatile @Nullable String host;

    private volatile long lookedNanos = System.nanoTime();

    /** Guarded by this. */
    private String toldFault = "";

    /**
     * Reads the files.
     *
     * @throws ReplicaException naming the file that cannot be used, and why
     */
    public Tls(Place place) {
        this.place = place;
        read = make(place, contents(place));
        try {
            context = SSLContext.getInstance(VERSION);
            context.init(
                    place.key() == null ? null : new KeyManager[] {new CurrentIdentity()},
                    new TrustManager[] {trust},
                    null);
        } catch (GeneralSecurityException e) {
            throw new ReplicaException("this Java cannot speak " + VERSION + ": " + e.getMessage(), e);
        }
    }

    /**
     * Reads the files that settings name.
     *
     * @param value gives the value of a setting, null if it is not set
     * @return null if none is set
     * @throws ReplicaException naming the setting that is missing, or the file that cannot be used, and why
     */
    public static @Nullable Tls of(Function<Setting, @Nullable String> value) {
        Place place = Place.of(value);
        return place == null ? null : new Tls(place);
    }

    /** Makes sockets and engines that show this process's certificate and believe whom the authority does; names of hosts are for the caller to compare. */
    public SSLContext context() {
        return context;
    }

    /** Whom the context believes. */
    public X509ExtendedTrustManager trust() {
        return trust;
    }

    /**
     * For a process that others connect to, from now on: they would all refuse another certificate, and tell it where nobody looks.
     *
     * @param self its host, as it stands in its member's address
     * @throws ReplicaException if it has no certificate to show, or not one for servers, or one for other hosts
     */
    void requireServer(String self) {
        if (read.identity() == null) {
            throw new ReplicaException("tls-certificate and tls-key are not set: a replica has to show who it is");
        }
        requireServer(read, self);
        host = self;
    }

    private void requireServer(Read read, String self) {
        List<X509Certificate> chain = Objects.requireNonNull(read.identity()).chain();
        Path file = Objects.requireNonNull(place.certificate());
        try {
            read.trust().checkServerTrusted(chain.toArray(new X509Certificate[0]), "UNKNOWN");
        } catch (CertificateException e) {
            throw bad(
                    Setting.TLS_CERTIFICATE,
                    file,
                    "a replica cannot show it, to which others connect: " + e.getMessage(),
                    e);
        }
        if (!MemberCertificate.isFor(chain.get(0), self)) {
            throw bad(
                    Setting.TLS_CERTIFICATE,
                    file,
                    "it names " + MemberCertificate.names(chain.get(0)) + " and not " + self
                            + ", this replica's host in members",
                    null);
        }
    }

    private Read current() {
        long now = System.nanoTime();
        if (now - lookedNanos > LOOK_NANOS) {
            lookedNanos = now;
            reread();
        }
        return read;
    }

    private synchronized void reread() {
        try {
            List<byte[]> contents = contents(place);
            if (!Arrays.deepEquals(contents.toArray(), read.contents().toArray())) {
                Read made = make(place, contents);
                String self = host;
                if (self != null) {
                    requireServer(made, self);
                }
                read = made;
                LOG.info("read anew: {}", place);
            }
            toldFault = "";
        } catch (RuntimeException e) {
            String fault = String.valueOf(e.getMessage());
            if (!fault.equals(toldFault)) {
                toldFault = fault;
                LOG.warn("what was read before goes on: {}", fault);
            }
        }
    }

    /** Connections that are there go on, so that nobody would notice before a restart. */
    private static void warnIfExpires(Place place, Identity identity) {
        Instant end = identity.chain().get(0).getNotAfter().toInstant();
        if (Instant.now().plus(EXPIRES_SOON).isAfter(end)) {
            LOG.warn(
                    "{} is not valid any more from {} on: replace it and its key, which needs no restart",
                    place.certificate(),
                    end);
        }
    }

    // -------------------------------------------------------------------------------------------------- reading

    private static List<byte[]> contents(Place place) {
        List<byte[]> contents = new ArrayList<>();
        contents.add(content(Setting.TLS_AUTHORITY, place.authority()));
        if (place.certificate() != null && place.key() != null) {
            contents.add(content(Setting.TLS_CERTIFICATE, place.certificate()));
            requirePrivate(place.key());
            contents.add(content(Setting.TLS_KEY, place.key()));
        }
        return contents;
    }

    private static byte[] content(Setting setting, Path file) {
        try {
            if (Files.size(file) > FILE_BYTES_MAX) {
                throw bad(setting, file, "it has more than " + FILE_BYTES_MAX + " bytes", null);
            }
            return Files.readAllBytes(file);
        } catch (NoSuchFileException e) {
            throw bad(setting, file, "it is not there", e);
        } catch (IOException e) {
            throw bad(setting, file, "it cannot be read: " + e, e);
        }
    }

    private static void requirePrivate(Path key) {
        try {
            Set<PosixFilePermission> allowed = Files.getPosixFilePermissions(key);
            if (allowed.contains(PosixFilePermission.OTHERS_READ)
                    || allowed.contains(PosixFilePermission.OTHERS_WRITE)) {
                throw bad(Setting.TLS_KEY, key, "every user of this machine can read it or write it: chmod 600", null);
            }
        } catch (UnsupportedOperationException e) {
            LOG.debug("{} has no permissions that could be looked at", key, e);
        } catch (NoSuchFileException e) {
            throw bad(Setting.TLS_KEY, key, "it is not there", e);
        } catch (IOException e) {
            throw bad(Setting.TLS_KEY, key, "it cannot be read: " + e, e);
        }
    }

    private static Read make(Place place, List<byte[]> contents) {
        List<X509Certificate> authorities = certificates(Setting.TLS_AUTHORITY, place.authority(), contents.get(0));
        X509ExtendedTrustManager trust = trusting(authorities);
        if (place.certificate() == null || place.key() == null) {
            return new Read(contents, trust, null, null);
        }
        Identity identity = identity(place.certificate(), contents.get(1), place.key(), contents.get(2));
        requireBelieved(place, trust, identity.chain());
        warnIfExpires(place, identity);
        return new Read(contents, trust, identity, showing(identity));
    }

    /**
     * Reads a certificate and its key.
     *
     * @throws ReplicaException naming the file that cannot be used, and why
     */
    static Identity identity(Path certificate, Path key) {
        return identity(certificate, content(Setting.TLS_CERTIFICATE, certificate), key, content(Setting.TLS_KEY, key));
    }

    private static Identity identity(Path certificate, byte[] certificateContent, Path key, byte[] keyContent) {
        List<X509Certificate> chain = certificates(Setting.TLS_CERTIFICATE, certificate, certificateContent);
        return new Identity(chain, key(key, keyContent, chain.get(0).getPublicKey()));
    }

    private static List<X509Certificate> certificates(Setting setting, Path file, byte[] content) {
        try {
            List<X509Certificate> found = new ArrayList<>();
            for (Certificate one :
                    CertificateFactory.getInstance("X.509").generateCertificates(new ByteArrayInputStream(content))) {
                found.add((X509Certificate) one);
            }
            if (found.isEmpty()) {
                throw bad(setting, file, "there is no certificate in it (PEM: -----BEGIN CERTIFICATE-----)", null);
            }
            return found;
        } catch (CertificateException e) {
            throw bad(setting, file, "it holds no certificates (PEM): " + e.getMessage(), e);
        }
    }

    private static PrivateKey key(Path file, byte[] content, PublicKey publicKey) {
        Optional<MatchResult> pem = PEM.matcher(new String(content, StandardCharsets.ISO_8859_1))
                .results()
                .filter(block -> block.group(1).equals("PRIVATE KEY"))
                .findFirst();
        if (pem.isEmpty()) {
            throw bad(
                    Setting.TLS_KEY,
                    file,
                    "it holds no -----BEGIN PRIVATE KEY----- (PKCS #8, not encrypted): openssl pkcs8 -topk8 -nocrypt -in KEY -out "
                            + file,
                    null);
        }
        try {
            PrivateKey key = KeyFactory.getInstance(publicKey.getAlgorithm())
                    .generatePrivate(new PKCS8EncodedKeySpec(
                            Base64.getMimeDecoder().decode(pem.get().group(2))));
            if (!belong(key, publicKey)) {
                throw bad(Setting.TLS_KEY, file, "it is not the key of the certificate", null);
            }
            return key;
        } catch (GeneralSecurityException | IllegalArgumentException e) {
            throw bad(Setting.TLS_KEY, file, "it cannot be the key of the certificate: " + e.getMessage(), e);
        }
    }

    private static boolean belong(PrivateKey key, PublicKey publicKey) throws GeneralSecurityException {
        String name = key.getAlgorithm();
        Signature signature = Signature.getInstance(
                name.equals("RSA") ? "SHA256withRSA" : name.equals("EC") ? "SHA256withECDSA" : name);
        signature.initSign(key);
        signature.update((byte) 1);
        byte[] signed = signature.sign();
        signature.initVerify(publicKey);
        signature.update((byte) 1);
        return signature.verify(signed);
    }

    private static X509ExtendedTrustManager trusting(List<X509Certificate> authorities) {
        try {
            KeyStore store = store();
            for (int i = 0; i < authorities.size(); i++) {
                store.setCertificateEntry("authority" + i, authorities.get(i));
            }
            TrustManagerFactory factory = TrustManagerFactory.getInstance("PKIX");
            factory.init(store);
            return (X509ExtendedTrustManager) factory.getTrustManagers()[0];
        } catch (GeneralSecurityException | IOException e) {
            throw new ReplicaException("this Java cannot use certificates: " + e.getMessage(), e);
        }
    }

    private static X509ExtendedKeyManager showing(Identity identity) {
        try {
            KeyStore store = store();
            store.setKeyEntry(
                    "self", identity.key(), NO_PASSWORD, identity.chain().toArray(new X509Certificate[0]));
            KeyManagerFactory factory = KeyManagerFactory.getInstance("PKIX");
            factory.init(store, NO_PASSWORD);
            return (X509ExtendedKeyManager) factory.getKeyManagers()[0];
        } catch (GeneralSecurityException | IOException e) {
            throw new ReplicaException("this Java cannot use certificates: " + e.getMessage(), e);
        }
    }

    private static KeyStore store() throws GeneralSecurityException, IOException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        store.load(null, null);
        return store;
    }

    /** Others have the same authority: what it would not believe here is refused by all of them, and told where nobody looks. */
    private static void requireBelieved(Place place, X509ExtendedTrustManager trust, List<X509Certificate> chain) {
        try {
            trust.checkClientTrusted(
                    chain.toArray(new X509Certificate[0]),
                    chain.get(0).getPublicKey().getAlgorithm());
        } catch (CertificateException e) {
            throw bad(
                    Setting.TLS_CERTIFICATE,
                    Objects.requireNonNull(place.certificate()),
                    "the authority " + place.authority() + " does not vouch for it: " + e.getMessage(),
                    e);
        }
    }

    private static ReplicaException bad(Setting setting, Path file, String why, @Nullable Exception cause) {
        return new ReplicaException(setting.key() + " is " + file + ", and " + why, cause);
    }

    // -------------------------------------------------------------------------------------------------- for Java

    /** Believes whom the files say now. */
    private final class CurrentTrust extends X509ExtendedTrustManager {

        private X509ExtendedTrustManager now() {
            return current().trust();
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, Socket socket)
                throws CertificateException {
            now().checkClientTrusted(chain, type, socket);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, Socket socket)
                throws CertificateException {
            now().checkServerTrusted(chain, type, socket);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            now().checkClientTrusted(chain, type, engine);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type, SSLEngine engine)
                throws CertificateException {
            now().checkServerTrusted(chain, type, engine);
        }

        @Override
        public void checkClientTrusted(X509Certificate[] chain, String type) throws CertificateException {
            now().checkClientTrusted(chain, type);
        }

        @Override
        public void checkServerTrusted(X509Certificate[] chain, String type) throws CertificateException {
            now().checkServerTrusted(chain, type);
        }

        @Override
        public X509Certificate[] getAcceptedIssuers() {
            return now().getAcceptedIssuers();
        }
    }

    /** Shows the certificate that is in the files now. */
    private final class CurrentIdentity extends X509ExtendedKeyManager {

        private X509ExtendedKeyManager now() {
            return Objects.requireNonNull(current().shows());
        }

        @Override
        public String @Nullable [] getClientAliases(String type, Principal @Nullable [] issuers) {
            return now().getClientAliases(type, issuers);
        }

        @Override
        public @Nullable String chooseClientAlias(
                String[] types, Principal @Nullable [] issuers, @Nullable Socket socket) {
            return now().chooseClientAlias(types, issuers, socket);
        }

        @Override
        public @Nullable String chooseEngineClientAlias(
                String[] types, Principal @Nullable [] issuers, @Nullable SSLEngine engine) {
            return now().chooseEngineClientAlias(types, issuers, engine);
        }

        @Override
        public String @Nullable [] getServerAliases(String type, Principal @Nullable [] issuers) {
            return now().getServerAliases(type, issuers);
        }

        @Override
        public @Nullable String chooseServerAlias(
                String type, Principal @Nullable [] issuers, @Nullable Socket socket) {
            return now().chooseServerAlias(type, issuers, socket);
        }

        @Override
        public @Nullable String chooseEngineServerAlias(
                String type, Principal @Nullable [] issuers, @Nullable SSLEngine engine) {
            return now().chooseEngineServerAlias(type, issuers, engine);
        }

        @Override
        public X509Certificate @Nullable [] getCertificateChain(String alias) {
            return now().getCertificateChain(alias);
        }

        @Override
        public @Nullable PrivateKey getPrivateKey(String alias) {
            return now().getPrivateKey(alias);
        }
    }
}
