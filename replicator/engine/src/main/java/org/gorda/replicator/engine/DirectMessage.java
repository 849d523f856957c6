package org.gorda.replicator.engine;

import java.nio.BufferUnderflowException;
import java.nio.ByteBuffer;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.EnumSet;
import java.util.List;
import java.util.Set;
import java.util.stream.Collectors;
import org.gorda.gapi.Capability;
import org.gorda.jgcs.GroupException;

/**
 * What replicas say to each other outside the order: donor and joiner of a database, and each of them how far it has come. As bytes: a version,
 * a kind, and the parts in their order. Who sends them is told, and that they are unharmed is made sure, by the group. Immutable.
 */
sealed interface DirectMessage {

    /**
     * The joiner asks for the database.
     *
     * @param firstHeld its log holds what follows this index
     * @param loads the binding whose snapshots can take the place of its database; empty if only rows can, for tables that it has
     */
    record Want(long firstHeld, String loads) implements DirectMessage {}

    /**
     * The donor cannot offer it yet.
     *
     * @param begun whether it will, and waiting is worth while
     * @param why for people
     */
    record Wait(boolean begun, String why) implements DirectMessage {

        /** Its rows can be had by who says that it {@linkplain Want#loads loads} nothing else. */
        static final Wait OTHER_KIND = new Wait(false, "it has another kind of database");
    }

    /** The donor has it ready. */
    record Offer(long transfer, List<FileOffered> files) implements DirectMessage {
        public Offer {
            files = List.copyOf(files);
        }

        long bytes() {
            return files.stream().mapToLong(FileOffered::bytes).sum();
        }
    }

    /**
     * A part of an offer.
     *
     * @param name relative, its parts divided by a slash
     * @param bytes its length
     * @param checksum CRC32C of all of it
     */
    record FileOffered(String name, long bytes, int checksum) {}

    /** The joiner asks for a part of a file. */
    record Fetch(long transfer, int file, long offset, int bytes) implements DirectMessage {}

    record Part(long transfer, int file, long offset, ByteBuffer bytes) implements DirectMessage {}

    /** The donor does not hold that transfer (any more). */
    record Gone(long transfer) implements DirectMessage {}

    /** The joiner has all of it, or found it harmed: it needs it no more. */
    record Done(long transfer) implements DirectMessage {}

    /**
     * The sender shows everything up to a place in the order.
     *
     * @param keptUp whether it was near the others once and has not been put out since, so that waiting for it is worth while
     * @param capabilities of its database
     */
    record Shown(long index, boolean keptUp, Set<Capability> capabilities) implements DirectMessage {
        public Shown {
            capabilities = Set.copyOf(capabilities);
        }
    }

    byte VERSION = 5;

    static ByteBuffer encode(DirectMessage message) {
        if (message instanceof Want want) {
            byte[] loads = want.loads().getBytes(StandardCharsets.UTF_8);
            return begin(1, 8 + loads.length)
                    .putLong(want.firstHeld())
                    .put(loads)
                    .flip();
        } else if (message instanceof Wait wait) {
            byte[] why = wait.why().getBytes(StandardCharsets.UTF_8);
            return begin(2, 1 + why.length)
                    .put((byte) (wait.begun() ? 1 : 0))
                    .put(why)
                    .flip();
        } else if (message instanceof Offer offer) {
            List<byte[]> names = offer.files().stream()
                    .map(file -> file.name().getBytes(StandardCharsets.UTF_8))
                    .toList();
            int bytes = 12 + names.stream().mapToInt(name -> name.length + 14).sum();
            ByteBuffer out = begin(3, bytes)
                    .putLong(offer.transfer())
                    .putInt(offer.files().size());
            for (int i = 0; i < names.size(); i++) {
                FileOffered file = offer.files().get(i);
                out.putShort((short) names.get(i).length).put(names.get(i));
                out.putLong(file.bytes()).putInt(file.checksum());
            }
            return out.flip();
        } else if (message instanceof Fetch fetch) {
            return begin(4, 24)
                    .putLong(fetch.transfer())
                    .putInt(fetch.file())
                    .putLong(fetch.offset())
                    .putInt(fetch.bytes())
                    .flip();
        } else if (message instanceof Part part) {
            return begin(5, 20 + part.bytes().remaining())
                    .putLong(part.transfer())
                    .putInt(part.file())
                    .putLong(part.offset())
                    .put(part.bytes().duplicate())
                    .flip();
        } else if (message instanceof Gone gone) {
            return begin(6, 8).putLong(gone.transfer()).flip();
        } else if (message instanceof Done done) {
            return begin(7, 8).putLong(done.transfer()).flip();
        } else if (message instanceof Shown shown) {
            byte[] capabilities = shown.capabilities().stream()
                    .map(Capability::name)
                    .collect(Collectors.joining(" "))
                    .getBytes(StandardCharsets.UTF_8);
            return begin(8, 9 + capabilities.length)
                    .putLong(shown.index())
                    .put((byte) (shown.keptUp() ? 1 : 0))
                    .put(capabilities)
                    .flip();
        }
        throw new AssertionError(message);
    }

    private static ByteBuffer begin(int kind, int bytes) {
        return ByteBuffer.allocate(2 + bytes).put(VERSION).put((byte) kind);
    }

    /**
     * Reads what {@link #encode} made.
     *
     * @throws GroupException if it is none of these, or of another version
     */
    static DirectMessage decode(ByteBuffer payload) {
        ByteBuffer in = payload.duplicate();
        try {
            byte version = in.get();
            if (version != VERSION) {
                throw malformed("it is of version " + version + ", this replica reads version " + VERSION);
            }
            byte kind = in.get();
            return switch (kind) {
                case 1 -> new Want(in.getLong(), rest(in));
                case 2 -> new Wait(in.get() != 0, rest(in));
                case 3 -> offer(in);
                case 4 -> new Fetch(in.getLong(), in.getInt(), in.getLong(), in.getInt());
                case 5 -> new Part(in.getLong(), in.getInt(), in.getLong(), in.slice());
                case 6 -> new Gone(in.getLong());
                case 7 -> new Done(in.getLong());
                case 8 -> new Shown(in.getLong(), in.get() != 0, capabilities(rest(in)));
                default -> throw malformed("it is of unknown kind " + kind);
            };
        } catch (BufferUnderflowException e) {
            throw malformed("it is cut short");
        }
    }

    private static Set<Capability> capabilities(String names) {
        List<String> known = List.of(names.split(" "));
        Set<Capability> capabilities = EnumSet.allOf(Capability.class);
        capabilities.removeIf(capability -> !known.contains(capability.name()));
        return capabilities;
    }

    private static String rest(ByteBuffer in) {
        return StandardCharsets.UTF_8.decode(in).toString();
    }

    private static Offer offer(ByteBuffer in) {
        long transfer = in.getLong();
        int count = in.getInt();
        if (count < 0 || count > in.remaining() / 14) {
            throw malformed("it offers " + count + " files in " + in.remaining() + " bytes");
        }
        List<FileOffered> files = new ArrayList<>(count);
        for (int i = 0; i < count; i++) {
            byte[] name = new byte[Math.min(in.getShort() & 0xffff, in.remaining())];
            in.get(name);
            files.add(new FileOffered(new String(name, StandardCharsets.UTF_8), in.getLong(), in.getInt()));
        }
        return new Offer(transfer, files);
    }

    private static GroupException malformed(String detail) {
        return new GroupException(
                GroupException.Disposition.CORRECT, "a message beside the order is malformed: " + detail);
    }
}
