package org.gorda.replicator.engine;

import static org.assertj.core.api.Assertions.assertThat;
import static org.assertj.core.api.Assertions.assertThatThrownBy;

import java.io.IOException;
import java.nio.ByteBuffer;
import java.nio.file.Files;
import java.nio.file.Path;
import java.nio.file.attribute.BasicFileAttributes;
import java.sql.Connection;
import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import org.gorda.bindings.derby.DerbyBinding;
import org.gorda.gapi.Capability;
import org.gorda.gapi.DatabaseBinding;
import org.gorda.gapi.DatabaseConfiguration;
import org.gorda.gapi.FileTree;
import org.gorda.gapi.Finding;
import org.gorda.gapi.ReflectedDatabase;
import org.gorda.gapi.StoredPosition;
import org.gorda.gapi.TransactionListener;
import org.gorda.jgcs.GroupId;
import org.gorda.jgcs.MemberId;
import org.gorda.jgcs.Position;
import org.gorda.replicator.core.ReplicaCore;
import org.junit.jupiter.api.BeforeEach;
import org.junit.jupiter.api.Test;
import org.junit.jupiter.api.io.TempDir;

/** A database that was received takes the place of the one that was here, wherever that is interrupted. */
class ReceivedDatabaseTest {

    private static final CheckpointFile.Checkpoint CHECKPOINT = new CheckpointFile.Checkpoint(
            new Position(new GroupId(1, 2), 3, 4),
            new StoredPosition(1, 2, 3, 4),
            ByteBuffer.allocate(100).put(0, ReplicaCore.STATE_VERSION));

    /** Where the process is killed. */
    private enum Kill {
        BEFORE_DROP,
        AFTER_DROP,
        AFTER_LOAD
    }

    private static final class Killed extends RuntimeException {
        private static final long serialVersionUID = 1;
    }

    /** Derby's, in a process that is killed. */
    private record DiesAt(Kill kill) implements DatabaseBinding {

        private static final DerbyBinding DERBY = new DerbyBinding();

        private void dieAt(Kill place) {
            if (place == kill) {
                throw new Killed();
            }
        }

        @Override
        public void load(Path snapshot, DatabaseConfiguration configuration) {
            DERBY.load(snapshot, configuration);
            dieAt(Kill.AFTER_LOAD);
        }

        @Override
        public void drop(DatabaseConfiguration configuration) {
            dieAt(Kill.BEFORE_DROP);
            DERBY.drop(configuration);
            dieAt(Kill.AFTER_DROP);
        }

        @Override
        public String name() {
            return DERBY.name();
        }

        @Override
        public Set<Capability> capabilities() {
            return DERBY.capabilities();
        }

        @Override
        public ReflectedDatabase open(DatabaseConfiguration configuration, TransactionListener listener) {
            throw new UnsupportedOperationException();
        }

        @Override
        public Optional<List<Finding>> examine(Connection connection) {
            throw new UnsupportedOperationException();
        }
    }

    @TempDir
    private Path directory;

    private Path replica;
    private Path database;
    private DatabaseConfiguration configuration;

    @BeforeEach
    void aDatabaseIsHereAndAnotherOneIsReceived() throws IOException {
        replica = directory.resolve("bank.gorda");
        database = directory.resolve("bank");
        configuration =
                new DatabaseConfiguration(database.toString(), Map.of(), Duration.ZERO, 1, replica.resolve("spool"));
        Files.createDirectories(database);
        Files.writeString(database.resolve("old"), "old");

        Path given = directory.resolve("given");
        new CheckpointFile(Files.createDirectories(given.resolve(ReceivedDatabase.STATE))).save(CHECKPOINT);
        Path snapshot = Files.createDirectories(given.resolve(ReceivedDatabase.SNAPSHOT));
        Files.writeString(snapshot.resolve("service.properties"), "new");
        Files.writeString(Files.createDirectory(snapshot.resolve("seg0")).resolve("c10.dat"), "new");
        List<DirectMessage.FileOffered> files = new ArrayList<>();
        for (Path file : FileTree.files(given)) {
            files.add(new DirectMessage.FileOffered(
                    given.relativize(file).toString(), Files.size(file), FileTree.checksum(file)));
        }
        DirectMessage.Offer offer = new DirectMessage.Offer(1, files);
        ReceivedDatabase received = new ReceivedDatabase(replica);
        received.begin(new MemberId("db2:7800"), offer);
        for (DirectMessage.FileOffered file : files) {
            Files.createDirectories(received.file(file).getParent());
            Files.copy(given.resolve(file.name()), received.file(file));
        }
        assertThat(received.isToBeInstalled()).isFalse();
        received.complete();
    }

