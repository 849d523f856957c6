package org.gorda.cli.applications;

/**
 * A program on a data source, that knows nothing of replication. Its rows and tables are in a schema of its own. Interrupted, it is run
 * again, as who operates it would do, and goes on where its database says.
 */
interface Application {

    /**
     * Works to its end.
     *
     * @param midway called in the middle of a transaction, when some work is done and some is left
     */
    void run(Runnable midway) throws Exception;

    /** Looks at its whole work, and only reads. */
    void check() throws Exception;
}
