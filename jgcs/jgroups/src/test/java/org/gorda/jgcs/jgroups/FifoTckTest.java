package org.gorda.jgcs.jgroups;

import org.gorda.jgcs.Service;
import org.gorda.jgcs.tck.GroupTck;
import org.gorda.jgcs.tck.TckCluster;

/** The suite, as far as each sender's own order is promised. */
class FifoTckTest extends GroupTck {

    @Override
    protected Service offered() {
        return new Service(Service.Order.FIFO, Service.Uniformity.LOCAL, Service.Durability.NONE);
    }

    @Override
    protected TckCluster open(int formed, int spare, Service.Durability durability) {
        return new JGroupsCluster(formed, offered());
    }
}
