package org.gorda.jdbc;

import java.io.IOException;
import java.io.StringReader;
import java.util.Properties;
import java.util.regex.Pattern;

/**
 * What a replica process tells of itself to clients. Immutable.
 *
 * @param database the name under which it knows its database
 * @param url by which the engine's own driver reaches the database
 * @param history which one of which group it is on, empty if it does not know; a text, as of {@link Clusters}
 * @param run of its process, a text of its own for each; empty if it does not tell
 * @param continued the group whose rows this one has begun with, because a person wanted that; empty if it has not
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
        String history,
        String run,
        String continued,
        boolean primary,
        boolean everywhere,
        boolean working,
        boolean online,
        long epoch,
        long orderedIndex,
        long shownIndex,
        long readNanos) {

    /** The group, how often it was continued, and by what continuations are told apart. */
    private static final Pattern HISTORY = Pattern.compile("([0-9a-f]{32}(\\.[0-9]{1,8}\\.[0-9a-f]{1,10})?)?");

    static NodeInfo parse(String node, String text, long readNanos) throws IOException {
        Properties properties = new Properties();
        try {
            properties.load(new StringReader(text));
            return new NodeInfo(
                    node,
                    properties.getProperty("database", ""),
                    properties.getProperty("url", ""),
                    history(properties.getProperty("history", "")),
                    properties.getProperty("run", ""),
                    properties.getProperty("continues", ""),
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

    private static String history(String text) {
        if (!HISTORY.matcher(text).matches()) {
            throw new IllegalArgumentException("'" + text + "' is no history");
        }
        return text;
    }

    /** Whether a person wanted this replica's history to come after another one. */
    boolean continues(String other) {
        if (history.isEmpty() || other.isEmpty()) {
            return !history.isEmpty();
        }
        return group(history).equals(group(other))
                ? continuations(history) > continuations(other)
                : continued.equals(group(other));
    }

    private static String group(String history) {
        return history.split("\\.", 2)[0];
    }

    /** How often a person had told a replica of the group to go on alone: each time that is another history. */
    private static int continuations(String history) {
        String[] parts = history.split("\\.", 3);
        return parts.length < 2 ? 0 : Integer.parseInt(parts[1]);
    }

    /** Whether that is the same replica, started again since this was told. */
    boolean isEarlierRunOf(NodeInfo now) {
        return node.equals(now.node) && !run.equals(now.run);
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
