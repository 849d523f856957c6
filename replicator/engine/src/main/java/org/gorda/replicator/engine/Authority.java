package org.gorda.replicator.engine;

import java.io.IOException;
import java.io.InputStream;
import java.io.OutputStream;
import java.math.BigInteger;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.nio.file.attribute.PosixFilePermissions;
import java.security.GeneralSecurityException;
import java.security.Key;
import java.security.KeyStore;
import java.security.SecureRandom;
import java.security.cert.Certificate;
import java.util.ArrayList;
import java.util.Base64;
import java.util.List;
import java.util.Locale;
import java.util.concurrent.TimeUnit;
import java.util.stream.Collectors;

/**
 * An authority of a group's own: a directory with its certificate and key, and those that it has issued, in PEM files as {@link Tls} reads them.
 * Made by the JDK's {@code keytool}. Whoever has {@code authority-key.pem} can make members; no replica needs it. Confined to one thread.
 */
public final class Authority {

    private static final String SELF = "authority";
    private static final int DAYS_OF_AUTHORITY = 3650;
    private static final int KEYTOOL_SECONDS = 60;

    /** A lock on a file is between processes. */
    private static final Object WITHIN = new Object();

    private final Path directory;

    private Authority(Path directory) {
        this.directory = directory;
    }

    /**
     * That of a directory, made if there is none.
     *
     * @throws ReplicaException if the directory cannot be used
     */
    public static Authority in(Path directory) {
        Authority authority = new Authority(directory);
        try {
            Files.createDirectories(directory);
            synchronized (WITHIN) {
                authority.beginOnce();
            }
        } catch (IOException e) {
            throw new ReplicaException("the directory " + directory + " cannot be used: " + e, e);
        }
        return authority;
    }

    /** Others may do so at the same time. */
    private void beginOnce() throws IOException {
        if (Files.exists(certificate(SELF))) {
            return;
        }
        try (FileChannel file = FileChannel.open(
                directory.resolve("authority.lock"), StandardOpenOption.CREATE, StandardOpenOption.WRITE)) {
            file.lock(); // until it is closed
            if (!Files.exists(certificate(SELF))) {
                if (Files.exists(key(SELF))) {
                    throw new ReplicaException(key(SELF) + " is there without " + certificate(SELF)
                            + ": put that back; or, if it is lost, move the key away for a new authority, which replicas know"
                            + " only once it issues all their certificates");
                }
                begin();
            }
        }
    }

    /** The file with its certificate. */
    public Path certificate() {
        return certificate(SELF);
    }

    /** The file with a certificate that it has issued. */
    public Path certificate(String name) {
        return directory.resolve(name + ".pem");
    }

    /** The file with the key of that. */
    public Path key(String name) {
        return directory.resolve(name + "-key.pem");
    }

    /** Where a process finds its files. */
    public Tls.Place place(String name) {
        return new Tls.Place(certificate(), certificate(name), key(name));
    }

    /**
     * Issues a certificate with a new key, which replaces one of that name.
     *
     * @param name of the files, and in the certificate
     * @param days how long it is valid, 1 to 3650
     * @param hosts names and addresses of the replica's machine; none for who is no replica and may only ask and operate
     * @throws ReplicaException if it cannot be made
     */
    public void issue(String name, List<String> hosts, int days) {
        String file = name.toLowerCase(Locale.ROOT); // as some file systems see it
        if (file.equals(SELF) || file.endsWith("-key") || !name.matches("[A-Za-z0-9][A-Za-z0-9._-]{0,60}")) {
            throw new ReplicaException(
                    "'" + name + "' is no name for a certificate: letters, digits, '.', '_' and '-', not " + SELF
                            + ", and not what ends in -key, as the files of keys do");
        }
        if (days < 1 || days > DAYS_OF_AUTHORITY) {
            throw new ReplicaException("days is " + days + " but must be 1 to " + DAYS_OF_AUTHORITY);
        }
        try (Store issuer = new Store();
                Store subject = new Store()) {
            issuer.read(SELF, certificate(SELF), key(SELF));
            subject.generate(name, days, List.of());
            byte[] request = subject.keytool(new byte[0], List.of("-certreq", "-alias", name));
            List<String> arguments = new ArrayList<>(List.of(
                    "-gencert",
                    "-rfc",
                    "-alias",
                    SELF,
                    "-validity",
                    Integer.toString(days),
                    "-ext",
                    "ku:c=digitalSignature"));
            arguments.addAll(List.of("-ext", hosts.isEmpty() ? "eku=clientAuth" : "eku=serverAuth,clientAuth"));
            if (!hosts.isEmpty()) {
                arguments.addAll(List.of(
                        "-ext", "san=" + hosts.stream().map(Authority::name).collect(Collectors.joining(","))));
            }
            byte[] issued = issuer.keytool(request, arguments);
            write(key(name), subject.key(name), true);
            write(certificate(name), issued, false);
        } catch (IOException | GeneralSecurityException e) {
            throw new ReplicaException("the certificate of " + name + " cannot be made: " + e.getMessage(), e);
        }
    }