    private void install(DatabaseBinding binding) throws IOException {
        new ReceivedDatabase(replica).install(binding, configuration, progress -> {});
    }

    private void assertThatItIsInstalled() {
        assertThat(database.resolve("seg0/c10.dat")).hasContent("new");
        assertThat(database.resolve("old")).doesNotExist();
        assertThat(new CheckpointFile(replica).load()).isEqualTo(CHECKPOINT);
        assertThat(replica.resolve("received")).doesNotExist();
        assertThat(directory.resolve("bank.unfinished")).doesNotExist();
    }

    @Test
    void itIsMovedIntoItsPlace() throws IOException {
        Object received = fileKey(replica.resolve("received/content/snapshot/seg0/c10.dat"));
        install(new DerbyBinding());
        assertThatItIsInstalled();
        assertThat(fileKey(database.resolve("seg0/c10.dat"))).isEqualTo(received);
        install(new DerbyBinding());
        assertThatItIsInstalled();
    }

    private static Object fileKey(Path file) throws IOException {
        return Files.readAttributes(file, BasicFileAttributes.class).fileKey();
    }

    @Test
    void theNextStartGoesOnWhereverItWasInterrupted() throws IOException {
        for (Kill kill : Kill.values()) {
            for (int times = 0; times < 2 && Files.exists(replica.resolve("received/content/snapshot")); times++) {
                assertThatThrownBy(() -> install(new DiesAt(kill))).isInstanceOf(Killed.class);
                assertThat(new ReceivedDatabase(replica).isToBeInstalled()).isTrue();
            }
        }
        assertThat(new CheckpointFile(replica).load()).isNull();
        Path inTheWay = Files.createDirectory(replica.resolve("checkpoint.new"));
        assertThatThrownBy(() -> install(new DerbyBinding())).isInstanceOf(RuntimeException.class);
        assertThat(new ReceivedDatabase(replica).isToBeInstalled()).isTrue();
        Files.delete(inTheWay);
        install(new DerbyBinding());
        assertThatItIsInstalled();
    }

    /** As of a release that is older than the one that has received it. */
    @Test
    void whatThisReleaseCannotReadTakesTheDatabasesPlaceNotAtAll() throws IOException {
        byte[] state = new byte[CHECKPOINT.state().remaining()];
        CHECKPOINT.state().duplicate().get(state);
        state[0]++;
        new CheckpointFile(replica.resolve("received/content/state"))
                .save(new CheckpointFile.Checkpoint(
                        CHECKPOINT.position(), CHECKPOINT.stored(), ByteBuffer.wrap(state)));
        assertThatThrownBy(() -> install(new DerbyBinding()))
                .hasMessageContaining("start it with the release that wrote the checkpoint, nothing was changed");
        assertThat(database.resolve("old")).hasContent("old");
        assertThat(replica.resolve("received/content/snapshot/seg0/c10.dat")).hasContent("new");
    }

    @Test
    void withoutSnapshotAndDatabaseItSaysWhatToDo() throws IOException {
        FileTree.delete(replica.resolve("received/content/snapshot"));
        FileTree.delete(database);
        assertThatThrownBy(() -> install(new DerbyBinding()))
                .isInstanceOf(ReplicaException.class)
                .hasMessageContaining("delete " + replica.resolve("received"));
    }

    @Test
    void aSnapshotThatCannotBeLoadedSaysWhatToDo() throws IOException {
        Files.delete(replica.resolve("received/content/snapshot/service.properties"));
        assertThatThrownBy(() -> install(new DerbyBinding()))
                .isInstanceOf(ReplicaException.class)
                .hasMessageContaining("is no snapshot")
                .hasMessageContaining("delete " + replica.resolve("received"));
    }

    @Test
    void aDirectoryOfAnyNameReceivesWhatIsBelowIt() throws IOException {
        MemberId donor = new MemberId("db2:7800");
        for (String name : List.of(".", "./replica", "replica/../replica", "../" + directory.getFileName())) {
            ReceivedDatabase received = new ReceivedDatabase(directory.resolve(name));
            DirectMessage.FileOffered within = new DirectMessage.FileOffered("snapshot/c1.dat", 1, 2);
            received.begin(donor, new DirectMessage.Offer(7, List.of(within)));
            assertThat(received.donor()).isEqualTo(donor);
            DirectMessage.Offer outside =
                    new DirectMessage.Offer(8, List.of(new DirectMessage.FileOffered("snapshot/../../offer", 1, 2)));
            assertThatThrownBy(() -> received.begin(donor, outside)).hasMessageContaining("snapshot/../../offer");
        }
    }
}
