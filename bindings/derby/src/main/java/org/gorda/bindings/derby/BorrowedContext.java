package org.gorda.bindings.derby;

import java.lang.reflect.Field;
import org.apache.derby.iapi.services.context.ContextManager;
import org.apache.derby.iapi.services.context.ContextService;
import org.jspecify.annotations.Nullable;

/**
 * A connection's context in another thread than the client's, which waits inside it. Derby finds a context only for the one thread
 * that it believes to be active in it, and a commit that moves a generator, as one of a schema change does, must find it: so the
 * client is taken out of it until this is closed. Confined to one thread.
 */
final class BorrowedContext implements AutoCloseable {

    private static final Field ACTIVE_THREAD = field("activeThread");
    private static final Field ACTIVE_COUNT = field("activeCount");

    private final ContextManager manager;
    private final @Nullable Object clientThread;
    private final int clientCount;

    /** Takes the context from its client, who must wait until {@link #close}. */
    BorrowedContext(ContextManager manager) {
        this.manager = manager;
        try {
            clientThread = ACTIVE_THREAD.get(manager);
            clientCount = ACTIVE_COUNT.getInt(manager);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
        if (clientThread != Thread.currentThread()) {
            set(null, 0);
        }
        ContextService.getFactory().setCurrentContextManager(manager);
    }

    /** How deep its client is within Derby. */
    static int depth(ContextManager manager) {
        try {
            return ACTIVE_COUNT.getInt(manager);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    @Override
    public void close() {
        ContextService.getFactory().resetCurrentContextManager(manager);
        if (clientThread != Thread.currentThread()) {
            set(clientThread, clientCount);
        }
    }

    private void set(@Nullable Object thread, int count) {
        try {
            ACTIVE_THREAD.set(manager, thread);
            ACTIVE_COUNT.setInt(manager, count);
        } catch (IllegalAccessException e) {
            throw new IllegalStateException(e);
        }
    }

    private static Field field(String name) {
        try {
            Field field = ContextManager.class.getDeclaredField(name);
            field.setAccessible(true);
            return field;
        } catch (NoSuchFieldException e) {
            throw new IllegalStateException("a context manager has no " + name + ": unknown Derby version", e);
        }
    }
}
