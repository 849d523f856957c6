package org.gorda.bindings.derby;

import java.util.Collection;
import org.apache.derby.iapi.services.cache.CacheFactory;
import org.apache.derby.iapi.services.cache.CacheManager;
import org.apache.derby.iapi.services.cache.Cacheable;
import org.apache.derby.iapi.services.cache.CacheableFactory;
import org.apache.derby.iapi.services.daemon.DaemonService;
import org.apache.derby.iapi.util.Matchable;
import org.apache.derby.impl.services.cache.ConcurrentCacheFactory;
import org.apache.derby.impl.store.raw.data.StoredPage;
import org.apache.derby.shared.common.error.StandardException;
import org.gorda.gapi.Restraint;
import org.jspecify.annotations.Nullable;

/**
 * Makes Derby's caches, of which that of pages lets a thread rest that copies the whole database: Derby looks each page up in it, holding none, and offers
 * no other place to do so. Also it lets tables grow where Derby would refuse to ({@link Pages#create}). Thread-safe.
 */
public final class PageCacheFactory implements CacheFactory {

    /** Derby's name. */
    private static final String PAGES = "PageCache";

    private static final ThreadLocal<@Nullable Restraint> COPYING = new ThreadLocal<>();

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

    @Override
    public CacheManager newCacheManager(CacheableFactory entries, String name, int initialSize, int maximumSize) {
        return name.equals(PAGES)
                ? new Pages(entries, initialSize, maximumSize)
                : derby.newCacheManager(entries, name, initialSize, maximumSize);
    }

    private final class Pages implements CacheManager {

        private final CacheManager cache;

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
         * Makes the page anew, too, that is here from an allocation that was undone before its container knew of the page: when a database
         * is opened whose log ends there, as a crash or the end of a copy may leave it. Derby would refuse to have its table grow. What was
         * done and undone is not repeated: a checkpoint follows whatever is undone at the start.
         */
        @Override
        public Cacheable create(Object key, Object parameter) throws StandardException {
            Cacheable left = cache.findCached(key);
            if (left instanceof StoredPage page && page.getPageStatus() == StoredPage.INVALID_PAGE) {
                cache.remove(left);
            } else if (left != null) {
                cache.release(left);
            }
            return cache.create(key, parameter);
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
