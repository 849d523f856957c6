package org.gorda.gapi;

import java.io.File;
import java.io.IOException;
import java.io.InputStream;
import java.nio.channels.FileChannel;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.Comparator;
import java.util.List;
import java.util.stream.Stream;
import java.util.zip.CRC32C;

/** Directories with all in them: what they take, their checksums, forcing them to disk and deleting them. Stateless. */
public final class FileTree {

    /** So many bytes of a disk stay free, for what is kept there else. */
    public static final long ROOM_LEFT = 64L << 20;

    private FileTree() {}

    /** All files below a directory, in an order that is always the same. */
    public static List<Path> files(Path directory) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            return all.filter(Files::isRegularFile).sorted().toList();
        }
    }

    /** The bytes of all files below a directory, from which others may take some meanwhile. */
    public static long bytes(File path) {
        File[] within = path.listFiles();
        return within == null
                ? path.length()
                : Arrays.stream(within).mapToLong(FileTree::bytes).sum();
    }

    /** The CRC32C of a file. */
    public static int checksum(Path file) throws IOException {
        CRC32C crc = new CRC32C();
        update(crc, file);
        return (int) crc.getValue();
    }

    /** Adds all of a file to a checksum. */
    public static void update(CRC32C crc, Path file) throws IOException {
        byte[] buffer = new byte[1 << 16];
        try (InputStream in = Files.newInputStream(file)) {
            for (int read = in.read(buffer); read >= 0; read = in.read(buffer)) {
                crc.update(buffer, 0, read);
            }
        }
    }

    /** On disk when it returns; for a directory what it lists, where directories can be opened. */
    public static void force(Path path) throws IOException {
        if (Files.isDirectory(path) && System.getProperty("os.name", "").startsWith("Windows")) {
            return;
        }
        try (FileChannel channel = FileChannel.open(path, StandardOpenOption.READ)) {
            channel.force(true);
        }
    }

    /** That the file is there, under its name, is on disk when it returns. */
    public static void forceName(Path file) throws IOException {
        Path parent = file.toAbsolutePath().getParent();
        if (parent != null) {
            force(parent);
        }
    }

    /** Forces a directory with all in it. */
    public static void forceAll(Path directory) throws IOException {
        for (Path path : everythingIn(directory)) {
            force(path);
        }
    }

    /** Deletes a directory with all in it, if it is there; of a link only the link. */
    public static void delete(Path directory) throws IOException {
        if (!Files.exists(directory)) {
            return;
        }
        for (Path path : everythingIn(directory)) {
            Files.delete(path);
        }
    }

    /** What is in a directory before the directory. */
    private static List<Path> everythingIn(Path directory) throws IOException {
        try (Stream<Path> all = Files.walk(directory)) {
            return all.sorted(Comparator.reverseOrder()).toList();
        }
    }
}