    /** @param given as in members, where addresses of IPv6 are in brackets */
    private static String name(String given) {
        String host = given.matches("\\[.*:.*\\]") ? given.substring(1, given.length() - 1) : given;
        boolean isAddress = host.matches("[0-9.]+") || host.contains(":");
        if (!host.matches("[A-Za-z0-9.:*_-]+")) {
            throw new ReplicaException("'" + given + "' is no host");
        }
        return (isAddress ? "ip:" : "dns:") + host;
    }

    private void begin() throws IOException {
        try (Store store = new Store()) {
            store.generate(
                    SELF,
                    DAYS_OF_AUTHORITY,
                    List.of("-ext", "bc:c=ca:true,pathlen:0", "-ext", "ku:c=keyCertSign,cRLSign"));
            write(key(SELF), store.key(SELF), true);
            write(certificate(SELF), store.keytool(new byte[0], List.of("-exportcert", "-rfc", "-alias", SELF)), false);
        } catch (GeneralSecurityException e) {
            throw new IOException(e);
        }
    }

    /** Whole or not at all: a running process may read it at any time. */
    private static void write(Path file, byte[] content, boolean isSecret) throws IOException {
        Path made = file.resolveSibling(file.getFileName() + ".new");
        Files.deleteIfExists(made);
        if (isSecret && Files.getFileStore(file.toAbsolutePath().getParent()).supportsFileAttributeView("posix")) {
            Files.createFile(made, PosixFilePermissions.asFileAttribute(PosixFilePermissions.fromString("rw-------")));
        }
        Files.write(made, content);
        Files.move(made, file, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
    }

    /** A key store while keytool works on it, which can no other way. */
    private static final class Store implements AutoCloseable {

        private final Path directory = Files.createTempDirectory("gorda-authority");
        private final Path file = directory.resolve("store.p12");
        private final String password = new BigInteger(128, new SecureRandom()).toString(36);

        Store() throws IOException {}

        void generate(String alias, int days, List<String> extensions) throws IOException {
            List<String> arguments = new ArrayList<>(List.of("-genkeypair", "-alias", alias, "-keyalg", "EC"));
            arguments.addAll(List.of("-groupname", "secp256r1", "-dname", "CN=" + alias + ", O=GORDA"));
            arguments.addAll(List.of("-validity", Integer.toString(days)));
            arguments.addAll(extensions);
            keytool(new byte[0], arguments);
        }

        /** Takes in what was written before. */
        void read(String alias, Path certificate, Path key) throws IOException, GeneralSecurityException {
            Tls.Identity identity = Tls.identity(certificate, key);
            KeyStore store = KeyStore.getInstance("PKCS12");
            store.load(null, null);
            store.setKeyEntry(
                    alias,
                    identity.key(),
                    password.toCharArray(),
                    identity.chain().toArray(new Certificate[0]));
            try (OutputStream out = Files.newOutputStream(file)) {
                store.store(out, password.toCharArray());
            }
        }

        /** In PEM. */
        byte[] key(String alias) throws IOException, GeneralSecurityException {
            KeyStore store = KeyStore.getInstance("PKCS12");
            try (InputStream in = Files.newInputStream(file)) {
                store.load(in, password.toCharArray());
            }
            Key key = store.getKey(alias, password.toCharArray());
            return ("-----BEGIN PRIVATE KEY-----\n"
                            + Base64.getMimeEncoder(64, new byte[] {'\n'}).encodeToString(key.getEncoded())
                            + "\n-----END PRIVATE KEY-----\n")
                    .getBytes(StandardCharsets.US_ASCII);
        }

        byte[] keytool(byte[] input, List<String> arguments) throws IOException {
            List<String> command = new ArrayList<>();
            command.add(
                    Path.of(System.getProperty("java.home"), "bin", "keytool").toString());
            command.addAll(arguments);
            command.addAll(List.of("-keystore", file.toString(), "-storetype", "PKCS12"));
            command.addAll(List.of("-storepass:env", "GORDA_STORE"));
            Path errors = directory.resolve("errors");
            Path output = directory.resolve("output");
            ProcessBuilder builder =
                    new ProcessBuilder(command).redirectError(errors.toFile()).redirectOutput(output.toFile());
            builder.environment().put("GORDA_STORE", password);
            Process process = builder.start();
            try (OutputStream out = process.getOutputStream()) {
                out.write(input);
            }
            try {
                if (!process.waitFor(KEYTOOL_SECONDS, TimeUnit.SECONDS)) {
                    process.destroyForcibly();
                    throw new IOException("keytool does not end");
                }
            } catch (InterruptedException e) {
                Thread.currentThread().interrupt();
                process.destroyForcibly();
                throw new IOException("interrupted", e);
            }
            if (process.exitValue() != 0) {
                throw new IOException("keytool says: " + (Files.readString(output) + Files.readString(errors)).strip());
            }
            return Files.readAllBytes(output);
        }

        @Override
        public void close() throws IOException {
            for (String name : List.of("store.p12", "errors", "output")) {
                Files.deleteIfExists(directory.resolve(name));
            }
            Files.delete(directory);
        }
    }
}
