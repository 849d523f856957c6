package org.gorda.jgcs.jgroups;

import org.gorda.jgcs.Service;
import org.gorda.jgcs.tck.GroupTck;
import org.gorda.jgcs.tck.TckCluster;

/** The suite, as far as total order that is not uniform is promised. */
class TotalOrderTckTest extends GroupTck {

    @Override
    protected Service offered() {
        return new Service(Service.Order.TOTAL, Service.Uniformity.LOCAL, Service.Durability.NONE);
    }

    @Override
    protected TckCluster open(int formed, int spare, Service.Durability durability) {
        return new JGroupsCluster(formed, offered());
    }
}
