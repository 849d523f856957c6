package org.gorda.jgcs.ratis;

import java.nio.file.Path;
import org.gorda.jgcs.Service;
import org.gorda.jgcs.tck.GroupTck;
import org.gorda.jgcs.tck.TckCluster;
import org.junit.jupiter.api.io.TempDir;

/** The suite on real threads, real connections over loopback and real files. */
class RatisTckTest extends GroupTck {

    @TempDir
    Path directory;

    private int clusters;

    @Override
    protected Service offered() {
        return new Service(Service.Order.TOTAL, Service.Uniformity.UNIFORM, Service.Durability.SYNCED);
    }

    @Override
    protected TckCluster open(int formed, int spare, Service.Durability durability) {
        return new RatisCluster(directory.resolve("cluster" + clusters++), formed, spare, durability);
    }
}
