package org.gorda.jdbc;

import java.io.IOException;
import java.io.StringReader;
import java.util.Properties;

/**
 * What a replica process tells of itself to clients. Immutable.
 *
 * @param database the name under which it knows its database
 * @param url by which the engine's own driver reaches the database
 * @param primary whether it executes writes
 * @param everywhere whether all replicas do
 * @param working whether it is in touch with a majority
 * @param online whether it shows what is committed, give or take a moment: it neither receives the database nor works off what it has missed
 * @param epoch the place in the order at which the primary it knows became it
 * @param orderedIndex the newest place in the order it knows
 * @param shownIndex up to where in the order it shows everything
 * @param readNanos when it was asked
 */
record NodeInfo(
        String node,
        String database,
        String url,
        boolean primary,
        boolean everywhere,
        boolean working,
        boolean online,
        long epoch,
        long orderedIndex,
        long shownIndex,
        long readNanos) {

    static NodeInfo parse(String node, String text, long readNanos) throws IOException {
        Properties properties = new Properties();
        properties.load(new StringReader(text));
        try {
            return new NodeInfo(
                    node,
                    properties.getProperty("database", ""),
                    properties.getProperty("url", ""),
                    Boolean.parseBoolean(properties.getProperty("primary")),
                    Boolean.parseBoolean(properties.getProperty("everywhere")),
                    Boolean.parseBoolean(properties.getProperty("working")),
                    Boolean.parseBoolean(properties.getProperty("online", "true")),
                    Long.parseLong(properties.getProperty("epoch", "0")),
                    Long.parseLong(properties.getProperty("ordered", "0")),
                    Long.parseLong(properties.getProperty("shown", "0")),
                    readNanos);
        } catch (IllegalArgumentException e) {
            throw new IOException(node + " does not answer like a replica: " + e.getMessage(), e);
        }
    }

    boolean executes() {
        return primary && working && !url.isEmpty();
    }

    boolean canBeRead() {
        return working && !url.isEmpty();
    }

    /** Whether it shows what is committed, as far as it knows. */
    boolean isUpToDate() {
        return canBeRead() && online;
    }
}
