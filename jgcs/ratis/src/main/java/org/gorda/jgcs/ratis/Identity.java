package org.gorda.jgcs.ratis;

import java.io.FileOutputStream;
import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.channels.FileChannel;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardCopyOption;
import java.nio.file.StandardOpenOption;
import java.security.MessageDigest;
import java.security.NoSuchAlgorithmException;
import java.util.Map;
import java.util.Properties;
import java.util.TreeMap;
import java.util.stream.Collectors;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;

/**
 * Whose directory this is, in a file beside Ratis's own. Ratis would let a member vote that has lost its directory; here the admission, which
 * is lost with it, is a part of the peer's name, so that it counts no more until it is taken in anew. Immutable.
 *
 * @param group the group's name
 * @param admission drawn at random when the directory was created
 * @param incarnation numbers the runs of this directory
 * @param history which history of the group this is a part of, {@link GroupId#UNKNOWN} at first
 * @param founders those that formed the group, with their admissions; empty until that is known
 * @param opened whether Ratis has a log here
 */
record Identity(
        String group,
        MemberId member,
        long admission,
        long incarnation,
        GroupId history,
        Map<MemberId, Long> founders,
        boolean opened) {

    private static final String FORMAT = "ratis 1";

    Identity {
        founders = Map.copyOf(founders);
    }

    Identity nextRun(long atLeast) {
        return new Identity(group, member, admission, Math.max(incarnation + 1, atLeast), history, founders, opened);
    }

    Identity partOf(GroupId learned, Map<MemberId, Long> formedBy) {
        return new Identity(group, member, admission, incarnation, learned, formedBy, opened);
    }

    Identity withLog() {
        return new Identity(group, member, admission, incarnation, history, founders, true);
    }

    /** Whether it has taken part since the group was formed, or would form it now. */
    boolean founded() {
        return Long.valueOf(admission).equals(founders.get(member));
    }

    /** The history that these members form: the same for all of them, and another one if any of them has lost its directory since. */
    static GroupId formedBy(String group, Map<MemberId, Long> founders) {
        try {
            MessageDigest digest = MessageDigest.getInstance("SHA-256");
            digest.update((group + '\n' + text(founders)).getBytes(StandardCharsets.UTF_8));
            ByteBuffer bytes = ByteBuffer.wrap(digest.digest());
            return new GroupId(bytes.getLong(), bytes.getLong());
        } catch (NoSuchAlgorithmException e) {
            throw new IllegalStateException(e); // every platform has it
        }
    }

    void save(Path path) throws IOException {
        Properties properties = new Properties();
        properties.setProperty("format", FORMAT);
        properties.setProperty("group", group);
        properties.setProperty("member", member.name());
        properties.setProperty("admission", Long.toHexString(admission));
        properties.setProperty("incarnation", Long.toString(incarnation));
        properties.setProperty("history", history.toString());
        properties.setProperty("founders", text(founders));
        properties.setProperty("opened", Boolean.toString(opened));
        StringWriter text = new StringWriter();
        properties.store(text, "The identity of this member. Do not edit, and do not copy to another member.");
        Path temporary = path.resolveSibling(path.getFileName() + ".new");
        try (FileOutputStream out = new FileOutputStream(temporary.toFile())) {
            out.write(text.toString().getBytes(StandardCharsets.UTF_8));
            out.getFD().sync();
        }
        Files.move(temporary, path, StandardCopyOption.ATOMIC_MOVE, StandardCopyOption.REPLACE_EXISTING);
        if (!System.getProperty("os.name", "").startsWith("Windows")) {
            try (FileChannel directory = FileChannel.open(path.resolveSibling("."), StandardOpenOption.READ)) {
                directory.force(true);
            }
        }
    }

    static Identity load(Path path) throws IOException {
        Properties properties = new Properties();
        try {
            properties.load(new StringReader(Files.readString(path)));
            if (!FORMAT.equals(properties.getProperty("format"))) {
                throw new GroupException(
                        GroupException.Disposition.CORRECT,
                        path + " has format " + properties.getProperty("format") + ", this is " + FORMAT
                                + ": start this member with the toolkit and the release that wrote it, nothing was changed");
            }
            String history = required(properties, "history");
            return new Identity(
                    required(properties, "group"),
                    new MemberId(required(properties, "member")),
                    Long.parseUnsignedLong(required(properties, "admission"), 16),
                    Long.parseLong(required(properties, "incarnation")),
                    new GroupId(
                            Long.parseUnsignedLong(history.substring(0, 16), 16),
                            Long.parseUnsignedLong(history.substring(16), 16)),
                    founders(required(properties, "founders")),
                    Boolean.parseBoolean(required(properties, "opened")));
        } catch (IllegalArgumentException | IndexOutOfBoundsException e) {
            throw new GroupException(
                    GroupException.Disposition.STOP,
                    path + " is damaged (" + e.getMessage()
                            + "): delete the member's whole group directory, and it will be taken in anew",
                    e);
        }
    }

    static String text(Map<MemberId, Long> founders) {
        return new TreeMap<>(founders)
                .entrySet().stream()
                        .map(founder -> founder.getKey() + "=" + Long.toHexString(founder.getValue()))
                        .collect(Collectors.joining(","));
    }

    static Map<MemberId, Long> founders(String text) {
        Map<MemberId, Long> founders = new TreeMap<>();
        for (String founder : text.isEmpty() ? new String[0] : text.split(",", -1)) {
            int end = founder.indexOf('=');
            founders.put(
                    new MemberId(founder.substring(0, end)), Long.parseUnsignedLong(founder.substring(end + 1), 16));
        }
        return founders;
    }

    private static String required(Properties properties, String key) {
        String value = properties.getProperty(key);
        if (value == null) {
            throw new IllegalArgumentException("no " + key);
        }
        return value;
    }
}
