package org.gorda.bindings.derby;

import java.util.Collection;
import java.util.Set;
import java.util.concurrent.ConcurrentHashMap;
import org.apache.derby.iapi.services.cache.CacheFactory;
import org.apache.derby.iapi.services.cache.CacheManager;
import org.apache.derby.iapi.services.cache.Cacheable;
import org.apache.derby.iapi.services.cache.CacheableFactory;
import org.apache.derby.iapi.services.daemon.DaemonService;
import org.apache.derby.iapi.store.raw.ContainerHandle;
import org.apache.derby.iapi.store.raw.ContainerKey;
import org.apache.derby.iapi.store.raw.PageKey;
import org.apache.derby.iapi.util.Matchable;
import org.apache.derby.impl.services.cache.ConcurrentCacheFactory;
import org.apache.derby.impl.store.raw.data.StoredPage;
import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.Restraint;
import org.jspecify.annotations.Nullable;

/**
 * Makes Derby's caches, of which that of pages lets a thread rest that copies the whole database: Derby looks each page up in it, holding none, and offers
 * no other place to do so. Also it lets tables grow where Derby would refuse to, or lose rows ({@link Pages#create}). Thread-safe.
 */
public final class PageCacheFactory implements CacheFactory {

    /** Derby's name. */
    private static final String PAGES = "PageCache";

    private static final ThreadLocal<@Nullable Restraint> COPYING = new ThreadLocal<>();

    /** Not null within the thread that opens a database, which may recover it: pages that were made before are made again. */
    private static final ThreadLocal<@Nullable Boolean> OPENING = new ThreadLocal<>();

    private final CacheFactory derby = new ConcurrentCacheFactory();

    /** For Derby. */
    public PageCacheFactory() {}

    /** The calling thread reads all pages, until {@link #copied}. */
    static void copies() {
        COPYING.set(new Restraint());
    }

    static void copied() {
        COPYING.remove();
    }

    /** The calling thread opens a database, until {@link #opened}. */
    static void opens() {
        OPENING.set(true);
    }

    static void opened() {
        OPENING.remove();
    }

    @Override
    public CacheManager newCacheManager(CacheableFactory entries, String name, int initialSize, int maximumSize) {
        return name.equals(PAGES)
                ? new Pages(entries, initialSize, maximumSize)
                : derby.newCacheManager(entries, name, initialSize, maximumSize);
    }

    private final class Pages implements CacheManager {

        private final CacheManager cache;

        /** The containers in which a page was made since the database was opened. */
        private final Set<ContainerKey> grown = ConcurrentHashMap.newKeySet();

        Pages(CacheableFactory entries, int initialSize, int maximumSize) {
            // Derby tells by the cache what kind of entry is wanted.
            cache = derby.newCacheManager(inner -> entries.newCacheable(this), PAGES, initialSize, maximumSize);
        }

        @Override
        public Cacheable find(Object key) throws StandardException {
            Restraint copying = COPYING.get();
            if (copying != null) {
                copying.rest();
            }
            return cache.find(key);
        }

        @Override
        public Cacheable findCached(Object key) throws StandardException {
            return cache.findCached(key);
        }

        /**
         * Makes a page. The first one of each container since the database was opened may have been made before, in an allocation that was undone before
         * its container knew of it: where the log ended there, as a crash or the end of a copy may leave it. Derby's recovery leaves such a page in the
         * cache, where its making anew would be refused, and so no table could grow; and on disk with a newer version, so that the changes of the one
         * that takes its place would not be made again by the next recovery if that one was not written first. What was done and undone before is not
         * made again: a checkpoint follows whatever is undone at the start.
         */
        @Override
        public Cacheable create(Object key, Object parameter) throws StandardException {
            ContainerKey container = ((PageKey) key).getContainerId();
            boolean isOpening = OPENING.get() != null;
            boolean isFirst = container.getSegmentId() != ContainerHandle.TEMPORARY_SEGMENT
                    && (isOpening || !grown.contains(container));
            if (isFirst) {
                makeRoom(key);
                DerbyFields.writeAtOnce(parameter);
            }
            Cacheable made = cache.create(key, parameter);
            if (isFirst && !isOpening && made != null) {
                grown.add(container);
            }
            return made;
        }

        private void makeRoom(Object key) throws StandardException {
            Cacheable left = cache.findCached(key);
            if (left instanceof StoredPage page && page.getPageStatus() == StoredPage.INVALID_PAGE) {
                cache.remove(left);
            } else if (left != null) {
                cache.release(left);
            }
        }

        @Override
        public void release(Cacheable entry) {
            cache.release(entry);
        }

        @Override
        public void remove(Cacheable entry) throws StandardException {
            cache.remove(entry);
        }

        @Override
        public void cleanAll() throws StandardException {
            cache.cleanAll();
        }

        @Override
        public void clean(Matchable key) throws StandardException {
            cache.clean(key);
        }

        @Override
        public void ageOut() {
            cache.ageOut();
        }

        @Override
        public void shutdown() throws StandardException {
            cache.shutdown();
        }

        @Override
        public void useDaemonService(DaemonService daemon) {
            cache.useDaemonService(daemon);
        }

        @Override
        public boolean discard(Matchable key) {
            if (key instanceof ContainerKey container) {
                grown.remove(container); // it is dropped, or shorter now
            }
            return cache.discard(key);
        }

        @Override
        public Collection<?> values() {
            return cache.values();
        }

        @Override
        public void registerMBean(String database) throws StandardException {
            cache.registerMBean(database);
        }

        @Override
        public void deregisterMBean() {
            cache.deregisterMBean();
        }
    }
}
