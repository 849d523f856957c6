package org.gorda.gapi.tck;

import java.io.IOException;
import java.io.InputStream;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.concurrent.TimeUnit;
import javax.net.ssl.KeyManagerFactory;
import javax.net.ssl.SSLContext;
import javax.net.ssl.TrustManagerFactory;
import javax.net.ssl.X509ExtendedTrustManager;

/**
 * An authority of a test's own with a certificate for this machine (127.0.0.1 and localhost), made by the JDK's {@code keytool} in a directory, as key stores and
 * as PEM files. Two of them do not trust each other. Thread-safe.
 */
public final class TestCertificates {

    /** Of all stores. */
    public static final String PASSWORD = "changeit";

    private final Path directory;
    private final KeyStore authority;
    private final KeyStore server;

    /** Makes an authority and a certificate for this machine. */
    public TestCertificates(Path directory) {
        this(directory, "san=ip:127.0.0.1,dns:localhost");
    }

    /**
     * Makes an authority and a certificate.
     *
     * @param names whose it is, as {@code keytool -ext} takes it
     */
    public TestCertificates(Path directory, String names) {
        this.directory = directory;
        try {
            Files.createDirectories(directory);
            key("authority", "CN=Test authority " + directory.getFileName(), "bc:c");
            keytool(
                    "-exportcert",
                    "-rfc",
                    "-alias",
                    "authority",
                    "-keystore",
                    "authority.p12",
                    "-file",
                    "authority.pem");
            issue("server", names);
            keytool(
                    "-importcert",
                    "-noprompt",
                    "-alias",
                    "authority",
                    "-keystore",
                    "trust.p12",
                    "-file",
                    "authority.pem");
            authority = load("trust.p12");
            server = load("server.p12");
        } catch (IOException | GeneralSecurityException e) {
            throw new IllegalStateException("certificates cannot be made in " + directory, e);
        }
    }

    private void key(String name, String subject, String extension) throws IOException {
        keytool(
                "-genkeypair",
                "-alias",
                name,
                "-keyalg",
                "EC",
                "-groupname",
                "secp256r1",
                "-dname",
                subject,
                "-ext",
                extension,
                "-validity",
                "30",
                "-keystore",
                name + ".p12");
    }

    /** A certificate of the authority, in {@code NAME.p12}, {@code NAME.pem} and {@code NAME.key}, which replaces one of that name. */
    public void issue(String name, String names) throws IOException, GeneralSecurityException {
        Files.deleteIfExists(directory.resolve(name + ".p12"));
        key(name, "CN=" + name, names);
        keytool("-certreq", "-alias", name, "-keystore", name + ".p12", "-file", name + ".csr");
        keytool(
                "-gencert",
                "-rfc",
                "-alias",
                "authority",
                "-keystore",
                "authority.p12",
                "-ext",
                names,
                "-validity",
                "30",
                "-infile",
                name + ".csr",
                "-outfile",
                name + ".pem");
        Path chain = directory.resolve(name + ".chain");
        Files.writeString(chain, Files.readString(directory.resolve(name + ".pem")) + Files.readString(authority()));
        keytool("-importcert", "-noprompt", "-alias", name, "-keystore", name + ".p12", "-file", chain.toString());
        Key key = load(name + ".p12").getKey(name, PASSWORD.toCharArray());
        Files.writeString(
                directory.resolve(name + ".key"),
                "-----BEGIN PRIVATE KEY-----\n"
                        + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(key.getEncoded())
                        + "\n-----END PRIVATE KEY-----\n");
    }

    private void keytool(String... arguments) throws IOException {
        List<String> command = new ArrayList<>();
        command.add(Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
        command.addAll(List.of(arguments));
        command.addAll(List.of("-storepass", PASSWORD, "-keypass", PASSWORD, "-storetype", "PKCS12"));
        Process process = new ProcessBuilder(command)
                .directory(directory.toFile())
                .redirectErrorStream(true)
                .start();
        try (InputStream output = process.getInputStream()) {
            String text = new String(output.readAllBytes(), StandardCharsets.UTF_8);
            if (!process.waitFor(1, TimeUnit.MINUTES) || process.exitValue() != 0) {
                throw new IOException(command + ": " + text);
            }
        } catch (InterruptedException e) {
            Thread.currentThread().interrupt();
            throw new IOException(e);
        } finally {
            process.destroyForcibly();
        }
    }

    private KeyStore load(String name) throws IOException, GeneralSecurityException {
        KeyStore store = KeyStore.getInstance("PKCS12");
        try (InputStream in = Files.newInputStream(directory.resolve(name))) {
            store.load(in, PASSWORD.toCharArray());
        }
        return store;
    }

    /** PEM: the authority's certificate. */
    public Path authority() {
        return directory.resolve("authority.pem");
    }

    /** PEM: the certificate for this machine. */
    public Path certificate() {
        return directory.resolve("server.pem");
    }

    /** PEM: its key, PKCS 8 and not encrypted. */
    public Path key() {
        return directory.resolve("server.key");
    }

    /** PKCS 12 with the authority alone. */
    public Path trustStore() {
        return directory.resolve("trust.p12");
    }

    /** The authority's certificate. */
    public Certificate authorityCertificate() {
        try {
            return authority.getCertificate("authority");
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** With the certificate and its key, and with trust in the authority. */
    public SSLContext context() {
        try {
            KeyManagerFactory keys = KeyManagerFactory.getInstance(KeyManagerFactory.getDefaultAlgorithm());
            keys.init(server, PASSWORD.toCharArray());
            SSLContext context = SSLContext.getInstance("TLSv1.3");
            context.init(keys.getKeyManagers(), new X509ExtendedTrustManager[] {trust()}, null);
            return context;
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }

    /** Trust in the authority. */
    public X509ExtendedTrustManager trust() {
        try {
            TrustManagerFactory factory = TrustManagerFactory.getInstance(TrustManagerFactory.getDefaultAlgorithm());
            factory.init(authority);
            return (X509ExtendedTrustManager) factory.getTrustManagers()[0];
        } catch (GeneralSecurityException e) {
            throw new IllegalStateException(e);
        }
    }
}
