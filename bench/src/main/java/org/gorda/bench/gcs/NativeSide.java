package org.gorda.bench.gcs;

import java.nio.ByteBuffer;
import org.gorda.bench.workload.BenchException;
import org.gorda.jgcs.GroupConfiguration;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.jgroups.JGroupsProtocol;
import org.jgroups.BytesMessage;
import org.jgroups.JChannel;
import org.jgroups.Message;
import org.jgroups.Receiver;
import org.jgroups.View;

/** JGroups as its users have it, on the stack that jGCS uses. Thread-safe. */
final class NativeSide extends Side implements Receiver {

    private final GroupConfiguration configuration;
    private final JChannel channel;

    NativeSide(GroupConfiguration configuration, Service.Order order) {
        super(configuration, order);
        this.configuration = configuration;
        this.channel = JGroupsProtocol.channel(configuration, order);
        channel.setReceiver(this);
    }

    @Override
    void join() {
        try {
            channel.connect(configuration.group());
        } catch (Exception e) { // as JGroups declares
            throw new BenchException(configuration.self() + " cannot connect: " + e, e);
        }
    }

    @Override
    boolean formed() {
        View view = channel.getView();
        return view != null && view.size() == configuration.members().size();
    }

    @Override
    boolean leads() {
        View view = channel.getView();
        return view != null && view.getCoord().equals(channel.getAddress());
    }

    @Override
    void multicast(byte[] payload) {
        try {
            channel.send(new BytesMessage(null, payload));
        } catch (Exception e) { // as JGroups declares
            throw new BenchException(configuration.self() + " cannot send: " + e, e);
        }
    }

    @Override
    public void receive(Message message) {
        delivered(ByteBuffer.wrap(message.getArray(), message.getOffset(), message.getLength()));
    }
}
