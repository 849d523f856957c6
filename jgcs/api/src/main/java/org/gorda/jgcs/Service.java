package org.gorda.jgcs;

/**
 * What a message is guaranteed. Services form a partial order: {@code a.satisfies(b)} if {@code a} gives in every respect at
 * least what {@code b} asks. Immutable.
 *
 * @param order in which order members deliver
 * @param uniformity who must deliver what a member that failed has delivered
 * @param durability what a delivered message survives
 */
public record Service(Order order, Uniformity uniformity, Durability durability) {

    /** How deliveries are ordered; each level includes those before it. */
    public enum Order {
        /** Messages of one sender are delivered in the order sent. */
        FIFO,
        /** All members deliver all messages in one order, FIFO included. */
        TOTAL
    }

    /** Who must deliver; each level includes those before it. */
    public enum Uniformity {
        /** Nothing is promised about messages that only failed members delivered. */
        LOCAL,
        /** What any member delivers, even one that fails right after, all members that stay deliver. */
        UNIFORM
    }

    /** What a delivered message survives; each level includes those before it. */
    public enum Durability {
        /** Nothing: it is held in memory. */
        NONE,
        /** The kill of all processes: a majority has written it to its log file. */
        WRITTEN,
        /** Power loss of all machines: a majority has forced it to its disk. */
        SYNCED
    }

    /** Whether this gives at least what {@code required} asks, in every respect. */
    public boolean satisfies(Service required) {
        return order.compareTo(required.order) >= 0
                && uniformity.compareTo(required.uniformity) >= 0
                && durability.compareTo(required.durability) >= 0;
    }

    @Override
    public String toString() {
        return order + "+" + uniformity + "+" + durability;
    }
}
