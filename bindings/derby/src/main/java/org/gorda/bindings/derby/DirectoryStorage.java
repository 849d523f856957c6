package org.gorda.bindings.derby;

import java.io.File;
import java.io.IOException;
import java.io.OutputStream;
import java.lang.reflect.InvocationHandler;
import java.lang.reflect.InvocationTargetException;
import java.lang.reflect.Proxy;
import java.util.regex.Pattern;
import org.apache.derby.impl.io.DirStorageFactory;
import org.apache.derby.io.StorageFile;
import org.apache.derby.io.WritableStorageFactory;
import org.jspecify.annotations.Nullable;

/**
 * Derby's own files of a database in a directory, but that those of its log are ours:
 *
 * <ul>
 *   <li>They are read by {@link LogReader}: who rolls back reads the log backwards, with what all others have written since, and Derby takes numbers out of
 *       the file byte by byte, each by a call of the system.
 *   <li>They are written by {@link LogWriter}, and forced when Derby wants that. Derby would open them so that each write waits for the disk; but most here
 *       only make room in its buffer, or let a rollback read what it undoes, while others wait.
 *   <li>Which of them is the last checkpoint is noted when that is in the log. When Derby has recovered it would note it before, and delete what would be
 *       needed to recover from an earlier one: where the log then finds no room, or the process ends, the database could never be opened again.
 * </ul>
 *
 * Thread-safe.
 */
public final class DirectoryStorage implements WritableStorageFactory {

    private static final Pattern LOG_FILE = Pattern.compile("log\\d+\\.dat");

    /** Says where in the log the last checkpoint is. */
    private static final String CONTROL_FILE = "log.ctrl";

    /** So Derby asks whether a checkpoint is one that it found in the log, which it knows by being able to write; and so it makes one itself. */
    private static final String IS_FOUND = "inRFR";

    private static final String MAKES_CHECKPOINT = "checkpointWithTran";

    private final DirStorageFactory directory = new DirStorageFactory();

    /** For Derby. */
    public DirectoryStorage() {}

    @Override
    public StorageFile newStorageFile(String path) {
        return directory.newStorageFile(path);
    }

    @Override
    public StorageFile newStorageFile(String parent, String name) {
        return directory.newStorageFile(parent, name);
    }

    @Override
    public StorageFile newStorageFile(StorageFile parent, String name) {
        StorageFile file = directory.newStorageFile(parent, name);
        if (LOG_FILE.matcher(name).matches()) {
            return with(file, "getRandomAccessFile", mode -> {
                File path = new File(file.getPath());
                return "r".equals(mode) ? new LogReader(path) : new LogWriter(path);
            });
        }
        return name.equals(CONTROL_FILE) ? with(file, "canWrite", mode -> file.canWrite() && !notesTooEarly()) : file;
    }

    private static boolean notesTooEarly() {
        return StackWalker.getInstance()
                .walk(frames -> frames.map(StackWalker.StackFrame::getMethodName)
                                .filter(name -> name.equals(IS_FOUND) || name.equals(MAKES_CHECKPOINT))
                                .distinct()
                                .count()
                        == 2);
    }

    /** What a file does in the stead of its own. */
    private interface Answer {
        Object to(@Nullable Object argument) throws IOException;
    }

    private static StorageFile with(StorageFile file, String name, Answer answer) {
        InvocationHandler handler = (proxy, method, arguments) -> {
            if (method.getName().equals(name)) {
                return answer.to(arguments == null ? null : arguments[0]);
            }
            try {
                return method.invoke(file, arguments);
            } catch (InvocationTargetException e) {
                throw e.getCause();
            }
        };
        return (StorageFile) Proxy.newProxyInstance(
                DirectoryStorage.class.getClassLoader(), new Class<?>[] {StorageFile.class}, handler);
    }

    @Override
    public void init(
            @Nullable String home, @Nullable String database, @Nullable String temporary, @Nullable String name)
            throws IOException {
        directory.init(home, database, temporary, name);
    }

    @Override
    public void shutdown() {
        directory.shutdown();
    }

    @Override
    public String getCanonicalName() throws IOException {
        return directory.getCanonicalName();
    }

    @Override
    public void setCanonicalName(String name) {
        directory.setCanonicalName(name);
    }

    @Override
    public char getSeparator() {
        return directory.getSeparator();
    }

    @Override
    public StorageFile getTempDir() {
        return directory.getTempDir();
    }

    @Override
    public boolean isFast() {
        return directory.isFast();
    }

    @Override
    public boolean isReadOnlyDatabase() {
        return directory.isReadOnlyDatabase();
    }

    @Override
    public boolean supportsRandomAccess() {
        return directory.supportsRandomAccess();
    }

    @Override
    public int getStorageFactoryVersion() {
        return directory.getStorageFactoryVersion();
    }

    @Override
    public StorageFile createTemporaryFile(String prefix, String suffix) throws IOException {
        return directory.createTemporaryFile(prefix, suffix);
    }

    @Override
    public void sync(OutputStream stream, boolean metaData) throws IOException {
        directory.sync(stream, metaData);
    }

    /** So that Derby forces its log by {@link LogWriter#sync}. */
    @Override
    public boolean supportsWriteSync() {
        return false;
    }
}
