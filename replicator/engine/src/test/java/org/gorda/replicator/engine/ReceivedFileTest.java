package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.junit.jupiter.api.Assumptions.assumeTrue;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.StandardOpenOption;
import java.util.Arrays;
import java.util.SplittableRandom;
import java.util.zip.CRC32C;
import org.gorda.gapi.FileTree;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** Whatever its length, a file is there as it was sent, also after an interruption. */
class ReceivedFileTest {

    private static final int MEGABYTE = 1 << 20;

    private final SplittableRandom random = new SplittableRandom(3);
    private final ByteBuffer buffer = ReceivedFile.buffer();

    @TempDir
    private Path directory;

    private byte[] content(int length) {
        byte[] content = new byte[length];
        random.nextBytes(content);
        return content;
    }

    /** Appends what is lacking up to an end. */
    private void receive(Path path, byte[] content, int end) throws IOException {
        try (ReceivedFile file = new ReceivedFile(path, content.length, buffer)) {
            while (file.bytes() < end) {
                int at = (int) file.bytes();
                int length = Math.min(end - at, 1 + random.nextInt(300_000));
                file.append(ByteBuffer.wrap(content, at, length));
                assertThat(file.bytes()).isEqualTo(at + length);
            }
            if (end == content.length) {
                file.finish();
                CRC32C crc = new CRC32C();
                crc.update(content);
                assertThat(file.checksum()).isEqualTo((int) crc.getValue());
            }
        }
    }

    private void receiveFilesOfAllLengths(Path below) throws IOException {
        for (int length :
                new int[] {0, 1, 4096, 65536, 65537, MEGABYTE - 1, MEGABYTE, 3 * MEGABYTE + 5, 17 * MEGABYTE}) {
            Path path = below.resolve("file" + length);
            byte[] content = content(length);
            for (int interruption = 0; interruption < 3; interruption++) {
                receive(path, content, random.nextInt(length + 1));
            }
            receive(path, content, length);
            assertThat(path).hasBinaryContent(content);
            receive(path, content, length);
            assertThat(path).hasBinaryContent(content);
        }
    }

    @Test
    void aFileOfAnyLengthIsAsItWasSent() throws IOException {
        receiveFilesOfAllLengths(directory);
    }

    @Test
    void aFileSystemInMemoryWillDo() throws IOException {
        Path memory = Path.of("/dev/shm");
        assumeTrue(Files.isWritable(memory));
        Path elsewhere = Files.createTempDirectory(memory, "gorda");
        try {
            receiveFilesOfAllLengths(elsewhere);
        } finally {
            FileTree.delete(elsewhere);
        }
    }

    @Test
    void whatIsTooLongIsCutAndWhatIsThereIsPartOfTheChecksum() throws IOException {
        byte[] content = content(3 * MEGABYTE + 5);
        Path path = directory.resolve("file");
        Files.write(path, Arrays.copyOf(content, 5 * MEGABYTE));
        receive(path, content, content.length);
        assertThat(path).hasBinaryContent(content);

        Files.write(path, new byte[] {(byte) ~content[0]}, StandardOpenOption.WRITE);
        CRC32C crc = new CRC32C();
        crc.update(content);
        try (ReceivedFile file = new ReceivedFile(path, content.length, buffer)) {
            assertThat(file.bytes()).isEqualTo(content.length);
            assertThat(file.checksum()).isNotEqualTo((int) crc.getValue());
        }
    }
}
