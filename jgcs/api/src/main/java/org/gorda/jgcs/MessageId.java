package org.gorda.jgcs;

/**
 * Identifies a message for ever: who sent it, in which run of that member, as which of its messages. A message is delivered
 * once however often it was sent. Immutable.
 *
 * @param member the sender
 * @param incarnation numbers the runs of the sender's process; later runs have higher numbers
 * @param sequence counts the messages of that run from 1
 */
public record MessageId(MemberId member, long incarnation, long sequence) {

    @Override
    public String toString() {
        return member + "/" + incarnation + "/" + sequence;
    }
}
