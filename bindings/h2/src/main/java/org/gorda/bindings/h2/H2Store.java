package org.gorda.bindings.h2;

import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.Method;
import java.nio.file.Files;
import java.nio.file.Path;
import java.time.Duration;
import java.util.zip.ZipEntry;
import java.util.zip.ZipOutputStream;
import org.gorda.bindings.triggers.EngineFields;
import org.h2.engine.Database;
import org.h2.mvstore.MVStore;
import org.h2.mvstore.MVStoreException;
import org.h2.mvstore.RandomAccessStore;

/**
 * What H2 keeps in its file. H2 writes the state of its maps one after the other while others change them: of a transaction that changes several the file
 * may have a part, which nothing takes back when it is opened after a crash, and which is in each copy. And when it writes while a transaction is rolled
 * back, a row that was restored is restored again, over what others have written and committed there since. Therefore H2 writes nothing by itself here,
 * not even at the end of a transaction, but when it is told to by who keeps all others from changing anything. Thread-safe but for that.
 *
 * <p>Who opens the file after a crash finds what was written last by the file's header, or at the file's end. Where H2 has written into the midst of the file, it has
 * put into the header what it had written before that; so the last part, and all that is in it, would be lost. Therefore the header is written here whenever the
 * file is forced, and never before what it leads to is on disk.
 */
final class H2Store {

    /** In H2's own count of changed pages, as H2 itself has it. */
    private static final int MUCH_BYTES = 16 << 20;

    /** With 0 it would write at the end of each transaction, and above it has a thread that writes. */
    private static final int NO_DELAY = -1;

    /** Not a limit for H2, as it is not above 0; of three times this, which H2 compares with, too, the overflow makes the largest one. */
    private static final int NO_LIMIT = Integer.MIN_VALUE / 3 - 1;

    private static final String LIMIT = "autoCommitMemory";

    private static final int FILL_PERCENT = 60;
    private static final int MOVED_BYTES = 4 << 20;
    private static final Duration BETWEEN_MOVES = Duration.ofSeconds(5);

    private final MVStore store;
    private final int ownLimit;
    private final Method header;
    private long moved = System.nanoTime();

    H2Store(Database database) {
        this.store = database.getStore().getMvStore();
        this.ownLimit = EngineFields.there(store, LIMIT, Integer.class);
        try {
            this.header = RandomAccessStore.class.getDeclaredMethod("writeStoreHeader");
            header.setAccessible(true);
        } catch (ReflectiveOperationException e) {
            throw anotherOne(e);
        }
        store.setAutoCommitDelay(0); // waits for its thread's end
        store.setAutoCommitDelay(NO_DELAY);
        writesByItself(false);
    }

    private static IllegalStateException anotherOne(ReflectiveOperationException e) {
        return new IllegalStateException("H2 is another one than this was made for", e);
    }

    /** Whether it writes when it has much to write, or leaves that to {@link #write}: there is no setting for that. */
    void writesByItself(boolean wanted) {
        EngineFields.set(store, LIMIT, wanted ? ownLimit : NO_LIMIT);
    }

    boolean hasMuchToWrite() {
        return store.getUnsavedMemory() > MUCH_BYTES;
    }

    /** Now and then it gathers, too, what is left of the parts of the file that were written long ago, so that their room is used again. */
    void write() {
        store.sync(); // H2 may have the header lead to what it has written before
        if (System.nanoTime() - moved > BETWEEN_MOVES.toNanos()) {
            if (store.compact(FILL_PERCENT, MOVED_BYTES)) {
                store.sync();
            }
            moved = System.nanoTime();
        }
        store.commit();
    }

    void force() {
        store.executeFilestoreOperation(() -> {
            store.sync();
            try {
                header.invoke(store.getFileStore());
            } catch (ReflectiveOperationException e) {
                throw e.getCause() instanceof MVStoreException failed ? failed : anotherOne(e);
            }
        });
        store.sync();
    }

    /** Copies the file, to which may be added meanwhile. The file is not opened anew, because closing that would give up the lock that keeps others from it. */
    void copy(Path target) throws IOException {
        try (OutputStream file = Files.newOutputStream(target)) {
            store.getFileStore().backup(new Unzipped(file));
        }
    }

    /** Takes the one file of a backup as it is. */
    private static final class Unzipped extends ZipOutputStream {

        Unzipped(OutputStream file) {
            super(file);
        }

        @Override
        public void putNextEntry(ZipEntry entry) {}

        @Override
        public void closeEntry() {}

        @Override
        public synchronized void write(byte[] bytes, int from, int length) throws IOException {
            out.write(bytes, from, length);
        }
    }
}
