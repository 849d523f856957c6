package org.gorda.bindings.postgresql.wire;

import java.io.ByteArrayOutputStream;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;

/** What a client's connection begins with. Immutable. */
public final class StartupMessage {

    private static final int CANCEL = 80877102;
    private static final int SSL = 80877103;
    private static final int GSS = 80877104;

    /** How long a request for encryption is. */
    public static final int REQUEST_BYTES = 8;

    private final int code;
    private final byte[] content;

    /**
     * Takes a message.
     *
     * @param code the version of the protocol, or one of the requests
     * @param content what follows it
     */
    private StartupMessage(int code, byte[] content) {
        this.code = code;
        this.content = content;
    }

    /**
     * Takes the first message of a connection.
     *
     * @throws IllegalArgumentException if it is no such message
     */
    public static StartupMessage of(ClientMessage message) {
        if (message.bytes().length < 8) {
            throw new IllegalArgumentException("a client begins with " + message.bytes().length + " bytes");
        }
        int code = ByteBuffer.wrap(message.bytes()).getInt(4);
        return new StartupMessage(code, Arrays.copyOfRange(message.bytes(), 8, message.bytes().length));
    }

    /** Whether it asks to cancel what another connection does. */
    public boolean isCancel() {
        return code == CANCEL && content.length > 4;
    }

    /** Whether what a connection begins with asks for TLS. */
    public static boolean isTlsRequest(byte[] first) {
        return isRequest(first, SSL);
    }

    /** Whether what a connection begins with asks for encryption by GSSAPI. */
    public static boolean isGssRequest(byte[] first) {
        return isRequest(first, GSS);
    }

    private static boolean isRequest(byte[] first, int code) {
        return first.length == REQUEST_BYTES
                && ByteBuffer.wrap(first).getInt(0) == REQUEST_BYTES
                && ByteBuffer.wrap(first).getInt(4) == code;
    }

    /** Whether it asks for encryption. */
    public boolean isEncryption() {
        return code == SSL || code == GSS;
    }

    /** Whose statement is to be cancelled. */
    public int cancelledProcess() {
        return ByteBuffer.wrap(content).getInt(0);
    }

    /** The secret that who cancels must know. */
    public byte[] cancelSecret() {
        return Arrays.copyOfRange(content, 4, content.length);
    }

    /** The names and values with which a session begins. */
    public Map<String, String> parameters() {
        Map<String, String> parameters = new LinkedHashMap<>();
        String[] texts = new String(content, StandardCharsets.UTF_8).split("\0", -1);
        for (int i = 0; i + 1 < texts.length && !texts[i].isEmpty(); i += 2) {
            parameters.put(texts[i], texts[i + 1]);
        }
        return parameters;
    }

    /** The same of the protocol's version, with other parameters, as it is sent. */
    byte[] with(Map<String, String> parameters) {
        ByteArrayOutputStream texts = new ByteArrayOutputStream();
        parameters.forEach((name, value) -> {
            texts.writeBytes(name.getBytes(StandardCharsets.UTF_8));
            texts.write(0);
            texts.writeBytes(value.getBytes(StandardCharsets.UTF_8));
            texts.write(0);
        });
        texts.write(0);
        return ByteBuffer.allocate(8 + texts.size())
                .putInt(8 + texts.size())
                .putInt(code)
                .put(texts.toByteArray())
                .array();
    }

    /** A request to cancel, as it is sent. */
    static byte[] cancel(int process, byte[] secret) {
        return ByteBuffer.allocate(12 + secret.length)
                .putInt(12 + secret.length)
                .putInt(CANCEL)
                .putInt(process)
                .put(secret)
                .array();
    }
}
