package org.gorda.jgcs.raft.log;

import java.io.IOException;
import java.io.StringReader;
import java.io.StringWriter;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.HexFormat;
import java.util.List;
import java.util.Properties;
import java.util.zip.CRC32C;
import org.gorda.jgcs.GroupException;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.History;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.raft.core.Configuration;
import org.gorda.jgcs.raft.core.CorruptEntryException;
import org.gorda.jgcs.raft.core.Entry;
import org.jspecify.annotations.Nullable;

/**
 * Whose directory this is: written when it is created, when its member is admitted to a group, when it learns of which history
 * its log is a part, and when the log has another configuration. Immutable.
 *
 * @param admission drawn at random when the directory was created
 * @param admitted whether the member has taken part in a group
 * @param formed the members as they were told to each other when the group was formed, empty if it was joined later
 * @param configured the newest entry of the log that is a configuration, as {@link #encode} gives it; empty if there is none
 */
record Identity(
        String group,
        MemberId member,
        long admission,
        boolean admitted,
        Configuration formed,
        History history,
        String configured) {

    /** What to do about a file without which a member may have forgotten what it has promised. */
    static final String REJOIN =
            "delete the member's whole group directory, and it will rejoin as a learner, if its settings name the other members";

    private static final String FORMAT = "3";
    private static final List<String> KEYS = List.of(
            "format", "group", "member", "admission", "admitted", "formed", "history", "timeline", "configured");

    Identity admittedTo(Configuration configuration) {
        return new Identity(group, member, admission, true, configuration, history, configured);
    }

    Identity partOf(History learned) {
        return new Identity(group, member, admission, admitted, formed, learned, configured);
    }

    Identity configuredBy(@Nullable Entry entry) {
        return new Identity(group, member, admission, admitted, formed, history, encode(entry));
    }

    private static String encode(@Nullable Entry entry) {
        return entry == null
                ? ""
                : HexFormat.of().formatHex(entry.bytes(), entry.offset(), entry.offset() + entry.length());
    }

    /** The newest configuration that the log had; null if it had none. */
    @Nullable
    Entry newestConfiguration() {
        byte[] bytes = HexFormat.of().parseHex(configured);
        return bytes.length == 0 ? null : Entry.decode(bytes, 0, bytes.length);
    }

    void save(Path path) throws IOException {
        Properties properties = new Properties();
        properties.setProperty("format", FORMAT);
        properties.setProperty("group", group);
        properties.setProperty("member", member.name());
        properties.setProperty("admission", Long.toHexString(admission));
        properties.setProperty("admitted", Boolean.toString(admitted));
        properties.setProperty("formed", HexFormat.of().formatHex(formed.encode()));
        properties.setProperty("history", history.group().toString());
        properties.setProperty("timeline", Long.toHexString(history.timeline()));
        properties.setProperty("configured", configured);
        properties.setProperty("checksum", checksum(properties));
        StringWriter text = new StringWriter();
        properties.store(text, "The identity of this member. Do not edit, and do not copy to another member.");
        DurableFiles.replace(path, text.toString().getBytes(StandardCharsets.UTF_8));
    }

    static Identity load(Path path) throws IOException {
        Properties properties = new Properties();
        try {
            properties.load(new StringReader(new String(Files.readAllBytes(path), StandardCharsets.UTF_8)));
            if (!FORMAT.equals(required(properties, "format"))) {
                throw new GroupException(
                        GroupException.Disposition.CORRECT,
                        path + " has format " + properties.getProperty("format") + ", this release reads format "
                                + FORMAT + ": start this replica with the release that wrote it, nothing was changed");
            }
            if (!required(properties, "checksum").equals(checksum(properties))) {
                throw new IllegalArgumentException("its checksum does not match");
            }
            return new Identity(
                    required(properties, "group"),
                    new MemberId(required(properties, "member")),
                    Long.parseUnsignedLong(required(properties, "admission"), 16),
                    Boolean.parseBoolean(required(properties, "admitted")),
                    Configuration.decode(ByteBuffer.wrap(HexFormat.of().parseHex(required(properties, "formed")))),
                    history(required(properties, "history"), required(properties, "timeline")),
                    required(properties, "configured"));
        } catch (IllegalArgumentException | CorruptEntryException e) {
            throw new GroupException(
                    GroupException.Disposition.STOP, path + " is damaged (" + e.getMessage() + "): " + REJOIN, e);
        }
    }

    private static History history(String group, String timeline) {
        ByteBuffer bytes = ByteBuffer.wrap(HexFormat.of().parseHex(group));
        if (bytes.remaining() != 2 * Long.BYTES) {
            throw new IllegalArgumentException("history is " + group);
        }
        return new History(new GroupId(bytes.getLong(), bytes.getLong()), Long.parseUnsignedLong(timeline, 16));
    }

    private static String checksum(Properties properties) {
        CRC32C crc = new CRC32C();
        for (String key : KEYS) {
            crc.update((key + '=' + required(properties, key) + '\n').getBytes(StandardCharsets.UTF_8));
        }
        return Long.toHexString(crc.getValue());
    }

    private static String required(Properties properties, String key) {
        String value = properties.getProperty(key);
        if (value == null) {
            throw new IllegalArgumentException("no " + key);
        }
        return value;
    }
}
